"""The panel inside a client, behind a gateway: each caller is given the one of their own prompts, and answers there."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from mcp_server.gateway.panel import REFUSED
from mcp_server.protocol.apps import ADDRESS
from mcp_server.records import Choice
from mcp_server.store.ids import mint
from tests.app.panel_user import ANSWER, OPEN, PanelUser, RendersApps, words_of
from tests.behaviour.gated import visiting
from tests.behaviour.stories import PATH, content_of, errand, state_of, team_world
from tests.behaviour.world import Connected, text_of
from tests.gateway.authorization import issuing
from tests.gateway.inside import inside
from tests.protocol.connect import ERAS, Era

STRANGERS = {"another person": {"sub": "eve"}, "her own other client": {"client_id": "terminal"}}


@pytest.mark.parametrize("era", ERAS)
async def test_a_panel_behind_a_gateway_shows_its_own_callers_prompts_and_is_answered_by_nobody_else(era: Era, tmp_path: Path) -> None:
    world = team_world(tmp_path)
    async with AsyncExitStack() as stack:
        issuer = await stack.enter_async_context(issuing())
        gateway = await stack.enter_async_context(inside(world, {"issuers": [{"issuer": issuer.url}]}))

        async def panel(**who: Any) -> PanelUser:
            client = visiting(gateway.url, issuer.token(gateway.url, **who), era, extensions=[RendersApps()])
            connected = Connected(client=await stack.enter_async_context(client), store=gateway.store, parts=gateway.parts)
            return PanelUser(connected=connected)

        ada = await panel()
        assert {OPEN, ANSWER} <= {tool.name for tool in (await ada.connected.client.list_tools()).tools}
        assert "<html" in str(await ada.connected.client.read_resource(ADDRESS))
        task_id = content_of(result := await ada.call("task", **errand("lead")))["task_id"]
        ((prompt, card),) = ada.cards.items()
        assert f"{PATH} wants to use write" in words_of(card)
        for name, who in STRANGERS.items():
            stranger = await panel(**who)
            told = await stranger.connected.call(OPEN, panel="one", seen=[prompt], known=[prompt], renew=[prompt])
            assert prompt not in str(told.meta), name
            await ada.look(renew=[prompt])
            taken = await stranger.answer(prompt, Choice.ALLOW_ONCE, secret=ada.secrets[prompt])
            unknown = await stranger.answer(mint("prm"), Choice.ALLOW_ONCE, secret="x" * 43)
            assert (text_of(taken), text_of(unknown)) == (REFUSED, REFUSED), name
        assert not (world.workspace / "out.txt").exists()
        await ada.look(renew=[prompt])
        assert not (await ada.answer(prompt, Choice.ALLOW_ONCE)).is_error
        while state_of(result) in ("running", "waiting"):
            result = await ada.call("task_status", task_id=task_id, wait_seconds=5)
        assert state_of(result) == "completed"
        assert (world.workspace / "out.txt").read_text() == "hello"
