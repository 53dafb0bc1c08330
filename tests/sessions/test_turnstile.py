"""Places for work: never more at once than there are, and each tree in its turn."""

import anyio
import pytest

from mcp_server.sessions.turnstile import Turnstile
from tests.bounds import LONG


class Work:
    """What goes through a turnstile in a test: notes who is inside, and stays until it is let go."""

    def __init__(self, places: int) -> None:
        self.turnstile = Turnstile(places)
        self.order: list[str] = []
        self.inside = 0
        self.most = 0
        self.go = anyio.Event()

    async def __call__(self, tree: str) -> None:
        async with self.turnstile.place(tree):
            self.order.append(tree)
            self.inside += 1
            self.most = max(self.most, self.inside)
            await self.go.wait()
            self.inside -= 1


async def test_no_more_are_inside_at_once_than_there_are_places() -> None:
    work = Work(3)
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(work, f"tree {number % 4}")
            await anyio.wait_all_tasks_blocked()
            assert work.inside == 3
            work.go.set()
    assert (work.most, len(work.order), work.inside) == (3, 20, 0)


async def test_a_tree_with_one_waits_for_no_more_than_one_of_each_other_tree() -> None:
    work = Work(1)
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(work, "large")
            await anyio.wait_all_tasks_blocked()
            group.start_soon(work, "small")
            group.start_soon(work, "other")
            await anyio.wait_all_tasks_blocked()
            work.go.set()
    assert work.order[:4] == ["large", "large", "small", "other"]
    assert len(work.order) == 52


async def test_one_who_gives_up_while_waiting_leaves_no_place_taken() -> None:
    work = Work(1)
    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            group.start_soon(work, "a")
            await anyio.wait_all_tasks_blocked()
            async with anyio.create_task_group() as others:
                for tree in ("a", "b", "b"):
                    others.start_soon(work, tree)
                await anyio.wait_all_tasks_blocked()
                others.cancel_scope.cancel()
            work.go.set()
    async with work.turnstile.place("c") as waited:
        assert waited == 0.0
    assert work.order == ["a"]


async def test_one_who_gives_up_as_it_is_let_in_passes_its_place_on() -> None:
    turnstile = Turnstile(1)
    inside = anyio.Event()

    async def next_one() -> None:
        async with turnstile.place("b"):
            inside.set()

    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as scope:
                async with turnstile.place("a"):
                    group.start_soon(_gives_up, turnstile, scope)
                    await anyio.wait_all_tasks_blocked()
                    group.start_soon(next_one)
                    await anyio.wait_all_tasks_blocked()
            await inside.wait()


async def _gives_up(turnstile: Turnstile, scope: anyio.CancelScope) -> None:
    with anyio.CancelScope() as own:
        own.cancel()
        async with turnstile.place("a"):
            pytest.fail("it was let in although it had given up")
    assert not scope.cancel_called
