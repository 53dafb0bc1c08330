"""The terminal inbox as it is drawn: prompts above, the focused one below with its text to scroll through, one line for keys or words.

Drawing, keys, resizing and the restoring of the terminal are prompt_toolkit's, which draws only what has changed.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import ConditionalContainer, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import TextArea

from mcp_server.cli.held import CHOICES, Held
from mcp_server.cli.table import cut, plain
from mcp_server.cli.terminal import Terminal
from mcp_server.cli.whole import ended_words, lines_of
from mcp_server.gateway.cards import WORDS_CHARS, Shown
from mcp_server.records import PromptState
from mcp_server.sessions.wants import wanted
from mcp_server.sessions.wording import age_of, path_of

STYLE = Style.from_dict(
    {"focus": "reverse", "head": "bold", "over": "bold", "added": "ansigreen", "removed": "ansired", "place": "ansicyan", "foot": "reverse"}
)

HELP = (
    "j k, down up      to the next prompt, to the one before",
    "space b, PgDn PgUp   scroll the text; g G to its start and end; J K one line",
    "a                 allow once; answer a question",
    "s                 allow for the session",
    "t                 allow for it and its subagents",
    "d                 deny",
    "x                 deny for the session",
    "w                 write words to the model; they go with the next answer",
    "c                 clear what is over",
    "? h               this help, and away again",
    "q, Ctrl-C         leave; what is open stays open",
    "",
    "The keys act on the prompt that has the focus, and only once it was on the screen.",
    "Its answers, with the very rules that each would create, stand at the end of its text.",
)

Answerer = Callable[[Shown, str], None]


class InboxScreen:
    """Draws what is held, and turns keys into deeds."""

    def __init__(self, person: Terminal, held: Held, on_answer: Answerer) -> None:
        self._held = held
        self._on_answer = on_answer
        self._help = False
        self._asking: tuple[str, Callable[[str], None]] | None = None
        """What the person is typing, and what becomes of it."""
        self._wrapped: tuple[object, StyleAndTextTuples, int] = (None, [], 0)
        self._line = TextArea(multiline=False, wrap_lines=False, height=1, prompt=self._asked, accept_handler=self._typed)
        typing = Condition(lambda: self._asking is not None)
        body = Window(FormattedTextControl(self._body, focusable=True, show_cursor=False), always_hide_cursor=True)
        foot = Window(FormattedTextControl(self._foot), height=1, style="class:foot")
        rows = HSplit([body, ConditionalContainer(self._line, typing), ConditionalContainer(foot, ~typing)])
        self._home = body
        self.app: Application[int] = Application(
            layout=Layout(rows, focused_element=body),
            key_bindings=self._keys(typing),
            style=STYLE,
            full_screen=True,
            input=create_input(person.reads),
            output=create_output(person.writes),
            after_render=self._drawn,
        )

    async def run(self) -> int:
        """Until the person leaves; the exit code. The terminal is left as it was however this ends."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._fail)
        signals = [] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGHUP]
        for number in signals:
            loop.add_signal_handler(number, self.leave, 128 + number)
        try:
            return await self.app.run_async(set_exception_handler=False)
        finally:
            loop.set_exception_handler(None)
            for number in signals:
                loop.remove_signal_handler(number)

    def leave(self, code: int = 0) -> None:
        """Close the screen."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit(result=code)

    def renew(self, *, news: bool = False) -> None:
        """Draw what is held now. `news`: with a sound, where the terminal makes any."""
        if news:
            self.app.output.bell()
        self.app.invalidate()

    def ask(self, question: str, then: Callable[[str], None]) -> None:
        """Let the person type one line. Escape leaves it."""
        self._asking = (question, then)
        self._line.text = ""
        self.app.layout.focus(self._line)
        self.renew()

    # ---- keys -----------------------------------------------------------------------------------

    def _keys(self, typing: Condition) -> KeyBindings:
        keys = KeyBindings()
        moves: list[tuple[Sequence[str], Callable[[], object]]] = [
            (("j", "down"), lambda: self._held.move(1)),
            (("k", "up"), lambda: self._held.move(-1)),
            (("space", "pagedown"), lambda: self._scroll(self._room())),
            (("b", "pageup"), lambda: self._scroll(-self._room())),
            (("J",), lambda: self._scroll(1)),
            (("K",), lambda: self._scroll(-1)),
            (("g", "home"), lambda: self._scroll(-self._held.scroll)),
            (("G", "end"), lambda: self._scroll(sys.maxsize)),
            (("c",), self._held.clear),
            (("w",), self._write),
            (("?", "h"), self._toggle),
            (("q",), self.leave),
        ]
        for names, deed in moves:
            for name in names:
                keys.add(name, filter=~typing)(self._does(deed))
        for key in CHOICES:
            keys.add(key, filter=~typing)(self._answers(key))
        for name in ("c-c", "<sigint>"):
            keys.add(name)(self._does(self.leave))
        keys.add("escape", filter=typing, eager=True)(self._does(self._stop_typing))
        return keys

    def _does(self, deed: Callable[[], object]) -> Callable[[KeyPressEvent], None]:
        def done(_event: KeyPressEvent) -> None:
            self._held.note = ""
            deed()

        return done

    def _answers(self, key: str) -> Callable[[KeyPressEvent], None]:
        def done(_event: KeyPressEvent) -> None:
            self._held.note = ""
            found = None if self._help else self._held.answerable(key)
            if found is not None:
                self._on_answer(found[0], key)

        return done

    def _write(self) -> None:
        item = self._held.focused
        if item is not None and item.prompt.state is PromptState.OPEN:
            identity = item.prompt.id
            self.ask("Words to the model: ", lambda text: self._held.words.__setitem__(identity, text[:WORDS_CHARS].strip()))

    def _toggle(self) -> None:
        self._help = not self._help

    def _typed(self, _buffer: object) -> bool:
        asked, text = self._asking, self._line.text
        self._stop_typing()
        if asked is not None:
            asked[1](text)
        return False

    def _stop_typing(self) -> None:
        self._asking = None
        self.app.layout.focus(self._home)

    def _scroll(self, lines: int) -> None:
        most = max(0, self._wrapped[2] - self._room())
        self._held.scroll = min(max(0, self._held.scroll + lines), most)

    def _fail(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """What went wrong where nobody waits for it ends the screen, and is told after it."""
        error = context.get("exception")
        if isinstance(error, BaseException) and self.app.is_running and not self.app.is_done:
            self.app.exit(exception=error)

    # ---- drawing --------------------------------------------------------------------------------

    def _drawn(self, _app: object) -> None:
        self._held.seen = None if self._help else self._held.focus

    def _asked(self) -> str:
        return plain(self._asking[0]) if self._asking else ""

    def _rows(self) -> int:
        """Lines of the list: a third of the screen at most."""
        return min(len(self._held.items), max(1, self.app.output.get_size().rows // 3))

    def _room(self) -> int:
        """Lines of the focused prompt's text."""
        return max(1, self.app.output.get_size().rows - self._rows() - 3)

    def _body(self) -> StyleAndTextTuples:
        columns = self.app.output.get_size().columns
        count = self._held.waiting
        says = "nobody waits for an answer" if not count else f"{count} {'prompt waits' if count == 1 else 'prompts wait'} for you"
        drawn: StyleAndTextTuples = [("class:head", cut(f"Remit: {says}", columns)), ("", "\n")]
        if self._help:
            return [*drawn, ("", "\n"), *(("", f"{cut(line, columns)}\n") for line in HELP)]
        drawn += self._list(columns)
        drawn += [("", "─" * columns), ("", "\n")]
        return drawn + self._text(columns)

    def _list(self, columns: int) -> StyleAndTextTuples:
        rows, ids = self._rows(), self._held.ids
        place = ids.index(self._held.focus) if self._held.focus in ids else 0
        first = max(0, min(place - rows // 2, len(ids) - rows))
        drawn: StyleAndTextTuples = []
        for item in self._held.items[first : first + rows]:
            prompt, focused = item.prompt, item.prompt.id == self._held.focus
            state = "" if prompt.state is PromptState.OPEN else f"[{ended_words(prompt)}] "
            text = (
                f"{'▸' if focused else ' '} {age_of(prompt.created_at):>6}  {path_of(prompt.session_path)}: {state}{wanted(prompt)[:500]}"
            )
            drawn += [("class:focus" if focused else "", cut(plain(text), columns)), ("", "\n")]
        return drawn

    def _text(self, columns: int) -> StyleAndTextTuples:
        item = self._held.focused
        if item is None:
            return [("", "New prompts appear here by themselves.")]
        if self._wrapped[0] != (item, columns):
            pieces = [(line.kind, piece) for line in lines_of(item) for piece in wrapped(line.text, columns)]
            self._wrapped = ((item, columns), [(f"class:{kind}", piece) for kind, piece in pieces], len(pieces))
        room = self._room()
        self._held.scroll = min(self._held.scroll, max(0, self._wrapped[2] - room))
        lines = self._wrapped[1][self._held.scroll : self._held.scroll + room]
        return [part for line in lines for part in (line, ("", "\n"))][:-1]

    def _foot(self) -> StyleAndTextTuples:
        columns = self.app.output.get_size().columns
        if self._held.note:
            return [("", cut(f" {plain(self._held.note)}", columns))]
        words = self._held.words.get(self._held.focus, "") if self._held.focus is not None else ""
        below = self._wrapped[2] - self._held.scroll - self._room()
        more = f"{below} lines below (space)  " if below > 0 and self._held.items else ""
        typed = f'words: "{plain(words)}"  ' if words else ""
        return [("", cut(f" {more}{typed}a s t d x answer  w words  j k move  ? help  q quit", columns))]


def wrapped(text: str, columns: int) -> list[str]:
    """The line in pieces that fit; a piece after the first stands as far in as the line does."""
    indent = text[: min(len(text) - len(text.lstrip(" │")), columns // 2)]
    pieces, piece, width = list[str](), "", 0
    for character in text:
        wide = get_cwidth(character)
        if width + wide > columns and piece:
            pieces.append(piece)
            piece, width = indent, get_cwidth(indent)
        piece, width = piece + character, width + wide
    return [*pieces, piece]


def draws_on(person: Terminal) -> bool:
    """Is it a terminal that can be drawn upon?"""
    return sys.platform == "win32" or (os.environ.get("TERM", "") not in ("", "dumb") and person.writes.isatty())
