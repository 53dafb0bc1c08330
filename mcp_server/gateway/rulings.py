"""What a person has ruled, as a page, with a button that takes each back."""

from mcp_server.gateway.belongings import Belongings
from mcp_server.gateway.cards import agents, moment
from mcp_server.gateway.html import Child, Html, el, exact, join, said
from mcp_server.sessions.standing_rulings import Ruled, take_back


async def rulings_page(mine: Belongings, door: str, form_key: str, *, now: float, note: str = "") -> list[Child]:
    """The body of the page."""
    standing = await mine.ruled(now=now)
    whose = {key: mine.named(key) for key in {one.record.principal for one in standing}}
    return [
        el("h1", None, "Rulings"),
        el("p", {"class": "note", "role": "status"}, note) if note else None,
        el("p", None, "What you allowed or denied in answer to prompts, as long as it stands. Taken back, it asks again."),
        *(_card(one, door, form_key, whose[one.record.principal]) for one in reversed(standing)),
        None if standing else el("p", None, "No ruling stands."),
    ]


async def revoke(mine: Belongings, ruling_id: str, *, now: float) -> bool:
    """Take it back. False: no ruling of this person's with that id stands."""
    for one in await mine.ruled(now=now, own=True):
        if one.record.id == ruling_id:
            return await take_back(mine.store, one, by=mine.by, now=now)
    return False


def _card(one: Ruled, door: str, form_key: str, whose: str) -> Html:
    record = one.record
    title = f"title-{record.id}"
    used = f"used {record.used} time{'' if record.used == 1 else 's'}"
    expires = join(" · until ", moment(record.expires_at, "left")) if record.expires_at is not None else None
    return el(
        "article",
        {"class": "card", "aria-labelledby": title, "tabindex": "-1"},
        el("h2", {"id": title}, f"{record.action.word}, {record.reach.value}: ", exact(one.rule)),
        el("p", None, "For ", agents(one.path), join(", ", said(whose)) if whose else None),
        el(
            "p",
            {"class": "when"},
            "given ",
            moment(record.created_at, "age"),
            " by ",
            said(record.given_by),
            f" through {record.channel}, {used}",
            expires or " · until you take it back, or its session is over",
        ),
        el("ul", {"class": "box because", "tabindex": "0"}, *(el("li", None, said(f"answers {ask}")) for ask in record.ruling.answers)),
        None
        if whose
        else el(
            "form",
            {"method": "post", "action": f"/{door}/rulings/{record.id}"},
            el("input", {"type": "hidden", "name": "key", "value": form_key}),
            el("button", {"type": "submit", "class": "deny", "aria-describedby": title}, "Take it back"),
        ),
    )
