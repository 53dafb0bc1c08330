"""By what prompts may be answered: whose word counts, and what is no such word."""

import pytest

from tests.settings.ground import Ground, write


def test_all_channels_are_open_where_nobody_says_otherwise(ground: Ground):
    assert ground.load().channels == ("elicitation", "url", "app", "console", "terminal")


def test_the_persons_list_counts_as_a_whole_unless_the_operators_is_locked(ground: Ground):
    write(ground.managed_file, "channels: [terminal]")
    write(ground.user_file, "channels: [elicitation, console]")
    assert ground.load().channels == ("elicitation", "console")
    write(ground.managed_file, "channels: [terminal]\nlock: [channels]")
    settings = ground.load()
    assert settings.channels == ("terminal",)
    assert ["`channels` is not used: managed settings lock `channels`" in str(notice) for notice in settings.notices] == [True]


@pytest.mark.parametrize(
    "written", ["[console, carrier-pigeon]", "[console, console]", "[]", "console", "[desktop]", "[url, terminal]", "[webhook, desktop]"]
)
def test_what_is_no_list_of_channels_is_a_fault_with_its_place(ground: Ground, written: str):
    write(ground.user_file, f"mode: default\nchannels: {written}")
    (fault,) = ground.faults()
    assert (fault.file, fault.line) == (str(ground.user_file), 2)
    assert "channels" in fault.problem


HOOK = "webhook: {url: 'https://hooks.example.org/remit', secret_file: ~/secret}"


def test_those_who_are_only_told_are_named_beside_those_that_answer(ground: Ground):
    write(ground.user_file, f"channels: [terminal, desktop, webhook]\n{HOOK}")
    settings = ground.load()
    assert settings.channels == ("terminal", "desktop", "webhook")
    assert settings.webhook is not None
    assert settings.webhook.url == "https://hooks.example.org/remit"


def test_a_webhook_among_the_channels_needs_an_address_and_one_that_is_not_named_is_told_of(ground: Ground):
    write(ground.user_file, "mode: default\nchannels: [terminal, webhook]")
    (fault,) = ground.faults()
    assert (fault.file, "nothing says where" in fault.problem) == (f"{ground.user_file}:2", True)
    write(ground.user_file, HOOK)
    (notice,) = ground.load().notices
    assert "`webhook` is not used" in str(notice)


@pytest.mark.parametrize(
    "written",
    [
        "{secret_file: a}",
        "{url: 'https://a.example'}",
        "{url: 'https://a.example', secret_file: a, secret_env: B}",
        "{url: 'https://a.example', secret: whsec_hidden}",
        "{url: 'http://a.example', secret_file: a}",
        "{url: 'http://10.0.0.1', secret_file: a}",
        "{url: 'https://me:hidden@a.example', secret_file: a}",
        "{url: 'https://a.example/#hidden', secret_file: a}",
        "{url: 'https://a.example:hidden/', secret_file: a}",
        "{url: 'ftp://a.example', secret_file: a}",
        "{url: 'https://a.example', secret_env: 'whsec_hidden='}",
        "{url: 'https://a.example', secret_file: a, retries: 3}",
    ],
)
def test_what_cannot_be_posted_to_or_signed_for_is_a_fault_with_its_place(ground: Ground, written: str):
    write(ground.user_file, f"mode: default\nwebhook: {written}")
    faults = ground.faults()
    assert [(fault.file, fault.line) for fault in faults] == [(str(ground.user_file), 2)]
    assert "hidden" not in str(faults)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/x", "http://[::1]:1/", "http://localhost/x", "https://10.0.0.1/hook?key=1"])
def test_this_machine_itself_and_private_hosts_may_be_told(ground: Ground, url: str):
    write(ground.user_file, f"webhook: {{url: '{url}', secret_env: HOOK}}")
    hook = ground.load().webhook
    assert hook is not None
    assert hook.url == url


def test_a_workspace_names_nobody_to_be_told(ground: Ground):
    write(ground.project_file, HOOK)
    (fault,) = ground.faults()
    assert "never read from a workspace" in fault.problem
