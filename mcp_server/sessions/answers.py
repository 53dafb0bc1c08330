"""What a person's answer does: it closes the prompt once, and makes the rulings that the chosen offer named.

Used by every channel. Nothing here asks who may answer: the channel has made sure of that.
"""

from mcp_server.elicited import ElicitationSubject
from mcp_server.policy.values import Action, Reach, Rule
from mcp_server.policy.verdicts import Ruling, RulingId
from mcp_server.principal import same_person
from mcp_server.records import Answer, ApprovalSubject, BudgetSubject, Choice, Offer, Prompt, PromptState, QuestionSubject, RulingRecord
from mcp_server.sessions import events
from mcp_server.sessions.fitting import Misfit, reply_in
from mcp_server.sessions.prompting import tool_of
from mcp_server.store.ids import mint
from mcp_server.store.protocol import Store

ANYTHING = Rule(permission="*", pattern="*", action=Action.ALLOW)
"""The rule of a `once` ruling: its digest, not its pattern, says what it covers."""


def accepts(prompt: Prompt, answer: Answer) -> bool:
    """Is this an answer that the prompt offers? Anything else is no consent and no refusal."""
    match prompt.subject:
        case ApprovalSubject() as approval:
            return any(offer.choice is answer.choice for offer in offered_to(prompt.principal, approval, answer))
        case QuestionSubject():
            return answer.choice is None
        case BudgetSubject():
            return answer.choice in (Choice.ALLOW_ONCE, Choice.DENY)
        case ElicitationSubject() as subject:
            return answer.choice is None and not answer.roles and _said(subject, answer) is not None


def _said(subject: ElicitationSubject, answer: Answer) -> str | None:
    """What a server is to be told, but for what was typed. None: it is not an answer to what it asked."""
    try:
        return reply_in(subject.asked, answer.words).action
    except Misfit:
        return None


def offered_to(asked: str, approval: ApprovalSubject, answer: Answer) -> tuple[Offer, ...]:
    """What whoever answers may choose from. `asked`: the key of the principal whose call it is."""
    if not answer.roles:
        return approval.offers
    fit = bool(approval.answer_by) and set(approval.answer_by) <= set(answer.roles)
    return approval.role_offers if fit and not same_person(answer.by, asked) else ()


async def close_with(store: Store, prompt: Prompt, answer: Answer) -> bool:
    """Close an open prompt with a valid answer. False: it was open no more, or the answer is not one that it offers."""
    if not accepts(prompt, answer):
        return False
    current = await store.prompt(prompt.id, prompt.principal)
    if current is None or current.state is not PromptState.OPEN:
        return False
    rulings = rulings_of(current, answer)
    tool = tool_of(current)
    chosen = _said(current.subject, answer) if isinstance(current.subject, ElicitationSubject) else answer.choice and answer.choice.value
    said = f"answered: {chosen}" if chosen else "answered"
    happened = (
        events.prompted(answer.at, current, tool, said, by=answer.by),
        *(events.ruled(answer.at, record, current.session_path, "given", by=answer.by) for record in rulings),
    )
    return await store.close_prompt(current.id, PromptState.ANSWERED, answer=answer, rulings=rulings, events=happened)


def rulings_of(prompt: Prompt, answer: Answer) -> tuple[RulingRecord, ...]:
    """The rulings that this answer makes. `once` makes one for each waiting call, and no more."""
    if not isinstance(prompt.subject, ApprovalSubject) or answer.choice is None:
        return ()
    subject = prompt.subject
    grants = next(offer.grants for offer in offered_to(prompt.principal, subject, answer) if offer.choice is answer.choice)
    lasts_until = answer.at + prompt.allow_seconds
    match answer.choice:
        case Choice.DENY:
            return ()
        case Choice.ALLOW_ONCE:
            # whoever asked may be away when somebody else has answered
            expires = answer.at + (prompt.allow_seconds if answer.roles else prompt.once_seconds)
            return tuple(_record(prompt, subject, answer, ANYTHING, Reach.ONCE, expires) for _ in prompt.calls)
        case Choice.ALLOW_SESSION:
            return tuple(_record(prompt, subject, answer, rule, Reach.SESSION, lasts_until) for rule in grants)
        case Choice.ALLOW_TREE:
            return tuple(_record(prompt, subject, answer, rule, Reach.TREE, lasts_until) for rule in grants)
        case Choice.DENY_SESSION:  # takes nothing from anybody's safety: it stands until its session ends or a person revokes it
            return tuple(_record(prompt, subject, answer, rule, Reach.SESSION, None) for rule in grants)


def _record(prompt: Prompt, subject: ApprovalSubject, answer: Answer, rule: Rule, reach: Reach, expires_at: float | None) -> RulingRecord:
    ruling = Ruling(
        id=RulingId(mint("rul")),
        session_id=prompt.session_id,
        reach=reach,
        rule=rule,
        answers=subject.asks,
        digest=prompt.digest if reach is Reach.ONCE else None,
        roles=answer.roles,
    )
    return RulingRecord(
        ruling=ruling,
        action=rule.action,
        principal=prompt.principal,
        root_id=prompt.root_id,
        given_by=answer.by,
        channel=answer.channel,
        prompt_id=prompt.id,
        created_at=answer.at,
        expires_at=expires_at,
    )
