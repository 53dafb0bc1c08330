import math

import pytest

from mcp_server.store.ids import RANDOM_BYTES, derive, is_id, mint


def test_an_id_holds_at_least_128_random_bits_in_its_letters() -> None:
    letters = mint("ses").partition("_")[2]
    assert RANDOM_BYTES * 8 >= 128
    assert len(letters) * math.log2(32) == RANDOM_BYTES * 8


def test_ids_do_not_repeat() -> None:
    assert len({mint("ses") for _ in range(10_000)}) == 10_000


def test_an_id_is_one_of_its_own_kind_alone() -> None:
    made = mint("ses")
    assert is_id("ses", made)
    assert not is_id("run", made)


def test_what_was_not_minted_is_no_id() -> None:
    made = mint("ses")
    spoilt = [made.upper(), made[:-1], made + "a", made + "\n", " " + made, made[4:], made[:-1] + "1", made[:-1] + "\ud800", ""]
    assert [text for text in spoilt if is_id("ses", text)] == []


@pytest.mark.parametrize("kind", ["", "a", "Ses", "s_s", "ses\n", "1ses", "abcdefghi"])
def test_a_kind_is_a_few_small_letters(kind: str) -> None:
    with pytest.raises(ValueError, match="not a kind of id"):
        mint(kind)


def test_a_derived_id_belongs_to_its_kind_and_seed_alone() -> None:
    derived = derive("ses", b"seed")
    assert is_id("ses", derived)
    assert derive("ses", b"seed") == derived
    assert derived[4:] not in {derive("run", b"seed")[4:], derive("ses", b"see")[4:], derive("ses", b"")[4:]}
    with pytest.raises(ValueError, match="not a kind of id"):
        derive("Ses", b"seed")
