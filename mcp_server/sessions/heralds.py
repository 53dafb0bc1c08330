"""Who is told, beside those that wait, of the prompts that this process opens. Nobody is answered to here."""

from typing import Protocol

from mcp_server.records import Prompt, PromptId


class Herald(Protocol):
    """Told in passing: neither `opened` nor `over` waits, or raises."""

    def opened(self, prompt: Prompt) -> None:
        """Opened by this process, just now. No other is told of that."""
        ...

    def over(self, prompt_id: PromptId) -> None:
        """It is open no more, whoever opened it."""
        ...

    async def run(self) -> None:
        """Pass on what it is told. Until cancelled."""
        ...

    async def last_words(self) -> None:
        """The server ends, and this still runs: pass on what is left, within a bound."""
        ...


class Silent:
    """Nobody is told."""

    def opened(self, prompt: Prompt) -> None:
        """None."""

    def over(self, prompt_id: PromptId) -> None:
        """None."""

    async def run(self) -> None:
        """None."""

    async def last_words(self) -> None:
        """None."""
