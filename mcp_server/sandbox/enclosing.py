"""What the commands of a session run in, as its rules stand now: the profile, the back end, and what of it cannot be held."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

from mcp_server.policy.chain import Authority
from mcp_server.policy.values import AskRef
from mcp_server.sandbox.backend import Backend
from mcp_server.sandbox.choice import Sandbox, choose
from mcp_server.sandbox.derive import NOTHING, Approval, asked_before_writing, profile_for
from mcp_server.sandbox.direct import Direct
from mcp_server.sandbox.ground import look_around
from mcp_server.sandbox.looking import look
from mcp_server.sandbox.profile import Profile, within
from mcp_server.sandbox.tidying import TEMPORARY, tidy
from mcp_server.settings.places import Places, private_folder
from mcp_server.settings.schema import SandboxWish

NOWHERE = Direct()
"""What a line runs in that is wholly understood, where no back end can be used: nothing that it does was left unjudged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """What one line runs in."""

    profile: Profile
    backend: Backend
    missing: tuple[str, ...]
    """What of the profile this back end does not carry out, in words."""
    chosen: bool
    """Settings say that no sandbox is to be used."""
    lent: tuple[AskRef, ...]
    """What a person would have to lift so that the line may write in the workspace; see `asked_before_writing`."""

    @property
    def holds(self) -> bool:
        """All that the rules say is enforced, whatever the line does."""
        return not self.missing and not self.profile.unheld

    @property
    def own_temporary(self) -> bool:
        """What the line calls `/tmp` is the session's own folder."""
        return self.backend.own_temporary

    @property
    def words(self) -> str:
        """For the audit: what it ran in, in a few words."""
        if self.chosen:
            return "without a sandbox, as settings say"
        if self.backend is NOWHERE:
            return "without a sandbox: there is none here"
        roots = [place.path for place in self.profile.writable]
        outer = [path for path in roots if not any(path != other and within(path, other) for other in roots)]
        writing = f"writing in {', '.join(outer)}" if outer else "writing nothing"
        return f"in {self.backend.name}, {writing}, {'with' if self.profile.network else 'without'} network"


class Enclosing:
    """Draws enclosures for one server. What back end there is, is found out once."""

    def __init__(self, wish: SandboxWish, places: Places, environment: Mapping[str, str]) -> None:
        self._wish: SandboxWish = wish
        self._places = places
        self._environment = environment
        self._choosing = Lock()

    @property
    def sandbox(self) -> Sandbox:
        """The back end, tried when it is first asked for; that takes about a quarter of a second. May be called from any thread."""
        with self._choosing:
            return self._sandbox

    @cached_property
    def _sandbox(self) -> Sandbox:
        return choose(self._wish, private_folder(self._places.state))

    @property
    def words(self) -> tuple[str, ...]:
        """What lines run in, as far as it is known by now."""
        found: Sandbox | None = self.__dict__.get("_sandbox")
        return ("the sandbox has not been tried on this machine yet; ask again",) if found is None else found.words()

    def prepare(self) -> None:
        """When a server starts: take away what a crash left and temporary folders that nobody has used for long, and try what there is.
        May be called from any thread.
        """
        tidy(self._places)
        _ = self.sandbox

    def enclosure(self, authority: Authority, workspace: str, session: str, approval: Approval = NOTHING) -> Enclosure:
        """What a line of this session runs in, under the rules as they stand. Looks through the workspace."""
        sandbox = self.sandbox
        temporary = private_folder(self.temporary(session))
        profile = profile_for(
            authority,
            look_around(workspace, self._places, self._environment),
            look=look,
            temporary=str(temporary.resolve()),
            environment=self._environment,
            approval=approval,
        )
        return Enclosure(
            profile=profile,
            backend=sandbox.backend or NOWHERE,
            missing=tuple(line for line in sandbox.cannot_hold(profile) if line not in profile.unheld),
            chosen=self._wish == "none",
            lent=() if sandbox.backend is None else asked_before_writing(authority, workspace),
        )

    def temporary(self, session: str) -> Path:
        """The session's own temporary folder, which its lines see as `/tmp`."""
        return self._places.cache / TEMPORARY / session
