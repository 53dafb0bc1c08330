"""The web through the gate: what a person is shown, and what the rules say of redirects."""

from pathlib import Path

from tests.behaviour.stories import NEAR, bounded
from tests.behaviour.world import connect, make_world, text_of
from tests.protocol.connect import Person, decides
from tests.tools.web.site import reply, says, serving

OPEN = {"webfetch": {"private_hosts": ["127.0.0.1"]}}


async def test_a_person_is_asked_with_the_address_and_told_that_its_host_is_opened(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world", settings=OPEN)
    person = Person(decides("allow_once"))
    async with serving(says(reply(b"the page"))) as site, connect(world, NEAR, person=person) as connected:
        result = await bounded(connected.call("webfetch", url=site.url("/a/../b#c")))
    assert "the page" in text_of(result)
    [shown] = person.forms
    assert f"webfetch {site.url('/b')}" in shown.message
    assert "127.0.0.1 is opened by webfetch.private_hosts: it may be in a private network" in shown.message


async def test_an_allow_opens_no_private_host(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world", settings={"permission": {"webfetch": "allow"}})
    async with serving(says(reply(b"secret"))) as site, connect(world, NEAR) as connected:
        result = await bounded(connected.call("webfetch", url=site.url()))
    assert "is a loopback address, and only public ones are fetched; nothing was sent" in text_of(result)
    assert site.asked == []


async def test_a_redirect_goes_on_where_the_rules_allow_its_target_and_nowhere_else(tmp_path: Path) -> None:
    permission = {"webfetch": {"*": "allow", "*/closed*": "deny", "*/asked*": "ask"}}
    world = make_world(tmp_path / "world", settings={**OPEN, "permission": permission})
    for target, followed in (("/open", True), ("/closed", False), ("/asked", False), ("//closed", False), ("/x/%2e%2e/closed", False)):
        async with (
            serving(says(reply(b"", status="302 Found", Location=target), reply(b"arrived"))) as site,
            connect(world, NEAR) as connected,
        ):
            text = text_of(await bounded(connected.call("webfetch", url=site.url("/start"))))
            assert ("arrived" in text, len(site.asked)) == (followed, 1 + followed), target


async def test_a_patch_asks_for_all_its_files_in_one_prompt(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world", files={"a": "one\n"})
    person = Person(decides("allow_once"))
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Add File: c\n+new\n*** End Patch"
    async with connect(world, NEAR, person=person) as connected:
        await bounded(connected.call("read", filePath="a"))
        result = await bounded(connected.call("apply_patch", patchText=patch))
    assert text_of(result).splitlines()[1:3] == ["R a -> b", "A c"]
    [shown] = person.forms
    assert [line for line in ("edit a", "edit b", "edit c") if line not in shown.message] == []
    assert sorted(path.name for path in world.workspace.iterdir() if path.is_file()) == ["b", "c"]


async def test_a_deny_at_either_end_of_a_move_stops_the_whole_patch(tmp_path: Path) -> None:
    for pattern in ("a", "b"):
        world = make_world(tmp_path / pattern, files={"a": "one\n"}, settings={"permission": {"edit": {"*": "allow", pattern: "deny"}}})
        patch = "*** Begin Patch\n*** Add File: c\n+new\n*** Update File: a\n*** Move to: b\n*** End Patch"
        async with connect(world, NEAR) as connected:
            await bounded(connected.call("read", filePath="a"))
            result = await bounded(connected.call("apply_patch", patchText=patch))
        assert "denied by rule" in text_of(result)
        assert [path.name for path in world.workspace.iterdir() if path.is_file()] == ["a"]
