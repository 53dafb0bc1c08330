"""`remit gateway check` on who is who: what teams and people are given that is not there, and who can never be known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from mcp_server.cli.checks.unanswered import unanswered
from mcp_server.cli.finding import Finding, State, finding_of
from mcp_server.settings.gateway import Gateway
from mcp_server.settings.origins import fault_at
from mcp_server.settings.teams import Who
from mcp_server.settings.values import Settings

TEXTS = frozenset({"iss", "sub", "azp", "client_id", "jti", "name", "given_name", "family_name", "preferred_username", "email", "scope"})
TRUTHS = frozenset({"email_verified", "phone_number_verified"})
MOMENTS = frozenset({"exp", "iat", "nbf", "auth_time", "updated_at"})
"""Claims whose kind RFC 7519, RFC 9068 and OpenID Connect Core 5.1 have laid down: texts, true or false, seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """What people are looked at by."""

    settings: Settings
    gateway: Gateway
    agents: Mapping[str, bool]
    """Those that are defined in any workspace; whether it can be sent or chosen by anybody."""
    keys: frozenset[str]
    """Names of API keys that count."""

    def found(self, key: str, problem: str, remedy: str, state: State = "fault") -> Finding:
        """Something at a key of the settings."""
        return finding_of("teams", fault_at(self.settings.origins, key, problem, remedy), state)


def people(roll: Roll) -> Iterator[Finding]:
    """All of it, and where nothing is wrong, that."""
    wrong = [*_members(roll), *_given(roll), *_known(roll), *unanswered(roll.settings)]
    yield from wrong
    if not any(finding.state == "fault" for finding in wrong):
        gateway = roll.gateway
        said = f"{_count(len(gateway.teams), 'team', 'teams')}, {_count(len(gateway.people), 'person', 'people')} by name"
        yield Finding(about="teams", state="ok", says=said)


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _members(roll: Roll) -> Iterator[Finding]:
    if roll.gateway.roles.member == []:
        yield roll.found("gateway.roles", "`gateway.roles.member` names nobody: nobody may use this gateway", "name who may, or remove it")


def _given(roll: Roll) -> Iterator[Finding]:
    """Agents that a grant names and nobody defines."""
    usable = sorted(name for name, fit in roll.agents.items() if fit)
    for place, grant in roll.gateway.grants:
        for name in grant.agents or ():
            if name not in roll.agents:
                yield roll.found(place, f"`{place}` gives the agent `{name}`, which nobody defines", f"name one of {', '.join(usable)}")
            elif not roll.agents[name]:
                problem = f"`{place}` gives the agent `{name}`, which is there for the server's own jobs alone"
                yield roll.found(place, problem, "take it out", "note")


# ---- who can never be known -------------------------------------------------------------------------


def _known(roll: Roll) -> Iterator[Finding]:
    for place, named in roll.gateway.said_of:
        for who in named:
            if who.key is not None and who.key not in roll.keys:
                problem = f"`{place}` names the API key `{who.key}`, and none of that name counts"
                yield roll.found(place, problem, f"make it: `remit gateway key create {who.key}`, or take it out", "note")
            for claim, wanted in who.claims.items():
                yield from _claim(roll, place, who, claim, wanted)


def _claim(roll: Roll, place: str, who: Who, claim: str, wanted: object) -> Iterator[Finding]:
    """Is there a value that this claim can have?"""
    values = cast("list[object]", wanted) if isinstance(wanted, list) else [wanted]
    kinds = {type(value) for value in values}
    about = f"`{place}` wants the claim `{claim}` to be"
    if claim in MOMENTS:
        yield roll.found(place, f"{about} one moment, which no two tokens have in common", "take it out")
    elif claim in TEXTS and str not in kinds:
        yield roll.found(place, f"{about} no text, and it is always one", "write it in quotes")
    elif claim in TRUTHS and bool not in kinds:
        yield roll.found(place, f"{about} something else than true or false, and it is always one of them", "write true, without quotes")
    elif claim == "iss" and (who.issuer or _only(roll.gateway)) not in values:
        yield roll.found(place, f"{about} another issuer than the one whose tokens are meant", "write `issuer: …` in its place")
    elif claim == "scope":
        problem = f"{about} {' or '.join(map(repr, values))} as a whole; a token with other scopes beside it does not fit"
        yield roll.found(place, problem, "use a claim that holds a list, or `gateway.scopes`", "note")


def _only(gateway: Gateway) -> str:
    return gateway.issuers[0].issuer if len(gateway.issuers) == 1 else ""
