"""The back end that holds nothing: only where a person or the operator set it, never because another could not be had."""

import subprocess
from dataclasses import dataclass

from mcp_server.sandbox.backend import Job, Started, nothing
from mcp_server.sandbox.limits import limited
from mcp_server.sandbox.profile import Profile

NAME = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Direct:
    """Starts commands as they are."""

    name: str = NAME
    own_temporary: bool = False
    ends_with_us: bool = False
    unlimited: bool = False
    """It runs as any program of this user's."""

    def cannot_hold(self, profile: Profile) -> tuple[str, ...]:
        return (*profile.unheld, "no sandbox is used: a command can read, change and reach whatever this user can")

    def start(self, profile: Profile, job: Job) -> Started:
        process = subprocess.Popen(  # noqa: S603 - what to run was decided by the gate
            job.argv if self.unlimited else limited(job.argv, profile.limits),
            stdin=job.input,
            stdout=job.output,
            stderr=job.complaints,
            cwd=job.cwd,
            env={**profile.environment, "TMPDIR": profile.temporary, job.mark[0]: job.mark[1]},
            start_new_session=True,
        )
        return Started(process=process, own=None, last=None, release=nothing)
