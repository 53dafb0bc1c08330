"""The bounds of runs, from the settings that name them."""

from mcp_server.sessions.deployment import Budget, Limits
from mcp_server.settings.values import Settings


def limits_of(settings: Settings) -> Limits:
    """The settings' limits as runs use them."""
    said = settings.limits
    return Limits(
        depth=said.depth,
        children=said.children,
        model_calls=said.model_calls,
        tool_calls=said.tool_calls,
        steps=said.steps,
        run_seconds=said.timeout,
        prompt_seconds=said.prompt_deadline,
        once_seconds=settings.rulings.once_expiry,
        allow_seconds=settings.rulings.allow_expiry,
        inline_characters=said.inline_result,
        root_silence_seconds=said.root_silence,
        ruling_silence_seconds=settings.rulings.session_expiry,
        run_tokens=said.tokens,
        context_tokens=said.context_tokens,
        session_budget=Budget(**settings.session_budget.model_dump()),
        tree_budget=Budget(**settings.tree_budget.model_dump()),
    )
