"""Tells notifiers of the prompts that this process opens, and of their end. Beside the calls: nothing waits for it."""

from collections.abc import Callable, Sequence

import anyio
import structlog

from mcp_server.errors import StoreError
from mcp_server.gateway.notices.notice import Notice, Notifier
from mcp_server.records import Prompt, PromptId, PromptState
from mcp_server.store.protocol import Store

log = structlog.get_logger(__name__)

MOST = 1000
"""Open prompts that are followed at once. Whoever has so many unanswered looks into the console, not at notices."""

LAST_WORDS = 1.0
"""Seconds that what is still to be told may take when the server ends: it is to be gone within five, most of which the runs have."""

AGAIN = 1.0
"""Seconds until a store that could not be read is read again."""


class Announcer:
    """A `Herald`. The process that opens a prompt tells of it, so that of several on one store one does."""

    def __init__(self, store: Store, notifiers: Sequence[Notifier], notice_of: Callable[[Prompt], Notice]) -> None:
        self._store = store
        self._notifiers = notifiers
        self._notice_of = notice_of
        self._followed: dict[PromptId, str] = {}
        """Prompts to be told of and not yet told to be over, and whose they are."""
        self._news: dict[PromptId, bool] = {}
        self._over: dict[PromptId, bool] = {}
        self._bell = anyio.Event()
        self._full = False

    def opened(self, prompt: Prompt) -> None:
        """See `Herald`."""
        if len(self._followed) >= MOST:
            if not self._full:
                log.warning("too many prompts are open to tell of each; look into the console", open=MOST)
            self._full = True
            return
        self._full = False
        self._followed[prompt.id] = prompt.principal
        self._news[prompt.id] = True
        self._bell.set()

    def over(self, prompt_id: PromptId) -> None:
        """See `Herald`."""
        if prompt_id in self._followed:
            self._over[prompt_id] = True
            self._bell.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with anyio.create_task_group() as group:
            for notifier in self._notifiers:
                group.start_soon(_heeded, notifier)
            while True:
                await self._bell.wait()
                self._bell = anyio.Event()
                if not await self._pass_on():
                    await anyio.sleep(AGAIN)
                    self._bell.set()

    async def last_words(self) -> None:
        """The server ends: give what is still to be told its chance. While it runs."""
        with anyio.move_on_after(LAST_WORDS):
            await self._pass_on()
            async with anyio.create_task_group() as group:
                for notifier in self._notifiers:
                    group.start_soon(notifier.at_rest)

    async def _pass_on(self) -> bool:
        """False: the store could not be read, and something is left."""
        try:
            for prompt_id in tuple(self._news):
                prompt = await self._read(prompt_id)
                if self._news.pop(prompt_id, False) and prompt is not None:
                    self._tell(self._notice_of(prompt), over=False)
            for prompt_id in tuple(self._over):
                prompt = await self._read(prompt_id)
                if self._over.pop(prompt_id, False) and prompt is not None and prompt.state is not PromptState.OPEN:
                    self._followed.pop(prompt_id, None)
                    self._tell(self._notice_of(prompt), over=True)
        except StoreError as error:
            log.error("the store cannot be read to tell of a prompt", error=str(error))
            return False
        return True

    async def _read(self, prompt_id: PromptId) -> Prompt | None:
        """None: its whole tree was removed."""
        prompt = await self._store.prompt(prompt_id, self._followed.get(prompt_id, ""))
        if prompt is None:
            self._followed.pop(prompt_id, None)
        return prompt

    def _tell(self, notice: Notice, *, over: bool) -> None:
        for notifier in self._notifiers:
            (notifier.over if over else notifier.opened)(notice)


async def _heeded(notifier: Notifier) -> None:
    try:
        await notifier.run()
    except Exception:  # a fault of ours in what is beside the calls must not take them with it
        log.exception("nobody is told of prompts this way any more until the server starts again", by=type(notifier).__name__)
