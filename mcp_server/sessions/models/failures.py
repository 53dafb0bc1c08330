"""What went wrong at a provider, in words without secrets, and whether trying again may help."""

from dataclasses import dataclass
from typing import cast

from pydantic import ValidationError
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelResponse

from mcp_server.sessions.models.endpoints import Endpoint
from mcp_server.sessions.models.scrub import scrubbed

PASSING = (ModelRateLimitError, ModelUnavailableError, ModelOverloadedError, ModelServerError, ModelConnectionError, ModelRequestTimeout)
"""Failures that may pass by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed try."""

    text: str
    may_pass: bool
    wait: float | None = None
    """Seconds that the provider asks to wait before the next try."""


def failure_of(error: Exception, endpoint: Endpoint, secrets: tuple[str, ...]) -> Failure:
    """What to say of it. Every text names the provider and the model."""
    who = f"provider `{endpoint.provider}`, model `{endpoint.model}`"
    match error:
        case ModelHTTPError():
            said = scrubbed(_message(error.body), secrets)
            text = f"{who}: HTTP {error.status_code}" + (f": {said}" if said else "")
            return Failure(text=text, may_pass=_http_may_pass(error), wait=error.retry_after)
        case ModelTimeoutError() | ModelRequestTimeout():
            return Failure(text=f"{who}: no answer in time", may_pass=True)
        case ModelConnectionError():
            at = f" at {endpoint.base_url}" if endpoint.base_url else ""
            return Failure(text=scrubbed(f"{who}: cannot be reached{at}: {_innermost(error)}", secrets), may_pass=True)
        case ModelAPIError():
            return Failure(text=scrubbed(f"{who}: {error.message}", secrets), may_pass=isinstance(error, PASSING), wait=error.retry_after)
        case UnexpectedModelBehavior():
            return Failure(text=scrubbed(f"{who}: an answer that cannot be read: {error.message}", secrets), may_pass=False)
        case ValidationError():
            return Failure(text=f"{who}: an answer that is not of the form its library knows", may_pass=True)
        case _:
            return Failure(text=scrubbed(f"{who}: {type(error).__name__}: {error}", secrets), may_pass=False)


def flaw_of(response: ModelResponse, endpoint: Endpoint, *, streamed: bool) -> Failure | None:
    """What makes an answer unfit to be one, though it came without an error. Another try may give a sound one."""
    who = f"provider `{endpoint.provider}`, model `{endpoint.model}`"
    details = response.provider_details or {}
    why = details.get("finish_reason")
    if response.state != "complete" or (streamed and not why and "refusal" not in details):
        return Failure(text=f"{who}: the answer broke off before its end", may_pass=True)
    if response.finish_reason == "error" and not response.text and not response.tool_calls:
        return Failure(text=f"{who}: an answer without content" + (f" ({why})" if why else ""), may_pass=True)
    return None


def _http_may_pass(error: ModelHTTPError) -> bool:
    if isinstance(error, ModelQuotaExceededError) or error.provider_retry_hint is False:
        return False
    return isinstance(error, PASSING) or error.status_code in (408, 429) or error.status_code >= 500


def _message(body: object) -> str:
    """The words in an error's body, in the forms that providers use."""
    if isinstance(body, dict):
        fields = cast(dict[str, object], body)
        for key in ("error", "message", "detail"):
            if fields.get(key):
                return _message(fields[key])
        return ""
    return body if isinstance(body, str) else ""


def _innermost(error: BaseException) -> str:
    """The reason at the bottom of a chain: the outer ones only say that the connection failed."""
    for _ in range(8):
        inner = error.__cause__ or error.__context__
        if inner is None or not str(inner):
            break
        error = inner
    return str(error)
