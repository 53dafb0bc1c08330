"""By what prompts may be answered: whose word counts, and what is no such word."""

import pytest

from tests.settings.ground import Ground, write


def test_all_channels_are_open_where_nobody_says_otherwise(ground: Ground):
    assert ground.load().channels == ("elicitation", "app", "console", "terminal")


def test_the_persons_list_counts_as_a_whole_unless_the_operators_is_locked(ground: Ground):
    write(ground.managed_file, "channels: [terminal]")
    write(ground.user_file, "channels: [elicitation, console]")
    assert ground.load().channels == ("elicitation", "console")
    write(ground.managed_file, "channels: [terminal]\nlock: [channels]")
    settings = ground.load()
    assert settings.channels == ("terminal",)
    assert ["`channels` is not used: managed settings lock `channels`" in str(notice) for notice in settings.notices] == [True]


@pytest.mark.parametrize("written", ["[console, carrier-pigeon]", "[console, console]", "[]", "console"])
def test_what_is_no_list_of_channels_is_a_fault_with_its_place(ground: Ground, written: str):
    write(ground.user_file, f"mode: default\nchannels: {written}")
    (fault,) = ground.faults()
    assert (fault.file, fault.line) == (str(ground.user_file), 2)
    assert "channels" in fault.problem
