"""Records as JSON text and back. Which columns stand beside the text is the business of each table's module."""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from mcp_server.records import AuditEvent, Entry, Prompt, RulingRecord, RunRecord, SessionRecord
from mcp_server.store.faults import UnreadableRow, UnwritableValue
from mcp_server.store.promised import PromisedCall

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


class Form(Generic[T]):
    """How one kind of record is written. Its validator is built at the first reading, so that importing costs nothing."""

    def __init__(self, name: str, build: Callable[[], TypeAdapter[T]]) -> None:
        self._name = name
        self._build = build

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return self._build()

    def dump(self, record: T) -> str:
        """One line of JSON. Keeps NaN and infinity, and lone surrogates, which stricter JSON would lose or refuse.

        Raises:
            UnwritableValue: It holds something that has no JSON form.
        """
        try:
            return to_json(record, inf_nan_mode="constants").decode()
        except ValueError:  # a lone surrogate, or worse
            return self._dump_loosely(record)

    def _dump_loosely(self, record: T) -> str:
        try:
            return json.dumps(asdict(record), separators=(",", ":"))
        except (ValueError, TypeError, RecursionError) as error:
            raise UnwritableValue(f"the {self._name} has no JSON form: {error}") from error

    def load(self, text: str | bytes, key: object) -> T:
        """The record that `dump` wrote. Keys that are not known are passed over.

        Raises:
            UnreadableRow: It is not one.
        """
        try:
            return self._adapter.validate_json(text)
        except ValidationError:
            return self._load_loosely(text, key)

    def _load_loosely(self, text: str | bytes, key: object) -> T:
        try:
            return self._adapter.validate_python(json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise UnreadableRow(f"the {self._name} {key} cannot be read back") from error


SESSION = Form[SessionRecord]("session", lambda: TypeAdapter(SessionRecord))
RUN = Form[RunRecord]("run", lambda: TypeAdapter(RunRecord))
ENTRY = Form[Entry]("transcript entry", lambda: TypeAdapter[Entry](Entry))
PROMPT = Form[Prompt]("prompt", lambda: TypeAdapter(Prompt))
RULING = Form[RulingRecord]("ruling", lambda: TypeAdapter(RulingRecord))
AUDIT = Form[AuditEvent]("audit event", lambda: TypeAdapter(AuditEvent))
PROMISED = Form[PromisedCall]("promised call", lambda: TypeAdapter(PromisedCall))
