"""Notices as prompts make them."""

from typing import Any

from mcp_server.gateway.notices.notice import Notice, Notices
from mcp_server.records import ApprovalSubject, Prompt, PromptId, PromptState
from mcp_server.redaction import Redaction
from tests.store.samples import a_prompt, a_session

CONSOLE = "http://127.0.0.1:7717"


def asks(name: str = "prm_one", *wants: str, **fields: Any) -> Prompt:
    subject = ApprovalSubject(tool="edit", arguments={"filePath": "notes.txt"}, wants=wants or ("edit notes.txt",), because=("a rule",))
    return a_prompt(a_session(), name, **{"subject": subject, **fields})


def noticed(prompt: Prompt, *, console: str | None = None, secrets: tuple[str, ...] = ()) -> Notice:
    return Notices(redacted=Redaction(secrets=secrets).text, unshown_seconds=1000.0, console=lambda _: console)(prompt)


def opened(name: str = "prm_one", **fields: Any) -> Notice:
    return noticed(asks(PromptId(name), **fields))


def over(name: str = "prm_one", **fields: Any) -> Notice:
    return noticed(asks(PromptId(name), **{"state": PromptState.WITHDRAWN, **fields}))
