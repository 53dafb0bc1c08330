from tests.store.conformance import Handles

ALICE = '["https://login.example.org","alice","desktop"]'


async def test_claims_read_back_as_they_were_kept_and_nobodys_are_empty(handles: Handles) -> None:
    said = {"groups": ["pay'ments; --", "ops"], "realm": {"roles": ["dev"]}, "level": 3, "staff": True}
    await handles.one.keep_claims(ALICE, said, issued_at=5.0)
    assert await handles.two.claims(ALICE) == said
    assert await handles.two.claims(ALICE.replace("alice", "bob")) == {}
    assert await handles.two.everybodys_claims() == {ALICE: said}


async def test_what_an_issuer_said_last_counts_in_whatever_order_it_comes(handles: Handles) -> None:
    await handles.one.keep_claims(ALICE, {"groups": ["new"]}, issued_at=7.0)
    await handles.two.keep_claims(ALICE, {"groups": ["old"]}, issued_at=6.0)
    assert await handles.one.claims(ALICE) == {"groups": ["new"]}
    await handles.two.keep_claims(ALICE, {}, issued_at=7.0)
    assert await handles.one.claims(ALICE) == {}
