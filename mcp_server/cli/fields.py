"""The fields of another server's form in a terminal: what each is and takes, and what was typed for it."""

from mcp_server.cli.terminal import Terminal
from mcp_server.elicited import AnyField, BooleanField, ChoiceField, ChoicesField, ElicitationSubject, FormAsked, Replied
from mcp_server.sessions.elicited_words import about, fields_of
from mcp_server.sessions.fitting import fitted, kept, read
from mcp_server.sessions.offered import shown


def lines_of_field(field: AnyField) -> list[str]:
    """What a server's field is and takes; of one that is chosen from, the values by number."""
    words = [part for part in (about(field), "" if field.required else "may be left out") if part]
    taken = f" ({', '.join(words)})" if words else ""
    head = f"{shown(field.label)}{taken}{f': {shown(field.description)}' if field.description else ''}"
    options = field.options if isinstance(field, ChoiceField | ChoicesField) else ()
    return [head, *(f"    {number}  {shown(option.title or option.value)}" for number, option in enumerate(options, 1))]


def field_line(field: AnyField) -> str:
    """What stands before the place where a field's value is typed."""
    match field:
        case ChoicesField():
            return f"{shown(field.label)}, numbers with commas between: "
        case ChoiceField():
            return f"{shown(field.label)}, a number: "
        case BooleanField():
            return f"{shown(field.label)}, yes or no: "
        case _:
            return f"{shown(field.label)}: "


def value_in(field: AnyField, typed: str) -> object | None:
    """What was typed for a field. None: nothing; whether it fits is another matter."""
    return read(field, typed.split(",") if isinstance(field, ChoicesField) else [typed])


def accepted(subject: ElicitationSubject, values: dict[str, object | None]) -> str:
    """What the server is told, as it is kept.

    Raises:
        Misfit: It does not fit what was asked.
    """
    content = fitted(subject.asked, values) if isinstance(subject.asked, FormAsked) else None
    return kept(Replied(action="accept", content=content))


def put_fields(person: Terminal, subject: ElicitationSubject) -> dict[str, object | None]:
    """Each field's value as it was typed."""
    values = dict[str, object | None]()
    for field in fields_of(subject):
        for line in lines_of_field(field):
            person.say(line)
        values[field.name] = value_in(field, person.ask(field_line(field)))
    return values
