"""Resources, prompts and completions as the suite asks for them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ElicitResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from mcp_server.protocol.calls import Request
from tests.conformance.forms import asking
from tests.conformance.plain_tools import PIXEL, embedded
from tests.conformance.round_tools import form, more

RESOURCES = {
    "test://static-text": TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PIXEL),
    "test://watched-resource": TextResourceContents(uri="test://watched-resource", mime_type="text/plain", text="Watched."),
}
_BEFORE, _AFTER = "test://template/", "/data"


async def list_resources(ctx: Request, params: PaginatedRequestParams | None) -> ListResourcesResult:
    return ListResourcesResult(
        resources=[
            Resource(uri=uri, name=uri.removeprefix("test://"), description="See the suite.", mime_type=held.mime_type)
            for uri, held in RESOURCES.items()
        ]
    )


async def list_templates(ctx: Request, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    template = ResourceTemplate(uri_template="test://template/{id}/data", name="template", mime_type="application/json")
    return ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
    uri = str(params.uri)
    if uri in RESOURCES:
        return ReadResourceResult(contents=[RESOURCES[uri]])
    if uri.startswith(_BEFORE) and uri.endswith(_AFTER):
        given = uri.removeprefix(_BEFORE).removesuffix(_AFTER)
        text = json.dumps({"id": given, "templateTest": True, "data": f"Data for ID: {given}"})
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type="application/json", text=text)])
    raise MCPError(INVALID_PARAMS, "no such resource", {"uri": uri})


async def subscribe(ctx: Request, params: SubscribeRequestParams) -> EmptyResult:
    return EmptyResult()


async def unsubscribe(ctx: Request, params: UnsubscribeRequestParams) -> EmptyResult:
    return EmptyResult()


async def set_level(ctx: Request, params: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


async def complete(ctx: Request, params: CompleteRequestParams) -> CompleteResult:
    words = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return CompleteResult(completion=Completion(values=words, total=len(words), has_more=False))


# ---- prompts --------------------------------------------------------------------------------------

Given = Mapping[str, str]


def _messages(*contents: Any) -> list[PromptMessage]:
    return [PromptMessage(role="user", content=TextContent(text=one) if isinstance(one, str) else one) for one in contents]


def _resource(given: Given) -> list[PromptMessage]:
    held = embedded(given.get("resourceUri", ""), "Embedded resource content for testing.")
    return _messages(held, "Please process the embedded resource above.")


PROMPTS: Mapping[str, tuple[Sequence[str], Callable[[Given], list[PromptMessage]]]] = {
    "test_simple_prompt": ((), lambda _: _messages("This is a simple prompt for testing.")),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda given: _messages(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"),
    ),
    "test_prompt_with_embedded_resource": (("resourceUri",), _resource),
    "test_prompt_with_image": ((), lambda _: _messages(ImageContent(data=PIXEL, mime_type="image/png"), "Please analyze the image above.")),
    "test_input_required_result_prompt": ((), lambda given: _messages(f"Use this: {given.get('context')}")),
}
"""Each with the names of its arguments."""


async def list_prompts(ctx: Request, params: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(
        prompts=[
            Prompt(name=name, description="See the suite.", arguments=[PromptArgument(name=one, required=True) for one in arguments])
            for name, (arguments, _) in PROMPTS.items()
        ]
    )


async def get_prompt(ctx: Request, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
    if params.name not in PROMPTS:
        raise MCPError(INVALID_PARAMS, f"no prompt is called {params.name!r}")
    given = dict(params.arguments or {})
    if params.name == "test_input_required_result_prompt":
        answer = (params.input_responses or {}).get("user_context")
        if not isinstance(answer, ElicitResult):
            return more({"user_context": form("What context should the prompt use?", asking(context="string"))})
        given["context"] = str((answer.content or {}).get("context"))
    return GetPromptResult(messages=PROMPTS[params.name][1](given))
