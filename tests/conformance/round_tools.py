"""The tools by which the suite tries rounds of `input_required` on one call, 2026-07-28."""

from collections.abc import Mapping
from typing import Any

from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)

from mcp_server.protocol.calls import Request
from tests.conformance.forms import asking
from tests.conformance.plain_tools import Handler, said

Told = CallToolResult | InputRequiredResult


def form(message: str, schema: dict[str, Any]) -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def turn(text: str, tokens: int = 100) -> CreateMessageRequest:
    messages = [SamplingMessage(role="user", content=TextContent(text=text))]
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=messages, max_tokens=tokens))


NAME = form("What is your name?", asking(name="string"))
CAPITAL = turn("What is the capital of France?")
ROOTS = ListRootsRequest()


def more(requests: Mapping[str, InputRequest], state: str | None = None) -> InputRequiredResult:
    """One more round."""
    return InputRequiredResult(input_requests=dict(requests), request_state=state)


def filled(params: CallToolRequestParams, key: str, field: str) -> str | None:
    """What a form's field was given; None: it is to be asked (again)."""
    given = (params.input_responses or {}).get(key)
    value = (given.content or {}).get(field) if isinstance(given, ElicitResult) and given.action == "accept" else None
    return None if value is None else str(value)


def spoken(params: CallToolRequestParams, key: str) -> str | None:
    """What a model said."""
    given = (params.input_responses or {}).get(key)
    content = given.content if isinstance(given, CreateMessageResult) else None
    return content.text if isinstance(content, TextContent) else None


def rooted(params: CallToolRequestParams, key: str) -> str | None:
    """The roots, in words."""
    given = (params.input_responses or {}).get(key)
    return ", ".join(str(root.uri) for root in given.roots) if isinstance(given, ListRootsResult) else None


async def _elicitation(ctx: Request, params: CallToolRequestParams) -> Told:
    name = filled(params, "user_name", "name")
    return more({"user_name": NAME}) if name is None else said(f"Hello, {name}!")


async def _sampling(ctx: Request, params: CallToolRequestParams) -> Told:
    answer = spoken(params, "capital_question")
    return more({"capital_question": CAPITAL}) if answer is None else said(answer)


async def _roots(ctx: Request, params: CallToolRequestParams) -> Told:
    roots = rooted(params, "client_roots")
    return more({"client_roots": ROOTS}) if roots is None else said(f"roots: {roots}")


async def _state(ctx: Request, params: CallToolRequestParams) -> Told:
    if params.request_state != "asked" or filled(params, "confirm", "ok") is None:
        return more({"confirm": form("Please confirm", asking(ok="boolean"))}, "asked")
    return said("state-ok")


async def _several(ctx: Request, params: CallToolRequestParams) -> Told:
    given = (filled(params, "user_name", "name"), spoken(params, "greeting"), rooted(params, "client_roots"))
    if params.request_state != "asked" or None in given:
        return more({"user_name": NAME, "greeting": turn("Generate a greeting", 50), "client_roots": ROOTS}, "asked")
    return said(f"{given[1]}, {given[0]} ({given[2]})")


async def _rounds(ctx: Request, params: CallToolRequestParams) -> Told:
    match params.request_state:
        case None:
            return more({"step1": form("Step 1: What is your name?", asking(name="string"))}, "first")
        case "first":
            return more({"step2": form("Step 2: What is your favorite color?", asking(color="string"))}, "second")
        case _:
            return said("all steps are done")


async def _capabilities(ctx: Request, params: CallToolRequestParams) -> Told:
    declared = ctx.session.client_capabilities
    if params.input_responses or declared is None:
        return said("answered")
    offered: Mapping[str, InputRequest | None] = {
        "form": NAME if declared.elicitation is not None else None,
        "turn": CAPITAL if declared.sampling is not None else None,
        "roots": ROOTS if declared.roots is not None else None,
    }
    requests = {key: request for key, request in offered.items() if request is not None}
    return more(requests) if requests else said("this client can be asked nothing")


ROUNDS: Mapping[str, Handler] = {
    "test_input_required_result_elicitation": _elicitation,
    "test_input_required_result_sampling": _sampling,
    "test_input_required_result_list_roots": _roots,
    "test_input_required_result_request_state": _state,
    "test_input_required_result_multiple_inputs": _several,
    "test_input_required_result_multi_round": _rounds,
    "test_input_required_result_tampered_state": _state,
    "test_input_required_result_capabilities": _capabilities,
    "test_streaming_elicitation": _elicitation,
}
