"""How long the protocol room waits for what. One value, handed down, so that tests choose their own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Bounds, in seconds."""

    patience: float = 45.0
    """A call that no form keeps open is answered by then. Claude Desktop, claude.ai and Codex give a call about 60 s."""
    task_after: float = 0.2
    """A call of another server's tool that takes longer becomes a task, where its client takes tasks: nobody here knows how long it
    will be.
    """
    poll_every: float = 1.0
    """What a client that holds a task is told to leave between two looks. A look costs about a millisecond."""
    progress_every: float = 5.0
    """Between two progress messages. Hosts that count idle time count in minutes; people look every few seconds."""
    reflex: float = 0.1
    """A decline that comes faster was not a person's: nobody reads and answers a form in a tenth of a second, while a client
    that declines by itself over a local transport does so in a few milliseconds."""
    gather: float = 0.05
    """After the first prompt of a round, how long to look for others of the same tree: children that start together ask
    within milliseconds, and a client stops after ten rounds."""
    prompt_life: float = 600.0
    """From showing a prompt to its expiry, as the sessions room has it. Forms and sealed states outlive it by `grace`."""
    grace: float = 60.0
    """A late answer within it meets a closed prompt and gets the call's own words, not a protocol error."""
    begin: float = 15.0
    """For opening a root, beginning or rejoining a call: a few writes. Not interrupted by the client, so bounded here."""
    leave: float = 4.0
    """For clean-up when a request or a connection ends; the process is to be gone within 5 s of end-of-file."""

    @property
    def form_life(self) -> float:
        """The longest that one form stays on the wire, or that a sealed state is good for."""
        return self.prompt_life + self.grace


MAX_ROUNDS = 8
"""Rounds of `input_required` within one call, after which it ends as *waiting*. The clients' own limit is 10 by default,
past which they fail the call and lose its id."""
