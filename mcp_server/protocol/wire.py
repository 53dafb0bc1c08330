"""The one table from our values and errors to what a client reads.

Only text that was meant for the reader leaves here; everything else is *internal error* and a line in the log.
"""

from collections.abc import Mapping
from typing import cast

import structlog
from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from mcp_server.errors import ConfigError, LeaseLost, ModelError, NoSuchHandle, RemitError, StoreError, ToolFailure, WorkspaceRefused
from mcp_server.protocol.blocks import block_of
from mcp_server.records import CallEnded, Ending
from mcp_server.sessions.front import Open
from mcp_server.tools.base import ToolSpec

log = structlog.get_logger("protocol")

FROM = "remit/server"
"""The key in `_meta` of a result of another server's tool: whose it is."""

UNKEPT = (
    "[`{tool}` did what was asked. This is told as an error only because its structured content is missing, which it promises and clients "
    "insist on. Do not do it again for that.]"
)

INTERNAL = "internal error; the server's log says what happened"


def error_text(error: Exception) -> str | None:
    """What the model may read of an error; None where it is nobody's text."""
    match error:
        case ToolFailure() | NoSuchHandle() | ModelError():
            return str(error)
        case LeaseLost():
            return "another Remit process has taken this over; ask it again with task_status"
        case StoreError():
            return "Remit could not store what it must, so it did not act; the operator finds the reason in the server's log"
        case ConfigError() | WorkspaceRefused():
            return "Remit's configuration does not allow this as it stands; `remit doctor` in a terminal says what is wrong"
        case RemitError() | _:
            return None


def failure(error: Exception, tool: str) -> CallToolResult:
    """A tool error for an exception. What is not in the table, or is the operator's, is logged."""
    error = _innermost(error)
    text = error_text(error)
    if not isinstance(error, ToolFailure | NoSuchHandle):
        log.error("call failed", tool=tool, told=text or INTERNAL, exc_info=error)
    return tool_error(text or INTERNAL)


def _innermost(error: Exception) -> Exception:
    """A task group wraps what one of its tasks raised."""
    wrapped = error.exceptions if isinstance(error, ExceptionGroup) else ()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of any errors
    inner = cast(tuple[Exception, ...], wrapped)
    if len(inner) == 1:
        return _innermost(inner[0])
    return cast(Exception, error)


def tool_error(text: str) -> CallToolResult:
    """An error that the model reads."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def misfit(tool: str, error: ValidationError) -> CallToolResult:
    """The arguments do not fit the tool's schema: every fault, none of the values."""
    faults = [
        f"- {'.'.join(str(step) for step in fault['loc']) or 'arguments'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return tool_error("\n".join((f"the arguments do not fit `{tool}`:", *faults)))


def unknown_tool(tool: str, known: tuple[str, ...], wrong: tuple[str, ...]) -> CallToolResult:
    """There is no such tool. `wrong`: why that may be, a line each."""
    return tool_error("\n".join((f"there is no tool {tool[:80]!r}; the tools are {', '.join(known)}", *wrong)))


def ended(spec: ToolSpec, call: CallEnded) -> CallToolResult:
    """The result of a call. Whatever is not *done* is a tool error: a refusal must not pass for a success."""
    whose = {FROM: spec.server} if spec.server else None
    content = [block_of(part) for part in call.parts]
    if spec.promises is not None and call.structured is None and call.ending is Ending.DONE:
        content.append(TextContent(type="text", text=UNKEPT.format(tool=spec.name)))
    result = CallToolResult(content=content, is_error=call.ending is not Ending.DONE, _meta=whose)
    return _structured(spec, result, call.structured)


def waiting(spec: ToolSpec, still: Open) -> CallToolResult:
    """The call goes on without the request. No error: the model is to come back, not to try another way."""
    result = CallToolResult(content=[TextContent(type="text", text=still.text)])
    return _structured(spec, result, spec.unfinished if still.structured is None and spec.unfinished else still.structured)


def _structured(spec: ToolSpec, result: CallToolResult, structured: Mapping[str, object] | None) -> CallToolResult:
    if structured is None:
        # A client refuses a success without the promised structure and would lose the text; an error may come without.
        promised = spec.output is not None or spec.promises is not None
        return result.model_copy(update={"is_error": True}) if promised else result
    if spec.output is not None:
        try:
            spec.output.model_validate(structured)
        except ValidationError as error:
            log.error("structured result does not fit its schema", tool=spec.name, exc_info=error)
            return result.model_copy(update={"is_error": True})
    return result.model_copy(update={"structured_content": dict(structured)})
