"""A sample of the campaign: whoever came and left, in whatever way, nothing of theirs is held."""

import random
from pathlib import Path

import anyio
import httpx2

from tests.behaviour.stories import until
from tests.bounds import LONG
from tests.crowds.serving import IDLE, held_by, old, world_in
from tests.crowds.visits import VISITS, Crowd
from tests.gateway.authorization import issuing
from tests.gateway.inside import inside

SEED = 20261130


async def test_of_whoever_came_and_left_nothing_is_held(tmp_path: Path) -> None:
    async with issuing() as issuer, inside(world_in(tmp_path / "team"), {"issuers": [{"issuer": issuer.url}]}, idle=IDLE) as gateway:

        def token(person: str, client: str) -> str:
            return issuer.token(gateway.url, sub=person, client_id=client)

        async def come(rounds: int) -> None:
            async with httpx2.AsyncClient(timeout=LONG) as wire:
                crowd = Crowd(url=gateway.url, token=token, wire=wire, dice=random.Random(SEED), idle=IDLE)  # noqa: S311 - the same in every run
                for _ in range(rounds):
                    async with anyio.create_task_group() as group:
                        for name in VISITS:
                            group.start_soon(crowd.visit, name)
                assert crowd.wrong == []

        async def gone() -> bool:
            return gateway.sessions == 0

        await come(1)
        await until(gone)
        before = held_by(gateway)

        async def at_rest() -> bool:
            now = held_by(gateway)
            return all(now[name] <= before[name] for name in ("sessions", "tasks", "descriptors", "processes"))

        await come(2)
        await until(at_rest)
        left = await old(gateway)
        assert {name: count for name, count in left.items() if count and name != "audit"} == {}
