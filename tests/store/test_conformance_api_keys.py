from dataclasses import replace

import pytest

from mcp_server.errors import StoreError
from mcp_server.store.api_keys import ApiKey, HeldKey
from tests.store.conformance import Handles
from tests.store.samples import an_event

KEY = ApiKey(id="key_1", name="robot", scopes=("a", "b"), created_at=5.0, expires_at=100.0)
MADE = an_event(outcome="created")


async def test_a_key_reads_back_as_it_was_written_by_the_digest_of_its_secret(handles: Handles) -> None:
    await handles.one.add_api_key(KEY, "digest", (MADE,))
    endless = replace(KEY, id="key_2", name="ro'bot; --", scopes=(), expires_at=None)
    await handles.one.add_api_key(endless, "other")
    assert await handles.two.held_api_key("digest") == HeldKey(key=KEY, until=None)
    assert await handles.two.held_api_key("other") == HeldKey(key=endless, until=None)
    assert await handles.two.api_keys() == (KEY, endless)
    assert [stored.event for stored in await handles.two.audit_log()] == [MADE]


@pytest.mark.parametrize("digest", ["", "none", "\ud800", "digest'; --"])
async def test_a_digest_that_nobody_has_is_nobodys(handles: Handles, digest: str) -> None:
    await handles.one.add_api_key(KEY, "digest")
    assert await handles.two.held_api_key(digest) is None


async def test_a_name_belongs_to_one_living_key_and_is_free_once_that_is_revoked(handles: Handles) -> None:
    await handles.one.add_api_key(KEY, "digest")
    second = replace(KEY, id="key_2")
    with pytest.raises(StoreError):
        await handles.two.add_api_key(second, "other", (MADE,))
    assert await handles.one.audit_log() == ()
    assert await handles.one.revoke_api_key(KEY.id, now=7.0)
    await handles.two.add_api_key(second, "other")
    assert await handles.one.api_keys() == (replace(KEY, revoked_at=7.0), second)


async def test_rotating_adds_a_secret_and_ends_those_before_it_at_the_overlap_or_sooner(handles: Handles) -> None:
    await handles.one.add_api_key(KEY, "first")
    assert await handles.one.rotate_api_key(KEY.id, "second", now=10.0, old_until=20.0, expires_at=300.0)
    assert await handles.one.rotate_api_key(KEY.id, "third", now=11.0, old_until=500.0, expires_at=None)
    key = replace(KEY, expires_at=None)
    assert await handles.two.held_api_key("first") == HeldKey(key=key, until=20.0)
    assert await handles.two.held_api_key("second") == HeldKey(key=key, until=300.0)
    assert await handles.two.held_api_key("third") == HeldKey(key=key, until=None)


async def test_what_is_revoked_or_unknown_is_neither_rotated_nor_revoked_again(handles: Handles) -> None:
    await handles.one.add_api_key(KEY, "first")
    assert await handles.one.revoke_api_key(KEY.id, now=7.0, events=(MADE,))
    assert not await handles.two.revoke_api_key(KEY.id, now=8.0, events=(MADE,))
    for key_id in (KEY.id, "key_9"):
        assert not await handles.two.rotate_api_key(key_id, "second", now=9.0, old_until=9.0, expires_at=None, events=(MADE,))
    assert await handles.one.held_api_key("second") is None
    assert await handles.one.held_api_key("first") == HeldKey(key=replace(KEY, revoked_at=7.0), until=None)
    assert len(await handles.one.audit_log()) == 1


async def test_a_use_is_noted(handles: Handles) -> None:
    await handles.one.add_api_key(KEY, "first")
    await handles.one.use_api_key(KEY.id, now=9.0)
    assert await handles.two.api_keys() == (replace(KEY, used_at=9.0),)
