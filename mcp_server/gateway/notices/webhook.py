"""Tells a server of the person's or operator's that a prompt waits, and that it is over: a signed POST each, as Standard Webhooks has it.

At least once as long as this process lives: an event is tried again, with growing pauses, until the server takes it or the tries are used
up. Its id and its body stay the same, so that a receiver can drop what it has. Nothing of it is kept on the disk.
"""

import json
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, Protocol

import anyio
import structlog
from anyio.abc import TaskGroup

from mcp_server.errors import ConfigError
from mcp_server.gateway.notices.notice import Notice
from mcp_server.gateway.notices.posting import Told, Unanswered
from mcp_server.gateway.notices.signing import signature
from mcp_server.records import PromptId

log = structlog.get_logger(__name__)

PAUSES = (1.0, 5.0, 30.0, 120.0, 300.0)
"""Seconds between tries: a restart of the receiver is bridged, and after less than eight minutes nobody waits for the prompt's notice."""

LONGEST_PAUSE = 300.0
"""Seconds that a server may ask to wait."""

AT_ONCE = 4
"""Posts under way at once."""

MOST_LINES = 1000
"""Prompts of which something is still to be posted, a kilobyte each. Past that the server does not answer, and will not miss them."""

GONE = 410
"""By the scheme: never send here again."""

Stage = Literal["opened", "closed"]


class Posts(Protocol):
    """`posting.Poster`."""

    @property
    def host(self) -> str: ...

    def __call__(self, body: bytes, headers: Mapping[str, str]) -> Awaitable[Told | Unanswered]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What is posted, the same at each try."""

    id: str
    body: bytes


@dataclass(slots=True)
class _Line:
    """The events of one prompt that are still to be posted, in order."""

    events: deque[Event] = field(default_factory=deque[Event])
    more: anyio.Event = field(default_factory=anyio.Event)
    """Set when there is a further one behind the first."""


class Webhook:
    """A `Notifier`. The prompts do not wait for one another."""

    def __init__(
        self, post: Posts, secrets: Callable[[], Sequence[bytes]], *, clock: Callable[[], float], pauses: Sequence[float] = PAUSES
    ) -> None:
        self._post = post
        self._secrets = secrets
        self._clock = clock
        self._pauses = pauses
        self._lines: dict[PromptId, _Line] = {}
        self._trying: set[PromptId] = set()
        """Whose first event is posted just now, or waits for its turn to be."""
        self._places = anyio.Semaphore(AT_ONCE)
        self._rested = anyio.Event()
        self._group: TaskGroup | None = None
        self._gone = False
        self._faults: set[str] = set()
        """Reasons that were logged since something was delivered: each once."""

    def opened(self, notice: Notice) -> None:
        """See `Notifier`."""
        self._take(notice, "opened")

    def over(self, notice: Notice) -> None:
        """See `Notifier`."""
        self._take(notice, "closed")

    async def run(self) -> None:
        """Until cancelled."""
        try:
            self._secrets()
        except ConfigError as error:
            self._log(str(error))
        async with anyio.create_task_group() as group:
            self._group = group
            for prompt_id in self._lines:
                group.start_soon(self._work_off, prompt_id)
            await anyio.sleep_forever()

    async def at_rest(self) -> None:
        """Wait until no post is under way."""
        while self._trying:
            self._rested = anyio.Event()
            await self._rested.wait()

    def _take(self, notice: Notice, stage: Stage) -> None:
        if self._gone:
            return
        event = event_of(notice, stage, self._clock())
        line = self._lines.get(notice.prompt_id)
        if line is not None:
            line.events.append(event)
            line.more.set()
            return
        if len(self._lines) >= MOST_LINES:
            self._log("too much is still to be told: further prompts are left out")
            return
        self._lines[notice.prompt_id] = _Line(deque([event]))
        self._trying.add(notice.prompt_id)
        if self._group is not None:
            self._group.start_soon(self._work_off, notice.prompt_id)

    async def _work_off(self, prompt_id: PromptId) -> None:
        line = self._lines[prompt_id]
        try:
            while line.events:
                line.more = anyio.Event()
                if len(line.events) > 1:
                    line.more.set()
                await self._deliver(prompt_id, line.events[0], line.more)
                line.events.popleft()
        finally:
            del self._lines[prompt_id]
            self._resting(prompt_id)

    async def _deliver(self, prompt_id: PromptId, event: Event, superseded: anyio.Event) -> None:
        """Try until it is taken. Of an event with a further one behind it no try is made again: the prompt is over, nobody need come."""
        for pause in (*self._pauses, None):
            self._trying.add(prompt_id)
            async with self._places:
                answer = await self._try(event)
            if answer is None or self._gone or superseded.is_set():
                return
            if pause is None:
                break
            self._resting(prompt_id)
            with anyio.move_on_after(pause_of(answer, pause, self._clock())):
                await superseded.wait()
                return
        log.error("gave up telling the webhook of a prompt", host=self._post.host, event_id=event.id, tries=len(self._pauses) + 1)

    def _resting(self, prompt_id: PromptId) -> None:
        self._trying.discard(prompt_id)
        self._rested.set()

    async def _try(self, event: Event) -> Told | Unanswered | None:
        """None: it was taken."""
        if self._gone:
            return None
        try:
            at = int(self._clock())
            signed = {"webhook-id": event.id, "webhook-timestamp": str(at), "webhook-signature": self._signature(event, at)}
        except ConfigError as error:
            self._log(str(error))
            return Unanswered(reason=str(error))
        answer = await self._post(event.body, signed)
        return None if self._taken(answer) else answer

    def _taken(self, answer: Told | Unanswered) -> bool:
        """Was it? What was not is logged, each reason once until something is."""
        match answer:
            case Told(status=status) if 200 <= status < 300:
                if self._faults:
                    log.info("the webhook takes events again", host=self._post.host)
                self._faults.clear()
                return True
            case Told(status=status) if status == GONE:
                self._gone = True
                self._log("it answered 410, gone: nothing is sent there until this server starts again")
            case Told(status=status) if 300 <= status < 400:
                self._log(f"it answered {status}: redirects are not followed; write the address that it leads to into `webhook.url`")
            case Told(status=status):
                self._log(f"it answered {status}")
            case Unanswered(reason=reason):
                self._log(reason)
        return False

    def _signature(self, event: Event, at: int) -> str:
        return signature(self._secrets(), event.id, at, event.body)

    def _log(self, reason: str) -> None:
        if reason not in self._faults:
            self._faults.add(reason)
            log.warning("the webhook could not be told of a prompt", host=self._post.host, reason=reason)


def event_of(notice: Notice, stage: Stage, at: float) -> Event:
    """The event. No argument of a call is in it, beyond the line that lists have too."""
    told: dict[str, object] = {
        "prompt": notice.prompt_id,
        "kind": notice.kind,
        "agents": list(notice.path),
        "tool": notice.tool,
        "summary": notice.line,
        "state": notice.state.value,
        "asked_at": _iso(notice.asked_at),
        "deadline": _iso(notice.deadline),
        "answer_by": list(notice.answer_by),
        "console": notice.console,
    }
    if stage == "closed":
        told["choice"] = None if notice.choice is None else notice.choice.value
        told["answered_in"] = notice.channel or None
    body = {"type": f"prompt.{stage}", "timestamp": _iso(at), "data": told}
    return Event(id=f"{notice.prompt_id}_{stage}", body=json.dumps(body, ensure_ascii=True).encode())


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def pause_of(answer: Told | Unanswered, usual: float, now: float) -> float:
    """As long as the server asks for, within bounds; else the usual, uneven so that those who failed together do not come back together."""
    asked = _asked(answer.retry_after, now) if isinstance(answer, Told) else None
    return min(max(asked, 0.0), LONGEST_PAUSE) if asked is not None else usual * random.uniform(0.8, 1.2)  # noqa: S311 - hides nothing


def _asked(retry_after: str, now: float) -> float | None:
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return parsedate_to_datetime(text).timestamp() - now if text else None
    except (ValueError, OverflowError):  # a date of any year and any offset: a receiver may write what it likes
        return None
