"""Which way of answering leads to whom."""

from dataclasses import replace

from mcp_server.principal import LOCAL, TokenPrincipal
from mcp_server.records import Prompt
from mcp_server.sessions.ways import Ways
from tests.gateway.notices.samples import asks

HERE = "http://127.0.0.1:40213"
TEAM = "https://remit.example.org/console"
ADA = TokenPrincipal(issuer="https://login.example.org", subject="ada", client="editor").key


def prompt_of(principal: str) -> Prompt:
    return replace(asks(), principal=principal)


def ways(*channels: str, here: str | None = HERE, team: str | None = TEAM) -> Ways:
    kept = Ways(console=lambda: here, team=team)
    return replace(kept, channels=tuple(one for one in kept.channels if one in channels)) if channels else kept


def test_each_is_led_to_the_console_that_shows_their_prompts() -> None:
    mine, adas = prompt_of(LOCAL.key), prompt_of(ADA)
    assert ways().page_of(mine) == f"{HERE}/prompts/{mine.id}"
    assert ways().page_of(adas) == f"{TEAM}/prompts/{adas.id}"
    assert ways().leads(ADA)
    assert f"{TEAM}/prompts/{adas.id}" in ways().to_answer(adas)
    assert "remit console" not in ways().to_answer(adas)
    assert TEAM not in ways().to_answer(mine)


def test_nobody_is_led_to_somebody_elses_console() -> None:
    assert ways(here=None).page_of(prompt_of(LOCAL.key)) is None
    assert ways(team=None).page_of(prompt_of(ADA)) is None
    assert not ways(team=None).leads(ADA)
    assert HERE not in ways(team=None).to_answer(prompt_of(ADA))


def test_without_links_the_consoles_address_is_told_and_without_the_console_none_is() -> None:
    adas = prompt_of(ADA)
    assert ways("console").page_of(adas) is None
    assert f"the console at {TEAM}" in ways("console").to_answer(adas)
    nowhere = ways("url", "elicitation", team=None).to_answer(adas)
    assert TEAM not in nowhere
    assert "gateway.console" in nowhere, "whoever reads it knows who can open a way, and how"


def test_a_session_is_told_the_ways_that_lead_to_its_own_person() -> None:
    assert f"{TEAM}, in a browser" in ways().named(ADA)
    assert "`remit console`, in a browser" in ways().named(LOCAL.key)
    assert not [way for way in ways().named(ADA) if "`remit" in way]
    assert not [way for way in ways(team=None).named(ADA) if "console" in way]
