"""What a model is given for one turn: its prompt, its transcript, and the tools that it is shown."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from anyio import to_thread

from mcp_server.errors import ModelNotConfigured
from mcp_server.policy.chain import authority
from mcp_server.records import ModelTurn, SessionRecord, StoredEntry
from mcp_server.sessions.deployment import Deployment
from mcp_server.sessions.instructions import nearby
from mcp_server.sessions.models.base import ToolOffer, TurnRequest
from mcp_server.sessions.standing import GONE, Standing, standing_of
from mcp_server.sessions.toolbox import Toolbox
from mcp_server.sessions.turnstile import Turnstile
from mcp_server.tools.base import ToolSpec

PREAMBLE = (
    "You work as the agent `{agent}` in the folder {workspace}. Your tool calls pass a gate. A call that is refused stays refused: "
    "do not look for another way to the same end; say in your answer what you could not do and why. "
    "Your last message is your result; it goes to the one who gave you the task, who sees nothing else of your work."
)


class Turns:
    """Asks the back end for turns."""

    def __init__(self, deployment: Deployment, toolbox: Toolbox) -> None:
        self._deployment = deployment
        self._toolbox = toolbox
        self._offers: dict[str, ToolOffer] = {}
        """Made once."""
        self._places = Turnstile(deployment.limits.model_calls, deployment.steady)

    def place(self, session: SessionRecord) -> AbstractAsyncContextManager[float]:
        """A place among the turns that are asked for at once. Gives the seconds that it was waited for."""
        return self._places.place(session.root_id)

    def steps(self, session: SessionRecord) -> int | None:
        """The definition's own limit of turns."""
        definition = self._deployment.rulebook.definitions(session.workspace).get(session.agent)
        return definition.steps if definition else None

    def seconds(self, session: SessionRecord) -> float | None:
        """The definition's own limit of working time."""
        definition = self._deployment.rulebook.definitions(session.workspace).get(session.agent)
        return definition.timeout if definition else None

    async def turn(self, session: SessionRecord, transcript: tuple[StoredEntry, ...], trace: str = "") -> ModelTurn:
        """One turn that answers the session's whole transcript. `trace`: as in `TurnRequest`.

        Raises:
            ModelError: It could not be had.
            AnswerAwaited: A client's own model is asked for it.
        """
        standing = await standing_of(self._deployment, session)
        definition = standing.definition
        if definition is None:
            raise ModelNotConfigured(f"agent `{session.agent}`: {GONE}; define it again, or start another agent")
        rulebook = standing.rulebook
        model = rulebook.model(definition)
        if model is None:
            raise ModelNotConfigured(
                f"no model is set for agent `{session.agent}`: put `model: provider:name` into the user settings or the definition "
                "(`remit doctor` shows where)"
            )
        preamble = PREAMBLE.format(agent=session.agent, workspace=session.workspace)
        current = authority(standing.members, standing.commons, ())
        tops = [Path(folder) for folder in self._deployment.workspaces]
        instructions = await to_thread.run_sync(nearby, Path(session.workspace), tops, current)
        request = TurnRequest(
            session_id=session.id,
            agent=session.agent,
            model=model,
            fallback=rulebook.fallback(definition),
            system="\n\n".join(text for text in (definition.prompt, preamble, instructions) if text),
            transcript=transcript,
            tools=await self.offers(standing),
            temperature=definition.temperature,
            top_p=definition.top_p,
            options=definition.options,
            chain=tuple(record.id for record in standing.records),
            trace=trace,
        )
        return await self._deployment.backend.turn(request)

    async def offers(self, standing: Standing) -> tuple[ToolOffer, ...]:
        """The tools that the session's model is shown. Being shown a tool permits nothing."""
        current = authority(standing.members, standing.commons, ())
        return tuple(self._offer(spec) for spec in await self._toolbox.shown(standing, current))

    def _offer(self, spec: ToolSpec) -> ToolOffer:
        if spec.foreign is not None:
            return ToolOffer(name=spec.name, description=spec.description, schema=spec.schema())
        made = self._offers.get(spec.name)
        if made is None:
            made = self._offers[spec.name] = ToolOffer(name=spec.name, description=spec.description, schema=spec.schema())
        return made
