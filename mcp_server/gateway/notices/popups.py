"""A notice on the desktop, and what shows one here. The platform code of the notices.

Linux and the like: the session bus (`on_bus`). macOS and Windows: programs that come with the system; what they are told goes to
them as arguments or on standard input and never becomes part of a script. Those two were not run here.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import anyio

from mcp_server.errors import RemitError

SECONDS = 5.0
"""For one notice to be taken by whatever shows it."""


class NoPopups(RemitError):
    """Nothing shows notices here; the text says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Popup:
    """What is shown: plain text, line by line."""

    title: str
    lines: tuple[str, ...]
    link: str | None
    """Opened where the person clicks on it and the desktop can; a page that asks who they are."""


class Popups(Protocol):
    """Whatever shows notices on this desktop."""

    async def show(self, popup: Popup, *, instead_of: int = 0) -> int:
        """Show it, in the place of an earlier one where that is possible. Returns its number; 0: it cannot be taken back.

        Raises:
            NoPopups: It could not be shown.
        """
        ...

    async def close(self, number: int) -> None:
        """Take it back. Not an error where it is gone, or cannot be."""
        ...

    def at_hand(self) -> AbstractAsyncContextManager[None]:
        """Within the block notices can be shown and taken back."""
        ...

    async def describe(self) -> str:
        """What shows notices here, for a person.

        Raises:
            NoPopups: Nothing does.
        """
        ...


_APPLE = """on run argv
display notification (item 2 of argv) with title (item 1 of argv)
end run"""

_WINDOWS = """$said = [Console]::In.ReadToEnd() | ConvertFrom-Json
$kind = [Windows.UI.Notifications.ToastTemplateType, Windows.UI.Notifications, ContentType = WindowsRuntime]::ToastText02
$manager = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$content = $manager::GetTemplateContent($kind)
$texts = $content.GetElementsByTagName("text")
$texts.Item(0).AppendChild($content.CreateTextNode($said.title)) | Out-Null
$texts.Item(1).AppendChild($content.CreateTextNode($said.body)) | Out-Null
$toast = [Windows.UI.Notifications.ToastNotification, Windows.UI.Notifications, ContentType = WindowsRuntime]::new($content)
$manager::CreateToastNotifier($said.app).Show($toast)"""

POWERSHELL = "{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe"
"""The application that Windows knows the notice by: one needs an entry in its start menu, and PowerShell has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByProgram:
    """Shows notices by a program of the system's. They cannot be taken back, nor replaced."""

    program: str
    environment: Mapping[str, str]

    async def show(self, popup: Popup, *, instead_of: int = 0) -> int:
        """See `Popups`."""
        body = "\n".join(popup.lines)
        if self.program == "osascript":
            await self._run(["-e", _APPLE, popup.title, body], b"")
        else:
            said = json.dumps({"title": popup.title, "body": body, "app": POWERSHELL})
            await self._run(["-NoProfile", "-NonInteractive", "-Command", _WINDOWS], said.encode("ascii"))
        return 0

    async def close(self, number: int) -> None:
        """See `Popups`."""

    def at_hand(self) -> AbstractAsyncContextManager[None]:
        """See `Popups`."""
        return nullcontext()

    async def describe(self) -> str:
        """See `Popups`."""
        return self._found()

    def _found(self) -> str:
        found = shutil.which(self.program, path=self.environment.get("PATH"))
        if found is None:
            raise NoPopups(f"`{self.program}` is not on the path; put it there, or take `desktop` out of `channels`")
        return found

    async def _run(self, arguments: list[str], said: bytes) -> None:
        found = self._found()
        try:
            with anyio.fail_after(SECONDS):
                done = await anyio.run_process([found, *arguments], input=said, check=False, env=dict(self.environment))
        except (OSError, TimeoutError) as error:
            raise NoPopups(f"`{self.program}` could not be run ({error}); take `desktop` out of `channels` if that stays so") from None
        if done.returncode:
            raise NoPopups(f"`{self.program}` ended with {done.returncode}; let it show notices, or take `desktop` out of `channels`")


def program_here() -> str | None:
    """The program that shows notices on this system; None: the session bus does."""
    return {"darwin": "osascript", "win32": "powershell"}.get(sys.platform)
