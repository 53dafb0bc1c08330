"""One turn through pydantic-ai's direct API: messages out, bounded tries, the answer back."""

import re
from collections.abc import Awaitable, Callable
from typing import cast

import anyio
import anyio.to_thread
from pydantic_ai.direct import model_request
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
from mcp_server.sessions.models.failures import failure_of
from mcp_server.sessions.models.history import messages_of

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
    parameters = ModelRequestParameters(
        function_tools=[
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema) for tool in request.tools
        ]
    )

    async def ask() -> ModelResponse:
        return await model_request(model, messages, model_settings=settings, model_request_parameters=parameters)

    await model.__aenter__()
    try:
        with anyio.fail_after(limits.turn_seconds):
            response = await _answered(ask, endpoint, limits, secrets, pause)
    except TimeoutError:
        raise ProviderFailed(
            f"provider `{endpoint.provider}`, model `{endpoint.model}`: no answer in {limits.turn_seconds:g} s, all tries together"
        ) from None
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_SECONDS):
            await model.__aexit__(None, None, None)
    return turn_of(response, request)


async def _answered(
    ask: Callable[[], Awaitable[ModelResponse]],
    endpoint: Endpoint,
    limits: ProviderLimits,
    secrets: tuple[str, ...],
    pause: Callable[[float], Awaitable[None]],
) -> ModelResponse:
    number = 1
    while True:
        try:
            return await ask()
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

    Raises:
        ModelNotConfigured: An option is not one that the provider's library knows.
    """
    families = ("openai_", f"{re.sub('[^a-z0-9]', '_', endpoint.provider)}_")
    known = frozenset(ModelSettings.__annotations__)
    for option in request.options:
        if option in OURS or not (option in known or option.startswith(families)):
            raise ModelNotConfigured(
                f"option `{option}` of agent `{request.agent}` is not one for models: take it out of `options`, "
                f"or use one of {', '.join(sorted(known - OURS))}, or one that begins with `{families[1]}`"
            )
    settings: dict[str, object] = {**request.options, "request_timeout": limits.try_seconds}
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.top_p is not None:
        settings["top_p"] = request.top_p
    if "max_retries" not in model.unsupported_settings:
        settings["max_retries"] = 0
    return cast(ModelSettings, cast(object, settings))
