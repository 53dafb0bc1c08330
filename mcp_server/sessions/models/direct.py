"""One turn through pydantic-ai's direct API: messages out, bounded tries, the answer back."""

from collections.abc import Awaitable, Callable
from typing import cast

import anyio
import anyio.to_thread
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from mcp_server.errors import ModelError, ModelNotConfigured, ProviderFailed
from mcp_server.records import ModelTurn
from mcp_server.sessions.models.answers import turn_of
from mcp_server.sessions.models.base import TurnRequest
from mcp_server.sessions.models.connect import model_for
from mcp_server.sessions.models.endpoints import Endpoint, ProviderLimits
from mcp_server.sessions.models.failures import failure_of, flaw_of
from mcp_server.sessions.models.history import messages_of
from mcp_server.sessions.models.names import option_prefix

STREAM = "stream"
"""The one option that is Remit's own: true asks for the answer piece by piece. It is put together before anything is done with it;
what it is good for is a provider, or something on the way to it, that gives up on long silence."""

OURS = frozenset({"timeout", "request_timeout", "first_event_timeout", "max_retries", "temperature", "top_p"})
"""Settings that an agent's `options` may not name: bounds are Remit's, and the last two have fields of their own."""

CLOSING_SECONDS = 2.0
"""How long the connection may take to close; it is given up then."""


async def turn(
    request: TurnRequest,
    endpoint: Endpoint,
    *,
    limits: ProviderLimits,
    secrets: tuple[str, ...],
    pause: Callable[[float], Awaitable[None]],
) -> ModelTurn:
    """As `ModelBackend.turn`."""
    messages = messages_of(request)
    model = await anyio.to_thread.run_sync(model_for, endpoint, secrets)
    settings = settings_of(request, endpoint, model, limits)
    streamed = bool(request.options.get(STREAM))
    parameters = ModelRequestParameters(
        function_tools=[
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema) for tool in request.tools
        ]
    )

    async def ask() -> ModelResponse:
        if not streamed:
            return await model_request(model, messages, model_settings=settings, model_request_parameters=parameters)
        pieces = model_request_stream(model, messages, model_settings=settings, model_request_parameters=parameters)
        async with pieces as stream:
            async for _ in stream:
                pass
            return stream.get()

    await model.__aenter__()
    try:
        with anyio.fail_after(limits.turn_seconds):
            response = await _answered(ask, endpoint, limits, secrets, pause, streamed=streamed)
    except TimeoutError:
        raise ProviderFailed(
            f"provider `{endpoint.provider}`, model `{endpoint.model}`: no answer in {limits.turn_seconds:g} s, all tries together"
        ) from None
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_SECONDS):
            await model.__aexit__(None, None, None)
    return turn_of(response, request, model.context_window)


async def _answered(
    ask: Callable[[], Awaitable[ModelResponse]],
    endpoint: Endpoint,
    limits: ProviderLimits,
    secrets: tuple[str, ...],
    pause: Callable[[float], Awaitable[None]],
    *,
    streamed: bool,
) -> ModelResponse:
    number = 1
    while True:
        try:
            response = await ask()
            failure = flaw_of(response, endpoint, streamed=streamed)
            if failure is None:
                return response
        except ModelError:
            raise
        except Exception as error:  # providers' libraries raise what they like; each becomes one error without secrets
            failure = failure_of(error, endpoint, secrets)
        wait = failure.wait if failure.wait is not None else limits.first_pause * 2 ** (number - 1)
        if not failure.may_pass:
            raise ProviderFailed(failure.text)
        if wait > limits.longest_pause:
            raise ProviderFailed(f"{failure.text} (it asks to wait {wait:g} s)")
        if number >= limits.tries:
            raise ProviderFailed(f"{failure.text} (tried {number} times)")
        number += 1
        await pause(max(wait, 0.0))


def settings_of(request: TurnRequest, endpoint: Endpoint, model: Model, limits: ProviderLimits) -> ModelSettings:
    """The model's settings: the agent's options, temperature and top_p, and Remit's own bounds.

    Where the provider takes marks for its prompt cache they are set, unless the agent has no tools: it speaks once, and what is put
    into a cache costs more than what is read without one.

    Raises:
        ModelNotConfigured: An option is not one that the provider's library knows.
    """
    families = ("openai_", option_prefix(endpoint.provider))
    known = frozenset(ModelSettings.__annotations__)
    options = {name: value for name, value in request.options.items() if name != STREAM}
    for option in options:
        if option in OURS or not (option in known or option.startswith(families)):
            raise ModelNotConfigured(
                f"option `{option}` of agent `{request.agent}` is not one for models: take it out of `options`, "
                f"or use one of {', '.join(sorted({*known, STREAM} - OURS))}, or one that begins with `{families[1]}`"
            )
    settings: dict[str, object] = {"cache": bool(request.tools), **options, "request_timeout": limits.try_seconds}
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.top_p is not None:
        settings["top_p"] = request.top_p
    if "max_retries" not in model.unsupported_settings:
        settings["max_retries"] = 0
    return cast(ModelSettings, cast(object, settings))
