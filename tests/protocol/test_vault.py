from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_server.errors import ConfigError
from mcp_server.protocol.upstream.vault import Holder, Vault
from mcp_server.settings.key_files import kept_keys
from mcp_server.store.sqlite import SqliteStore, open_store

ALICE = Holder(principal='["https://login.example.org","alice","desktop"]', server="github", address="https://mcp.example.org/mcp")
TOKEN = {"access_token": "gho-alice-0123456789", "refresh_token": "ghr-alice-0123456789", "expires_at": 1700000000.5}
OLD, NEW = bytes(range(32)), bytes(range(32, 64))


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[SqliteStore]:
    store = open_store(folder / "remit.db")
    try:
        yield store
    finally:
        await store.close()


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def vault(store: SqliteStore, *keys: bytes) -> Vault:
    return Vault(store, lambda: keys, lambda: 5.0)


async def test_a_credential_comes_back_whole_and_the_store_never_sees_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await vault(store, NEW).keep(ALICE, TOKEN)
        assert await vault(store, NEW).get(ALICE) == TOKEN
    held = files(tmp_path)
    assert held
    assert not [file for file in held if b"alice-0123456789" in file.read_bytes()]


@pytest.mark.parametrize(
    "other",
    [
        replace(ALICE, principal=ALICE.principal.replace("alice", "bob")),
        replace(ALICE, server="jira"),
        replace(ALICE, address="https://evil.example"),
    ],
    ids=["another person", "another server", "another address"],
)
async def test_what_was_sealed_for_one_holder_opens_for_no_other_even_where_the_row_is_moved(tmp_path: Path, other: Holder) -> None:
    async with opened(tmp_path) as store:
        await vault(store, NEW).keep(ALICE, TOKEN)
        sealed = await store.credential(ALICE.principal, ALICE.server)
        assert sealed is not None
        await store.keep_credential(other.principal, other.server, sealed, now=6.0)
        assert await vault(store, NEW).get(other) is None


async def test_an_older_key_opens_what_it_sealed_and_an_unknown_one_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await vault(store, OLD).keep(ALICE, TOKEN)
        assert await vault(store, NEW, OLD).get(ALICE) == TOKEN
        assert await vault(store, NEW).get(ALICE) is None
        await vault(store, NEW, OLD).keep(ALICE, TOKEN)
        assert await vault(store, NEW).get(ALICE) == TOKEN


@pytest.mark.parametrize("at", [0, 3, 12, 25, -1])
async def test_a_changed_or_shortened_seal_opens_nothing(tmp_path: Path, at: int) -> None:
    async with opened(tmp_path) as store:
        await vault(store, NEW).keep(ALICE, TOKEN)
        sealed = await store.credential(ALICE.principal, ALICE.server)
        assert sealed is not None
        changed = bytearray(sealed)
        changed[at] ^= 1
        for broken in (bytes(changed), sealed[:at]):
            await store.keep_credential(ALICE.principal, ALICE.server, broken, now=6.0)
            assert await vault(store, NEW).get(ALICE) is None


async def test_what_is_forgotten_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await vault(store, NEW).keep(ALICE, TOKEN)
        assert await vault(store, NEW).forget(ALICE) is True
        assert await vault(store, NEW).get(ALICE) is None
        assert await vault(store, NEW).forget(ALICE) is False


def test_a_file_of_several_keys_gives_the_one_in_use_first(tmp_path: Path) -> None:
    file = tmp_path / "credentials.key"
    (made,) = kept_keys(file, remedy="")
    assert kept_keys(file, remedy="") == (made,)
    file.write_text(f"{NEW.hex()}\n{made.hex()}\n")
    assert kept_keys(file, remedy="") == (NEW, made)


@pytest.mark.parametrize("content", ["", "\n", "zz\n", f"{NEW.hex()}\nabcd\n", "é"])
def test_a_file_that_holds_anything_else_is_refused_with_what_to_do(tmp_path: Path, content: str) -> None:
    file = tmp_path / "credentials.key"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="not a key") as refused:
        kept_keys(file, remedy="restore it from where you keep it")
    assert "restore it from where you keep it" in str(refused.value)
