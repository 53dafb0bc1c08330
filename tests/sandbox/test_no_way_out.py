"""What a sandboxed command must not reach, each tried for real, and first without a sandbox to know that the trial is one."""

import os
import secrets
import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.sandbox.stage import BACKENDS, IDENTITIES, NOBODY, Line, Stage, Who, act, staged


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One of them."""

    name: str
    run: str
    by: tuple[Who, ...] = ("root", "user")
    whom: tuple[Who, ...] = ("root", "user")


WAYS = tuple(Way(**way) for way in yaml.safe_load((Path(__file__).parent / "ways_out.yaml").read_text(encoding="utf-8"))["ways"])

ESCAPEES = {
    "left running": "sleep {mark} &",
    "in a session of its own": "setsid sleep {mark} < /dev/null > /dev/null 2>&1 &",
    "a daemon": "(setsid sh -c 'exec > /dev/null 2>&1 < /dev/null; env -i sleep {mark} &' &) ; sleep 0.1",
    "deaf": "setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep {mark}; done' < /dev/null > /dev/null 2>&1 &",
    "a crowd": "for i in 1 2 3 4 5 6 7 8; do (setsid env -i sleep {mark} < /dev/null > /dev/null 2>&1 &) ; done",
    "still the command": "exec sleep {mark}",
}


def _serve(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            one, _ = listener.accept()
            with one, suppress(OSError):
                one.sendall(b"SECRET\n")


def _answer(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            _, sender = listener.recvfrom(9)
            listener.sendto(b"SECRET", sender)


@contextmanager
def _surroundings(stage: Stage) -> Generator[dict[str, str]]:
    """Programs of this machine that hold a secret each. Gives what stands in braces in the ways."""
    user = NOBODY if stage.who == "user" and os.geteuid() == 0 else os.geteuid()
    path, abstract, shared = stage.home / "s", f"remit-{secrets.token_hex(8)}", Path(f"/dev/shm/remit-{secrets.token_hex(8)}")  # noqa: S108 - hidden from commands
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        unix, hidden = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        unix.bind(str(path))
        hidden.bind(f"\0{abstract}")
        os.chown(path, user, user)
        for listener in (unix, hidden):
            listener.listen()
        for listener in (tcp, unix, hidden):
            threading.Thread(target=_serve, args=(listener,), daemon=True).start()
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=_answer, args=(udp,), daemon=True).start()
        shared.write_text("SECRET\n")
        os.chown(shared, user, user)
        stack.callback(shared.unlink)
        victim = subprocess.Popen(["/bin/sleep", "600"], env={"KEY": "SECRET"}, user=user, group=user, extra_groups=[])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        speaking = subprocess.Popen(["SECRET", "600"], executable="/bin/sleep", user=user, group=user, extra_groups=[])
        stack.callback(speaking.wait)
        stack.callback(speaking.kill)
        yield {
            "{port}": str(tcp.getsockname()[1]), "{udp}": str(udp.getsockname()[1]), "{socket}": str(path), "{abstract}": abstract,
            "{shared}": str(shared), "{victim}": str(victim.pid),
        }  # fmt: skip


def _got_out(stage: Stage, backend: str) -> dict[str, str]:
    """What printed a secret."""
    with _surroundings(stage) as around:
        lines: list[Line] = []
        for way in (way for way in WAYS if stage.who in way.whom):
            line = way.run
            for word, meant in around.items():
                line = line.replace(word, meant)
            lines.append(Line(name=way.name, run=line))
        ran = act(stage, backend, "reading", lines)
    return {name: one.output for name, one in ran.items() if "SECRET" in one.output or "LEAK" in one.output}


def _running(mark: str) -> list[str]:
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


@pytest.mark.parametrize("who", IDENTITIES)
def test_without_a_sandbox_every_way_leads_out(who: Who) -> None:
    with staged(who) as stage:
        out = _got_out(stage, "none")
    assert {way.name for way in WAYS if who in way.by and who in way.whom} - set(out) == set()


@pytest.mark.parametrize("who", IDENTITIES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_way_leads_out_of_a_sandbox(backend: str, who: Who) -> None:
    with staged(who) as stage:
        assert _got_out(stage, backend) == {}


@pytest.mark.parametrize("who", IDENTITIES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_that_a_command_started_outlives_it(backend: str, who: Who) -> None:
    mark = f"8{os.getpid()}.{BACKENDS.index(backend)}{IDENTITIES.index(who)}"
    lines = [Line(name=name, run=run.replace("{mark}", mark), seconds=3) for name, run in ESCAPEES.items()]
    with staged(who) as stage:
        ran = act(stage, backend, "reading", lines)
    assert _running(mark) == []
    assert {name: one.escaped for name, one in ran.items() if one.escaped} == {}
    assert ran["still the command"].code is None
