"""How one request's client is given a prompt: in a form, by a link to the console, in a panel, or not at all; and the words of the link.

Decided by what this very request declares, in the order of the settings. A link opens nothing: it leads to the prompt's page in a console,
which shows it to a browser that has signed in there. That the person agreed to open it is no answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from mcp_types import ClientCapabilities, ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult
from mcp_types.version import is_version_at_least
from pydantic import ValidationError

from mcp_server.elicited import ElicitationSubject, LinkAsked
from mcp_server.protocol.elicited_forms import link_of, link_request
from mcp_server.protocol.forms import message_of, schema_of
from mcp_server.protocol.given_links import GivenLinks
from mcp_server.records import Prompt, PromptId
from mcp_server.sessions.offered import shown
from mcp_server.sessions.ways import Ways

Shape = Literal["form", "link", "panel"]

LINKS_SINCE = "2025-11-25"
"""The protocol version that brought them."""

MOST_KEPT = 4096
"""Prompts of which it is kept that the person agreed to open them: far more than are open at once."""

_LINK = ":link"
"""Behind a prompt's id, in the key of a request that is a link. So no reply to a link can pass for one to a form."""

_OPEN = ":open"
"""Behind a prompt's id, in the key of a request that is another server's own link: the reply to it is an answer, and holds no form."""

_LEADS = (
    "The link leads to this prompt in Remit's console, where you answer. Opening it allows nothing. Where the browser has not signed in "
    "there, the page says how."
)


class Noted:
    """Prompts of which something is kept, with a word on it. One process's, in memory: to be asked anew after a restart does no harm."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}

    def add(self, prompt_id: str, words: str = "") -> None:
        """Keep it, in place of the oldest where there are too many."""
        while len(self._words) >= MOST_KEPT:
            del self._words[next(iter(self._words))]
        self._words[prompt_id] = words

    def get(self, prompt_id: str) -> str:
        """The word on it; empty: there is none."""
        return self._words.get(prompt_id, "")

    def __contains__(self, prompt_id: object) -> bool:
        return prompt_id in self._words


def declares_forms(capabilities: ClientCapabilities | None) -> bool:
    """The client says that it shows forms. Before modes existed, an empty declaration meant forms."""
    elicitation = None if capabilities is None else capabilities.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def declares_links(capabilities: ClientCapabilities | None, version: str) -> bool:
    """The client says that it opens links."""
    elicitation = None if capabilities is None else capabilities.elicitation
    return elicitation is not None and elicitation.url is not None and is_version_at_least(version, LINKS_SINCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What every request of one process shares."""

    ways: Ways = field(default_factory=Ways)
    agreed: Noted = field(default_factory=Noted)
    """Those that the person agreed to open by a link. They are not put again: whoever waits for them only waits."""
    amiss: Noted = field(default_factory=Noted)
    """Those that were answered with what does not fit, with what it was. They are put once more, and not twice."""
    given: GivenLinks = field(default_factory=GivenLinks)

    def message(self, prompt: Prompt) -> str:
        """What the person reads above the form."""
        amiss = self.amiss.get(prompt.id)
        again = f"\nWhat you entered does not fit, and was not sent:\n  │ {shown(amiss)}" if amiss else ""
        return f"{message_of(prompt)}{again}"

    def shape(self, capabilities: ClientCapabilities | None, version: str, *, principal: str, panel: bool) -> Shape | None:
        """The first way in the settings' order that a request can carry now. `principal`: whose prompts it is about. `panel`: the request
        declares one, and is given one.
        """
        can: dict[str, tuple[Shape, bool]] = {
            "elicitation": ("form", declares_forms(capabilities)),
            "url": ("link", declares_links(capabilities, version) and self.ways.leads(principal)),
            "app": ("panel", panel),
        }
        return next((can[name][0] for name in self.ways.channels if name in can and can[name][1]), None)

    def takes_forms(self, capabilities: ClientCapabilities | None) -> bool:
        """Does a reply to a form count, whatever the preferred way is by now?"""
        return "elicitation" in self.ways.channels and declares_forms(capabilities)

    def opens(self, capabilities: ClientCapabilities | None, version: str) -> bool:
        """Can this request carry a link that another server wants opened, as it is? Whatever the preferred way for prompts."""
        return not {"elicitation", "url"}.isdisjoint(self.ways.channels) and declares_links(capabilities, version)

    def puttable(self, prompts: Sequence[Prompt], shape: Shape | None, *, opens: bool) -> tuple[Prompt, ...]:
        """Those to put in requests of that shape: none whose page the person agreed to open before. `opens`: see above."""
        return tuple(prompt for prompt in prompts if (opens and link_of(prompt)) or self._fits(prompt, shape))

    def _fits(self, prompt: Prompt, shape: Shape | None) -> bool:
        return shape == "form" or (shape == "link" and prompt.id not in self.agreed)

    def request(self, prompt: Prompt, shape: Shape | None, *, opens: bool) -> tuple[str, ElicitRequest] | None:
        """The prompt as one request, from 2026-07-28 on, and the key under which it is put. None: it cannot be put so, or no more."""
        match prompt.subject:
            case ElicitationSubject(asked=LinkAsked() as link) as subject if opens:
                return open_key(prompt.id), link_request(prompt, subject, link)
            case _:
                return self._request(prompt, shape)

    def _request(self, prompt: Prompt, shape: Shape | None) -> tuple[str, ElicitRequest] | None:
        page = self.ways.page_of(prompt) if shape == "link" else None
        if page is not None:
            return link_key(prompt.id), ElicitRequest(params=ElicitRequestURLParams(message=link_message(prompt), url=page))
        if shape != "form":
            return None
        form = ElicitRequestFormParams(message=self.message(prompt), requested_schema=schema_of(prompt, titled=True))
        return prompt.id, ElicitRequest(params=form)


def link_key(prompt_id: PromptId) -> str:
    """Under which a prompt's link is put, and the reply to it found."""
    return f"{prompt_id}{_LINK}"


def open_key(prompt_id: PromptId) -> str:
    """Likewise, of another server's own link."""
    return f"{prompt_id}{_OPEN}"


def link_message(prompt: Prompt) -> str:
    """What the person reads beside the link."""
    return f"{message_of(prompt)}\n{_LEADS}"


def agreed_in(reply: object) -> bool:
    """Whether a reply to a link, which nobody has looked at, says that the person agreed to open it. It never says more."""
    try:
        return ElicitResult.model_validate(reply, by_name=False).action == "accept"
    except ValidationError:
        return False
