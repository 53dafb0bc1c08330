"""Every error that Remit raises on purpose, as one tree, and who each is for.

    RemitError
    ├── ConfigError          operator: all faults of the configuration at once, with file and line
    ├── WorkspaceRefused     operator: this folder may not be a workspace
    ├── ToolFailure          model: the tool ran, or could not; text it can act on
    │   └── OutcomeUnknown       it was begun, and nobody can say what became of it
    ├── NoSuchHandle         model: foreign, unknown and malformed ids, one wording for all
    ├── ModelError           run: the model's turn could not be had
    │   ├── ModelNotConfigured
    │   ├── ProviderFailed
    │   │   └── AnswerWithheld   it refused to answer: nothing is broken, and no other model is asked instead
    │   └── ScriptFault
    ├── AnswerAwaited        run: no failure; the client's own model is asked, and the run rests until it has answered
    ├── PersonAwaited        run: no failure; a person is asked whether it may go on, and it rests until they have answered
    ├── NoPlace              run: it may not begin, as many as may go on at once do
    └── StoreError           operator: what was to be stored is not
        ├── StoreLocked
        ├── StoreDamaged
        ├── StoreFull
        └── LeaseLost        another process has taken the run over; stop, write nothing

A refusal by the rules is not an error: it is a result that the model reads.
"""

from dataclasses import dataclass


class RemitError(Exception):
    """Root of the tree. `str(error)` is fit for the reader named above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong in a file that a person wrote."""

    file: str
    line: int | None
    """1-based; None where the file as a whole is at fault."""
    problem: str
    remedy: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.problem}; {self.remedy}"


class ConfigError(RemitError):
    """Settings or definitions that must not be used as they stand."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


class WorkspaceRefused(RemitError):
    """The folder is one that Remit will not hand to an agent."""


class ToolFailure(RemitError):
    """A tool could not do what was asked; the text tells the model what to do next."""


class OutcomeUnknown(ToolFailure):
    """It was sent to somebody else who may or may not have done it; it is never sent again without being asked for."""


class NoSuchHandle(RemitError):
    """An id that is foreign, unknown or malformed. The three are not told apart, on purpose."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"no {kind} with that id is yours; call session_info to see what is, or start a new one")


class ModelError(RemitError):
    """A model's turn could not be had."""


class ModelNotConfigured(ModelError):
    """No model is set, or its extra is not installed."""


class ProviderFailed(ModelError):
    """The provider answered with a failure, or not at all."""


class AnswerWithheld(ProviderFailed):
    """The provider's filter, or its model, refused to answer."""


class ScriptFault(ModelError):
    """A scripted model was run past its script, or an expectation did not hold."""


class AnswerAwaited(RemitError):
    """The client's own model is asked for the turn. Ask again when `ask_id` is over: then the answer is there."""

    def __init__(self, ask_id: str) -> None:
        super().__init__("the client's own model has not answered yet")
        self.ask_id = ask_id


class PersonAwaited(RemitError):
    """The run may not go on before a person has answered."""

    def __init__(self, prompt_id: str) -> None:
        super().__init__("a person has not answered yet")
        self.prompt_id = prompt_id


class NoPlace(RemitError):
    """A run that was to begin finds no place at an account: so many as may count there do. Nothing was written."""

    def __init__(self, account: str, taken: int) -> None:
        super().__init__(f"{taken} runs go on at once already; wait for one to end")
        self.account = account
        self.taken = taken


class StoreError(RemitError):
    """Something could not be stored or read back."""


class StoreLocked(StoreError):
    """Another process holds the database for longer than the bound."""


class StoreDamaged(StoreError):
    """The database file is not one that can be read."""


class StoreFull(StoreError):
    """The disk took no more."""


class LeaseLost(StoreError):
    """The run is another process's now; this one must not write to it."""
