"""Waiting holds no coroutine: a waiter is a name and a call."""

from mcp_server.sessions.wakeups import Wakeups


def test_the_first_end_wakes_a_waiter_once_and_the_others_find_nobody() -> None:
    wakeups, heard = Wakeups(), list[str]()
    wakeups.wait("run_1", ["prm_1", "prm_2"], lambda: heard.append("run_1"))
    wakeups.over("prm_2")
    wakeups.over("prm_1")
    wakeups.over("prm_2")
    assert heard == ["run_1"]
    assert wakeups.awaited == frozenset()
    assert not wakeups.waits("run_1")


def test_all_who_wait_for_one_thing_are_woken() -> None:
    wakeups, heard = Wakeups(), list[str]()
    for name in ("run_1", "run_2"):
        wakeups.wait(name, ["prm_1"], lambda name=name: heard.append(name))
    wakeups.over("prm_1")
    assert heard == ["run_1", "run_2"]


def test_a_new_wait_replaces_the_old_one_and_who_is_forgotten_is_not_woken() -> None:
    wakeups, heard = Wakeups(), list[str]()
    wakeups.wait("run_1", ["prm_1"], lambda: heard.append("old"))
    wakeups.wait("run_1", ["prm_2"], lambda: heard.append("new"))
    wakeups.wait("run_2", ["prm_2"], lambda: heard.append("forgotten"))
    wakeups.forget("run_2")
    wakeups.over("prm_1")
    wakeups.over("prm_2")
    assert heard == ["new"]


def test_a_waiter_may_wait_again_while_it_is_woken() -> None:
    wakeups, heard = Wakeups(), list[str]()

    def again() -> None:
        heard.append("woken")
        wakeups.wait("run_1", ["prm_2"], lambda: heard.append("woken again"))

    wakeups.wait("run_1", ["prm_1"], again)
    wakeups.over("prm_1")
    wakeups.over("prm_2")
    assert heard == ["woken", "woken again"]


def test_whoever_listens_hears_what_is_rung_and_nothing_else() -> None:
    wakeups = Wakeups()
    with wakeups.listening("call_1", "orphans") as mine, wakeups.listening("call_2") as other:
        wakeups.ring("orphans")
        assert (mine.is_set(), other.is_set()) == (True, False)
        wakeups.ring_all()
        assert other.is_set()
    wakeups.ring("call_1", "call_2")
