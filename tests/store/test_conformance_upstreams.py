from mcp_server.store.upstreams import Found, Pin
from tests.store.conformance import Handles

ALICE = '["https://login.example.org","alice","desktop"]'
PIN = Pin(digest="d1", definition='{"name": "pay\'ments; --"}', at=5.0)
OTHER = Pin(digest="d2", definition="{}", at=6.0)


async def test_a_pin_reads_back_as_it_was_kept_for_its_principal_and_server_alone(handles: Handles) -> None:
    await handles.one.pin(ALICE, "github", "create", PIN)
    await handles.one.pin("local", "github", "create", OTHER)
    assert await handles.two.pins(ALICE, "github") == {"create": PIN}
    assert await handles.two.pins(ALICE, "gitlab") == {}
    assert await handles.two.pinned() == {(ALICE, "github"): {"create": PIN}, ("local", "github"): {"create": OTHER}}


async def test_a_newer_pin_takes_the_place_of_the_one_before(handles: Handles) -> None:
    await handles.one.pin(ALICE, "github", "create", PIN)
    await handles.two.pin(ALICE, "github", "create", OTHER)
    assert await handles.one.pins(ALICE, "github") == {"create": OTHER}
    await handles.one.pin(ALICE, "github", "create", PIN, first=True)
    assert await handles.two.pins(ALICE, "github") == {"create": OTHER}


async def test_how_a_server_was_found_last_is_kept_for_each_principal(handles: Handles) -> None:
    first = Found(principal=ALICE, server="github", said='{"era": "2025-11-25"}', at=5.0)
    mine = Found(principal="local", server="github", said="{}", at=6.0)
    await handles.one.set_found(Found(principal=ALICE, server="github", said="{}", at=1.0))
    await handles.one.set_found(first)
    await handles.one.set_found(mine)
    assert await handles.two.found(ALICE, "github") == first
    assert await handles.two.found(ALICE, "docs") is None
    assert await handles.two.every_found() == (first, mine)
