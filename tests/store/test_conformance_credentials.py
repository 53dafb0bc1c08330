from mcp_server.store.credentials import KeptCredential
from tests.store.conformance import Handles

ALICE = '["https://login.example.org","alice","desktop"]'
BOB = ALICE.replace("alice", "bob")


async def test_a_credential_reads_back_as_it_was_kept_for_that_principal_and_server_alone(handles: Handles) -> None:
    await handles.one.keep_credential(ALICE, "github", b"\x00\xffsealed", now=5.0)
    assert await handles.two.credential(ALICE, "github") == b"\x00\xffsealed"
    assert await handles.two.credential(BOB, "github") is None
    assert await handles.two.credential(ALICE, "jira") is None


async def test_a_later_credential_takes_the_place_of_the_earlier_one(handles: Handles) -> None:
    await handles.one.keep_credential(ALICE, "github", b"old", now=5.0)
    await handles.two.keep_credential(ALICE, "github", b"new", now=6.0)
    assert await handles.one.credential(ALICE, "github") == b"new"
    assert await handles.one.kept_credentials(ALICE) == (KeptCredential(server="github", kept_at=6.0),)


async def test_what_a_principal_holds_is_listed_by_server_and_forgotten_once(handles: Handles) -> None:
    for server in ("jira", "github"):
        await handles.one.keep_credential(ALICE, server, b"sealed", now=5.0)
    await handles.one.keep_credential(BOB, "github", b"sealed", now=5.0)
    assert [kept.server for kept in await handles.two.kept_credentials(ALICE)] == ["github", "jira"]
    assert await handles.two.forget_credential(ALICE, "github") is True
    assert await handles.two.forget_credential(ALICE, "github") is False
    assert await handles.one.credential(BOB, "github") == b"sealed"
