"""A team's policy from end to end, as its people meet it: a member's subagent asks for what only an approver may lift."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Page, expect

from mcp_server.records import PromptState
from tests.authorization.site import SignIn, signing_in
from tests.behaviour.gated import gated, visiting
from tests.behaviour.stories import content_of, errand, state_of, team_world
from tests.behaviour.world import text_of
from tests.bounds import LONG
from tests.browser.test_answering import TITLE, only_card
from tests.browser.test_team import known, signed_in
from tests.browser.windows import Windows
from tests.gateway.teamed import CLIENT
from tests.protocol.connect import ERAS, Era, Person, decides

POLICY: dict[str, Any] = {
    "console": {"client_id": CLIENT},
    "roles": {"auditor": [{"claims": {"groups": "audit"}}]},
    "teams": {
        "payments": {
            "who": [{"claims": {"groups": "payments"}}],
            "roles": {"approver": [{"claims": {"groups": "leads"}}]},
            "permission": [{"permission": "edit", "action": "ask", "answer_by": "approver", "reason": "what runs in production"}],
        }
    },
}


async def opened(windows: Windows, issuer: SignIn, link: str, name: str) -> Page:
    """The link, in a browser in which that person signs in."""
    page = await windows.blank()
    await page.goto(link)
    await signed_in(page, issuer, name)
    return page


@pytest.mark.parametrize("era", ERAS)
async def test_only_the_approver_lifts_what_the_policy_leaves_to_one_and_each_sees_what_is_theirs(
    era: Era, windows: Windows, tmp_path: Path
) -> None:
    async with signing_in() as issuer, gated(team_world(tmp_path), {"issuers": [{"issuer": issuer.url}], **POLICY}) as served:
        console = known(issuer, served)
        for name, groups in (("alice", ["payments"]), ("bob", ["payments"]), ("dora", ["leads"]), ("carol", ["audit"])):
            issuer.member(name, groups=groups)
        eager, token = Person(decides("allow_once")), issuer.token(served.url, sub="alice", groups=["payments"])
        with anyio.fail_after(4 * LONG):
            async with visiting(served.url, token, era, eager) as client:
                begun = await client.call_tool("task", errand("lead", background=True))
                task = content_of(begun)["task_id"]
                while state_of(report := await client.call_tool("task_status", {"task_id": task, "wait_seconds": 1})) != "waiting":
                    pass
                assert "in the role approver" in text_of(report)
                (link,) = [word.strip(";") for word in text_of(report).split() if word.startswith(f"{console}/prompts/")]
                own = await opened(windows, issuer, link, "alice")
                await expect(own.get_by_role("heading", name=TITLE)).to_be_visible()
                await expect(own.get_by_role("button", name="Allow once")).to_have_count(0)
                colleague = await opened(windows, issuer, link, "bob")
                await expect(colleague.get_by_role("heading", name="No such prompt")).to_be_visible()
                approver = await opened(windows, issuer, link, "dora")
                await approver.get_by_role("link", name="Inbox", exact=True).click()
                await expect(only_card(approver)).to_contain_text("for alice")
                assert not (served.world.workspace / "out.txt").exists()
                await approver.get_by_role("button", name="Allow once").click()
                await expect(only_card(approver)).to_contain_text("Answered here in the console")
                while state_of(ended := await client.call_tool("task_status", {"task_id": task, "wait_seconds": 5})) in (
                    "running",
                    "waiting",
                ):
                    pass
                assert state_of(ended) == "completed"
                assert (served.world.workspace / "out.txt").read_text() == "hello"
                auditor = await opened(windows, issuer, f"{console}/audit", "carol")
                await expect(auditor.get_by_text("answered: allow_once").first).to_be_visible()
                nosy = await opened(windows, issuer, f"{console}/audit", "bob")
                await expect(nosy.get_by_text("answered: allow_once")).to_have_count(0)
        assert eager.forms == [], "the member's own client is not even asked"
        (prompt,) = await served.world.store().prompts(state=PromptState.ANSWERED)
        assert prompt.answer is not None
        assert prompt.answer.roles == ("approver",)
