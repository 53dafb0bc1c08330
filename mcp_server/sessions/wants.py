"""What a prompt asks for, in few words, the same in every list."""

from mcp_server.elicited import ElicitationSubject, LinkAsked
from mcp_server.records import ApprovalSubject, BudgetSubject, Prompt, QuestionSubject, Resource


def wanted(prompt: Prompt) -> str:
    """What is asked, without who asks it."""
    match prompt.subject:
        case ApprovalSubject(wants=wants):
            return "; ".join(wants)
        case QuestionSubject(questions=questions):
            return "; ".join(question.question for question in questions)
        case BudgetSubject() as budget:
            used, more = amount(budget.resource, budget.spent), amount(budget.resource, budget.more)
            return f"the {budget.scope}'s budget is used up ({used}); extend it by {more}?"
        case ElicitationSubject(server=server, asked=LinkAsked(host=host, message=message)):
            return f"the MCP server `{server}` wants a link to {host} opened: {message}"
        case ElicitationSubject(server=server, asked=asked):
            return f"the MCP server `{server}` asks: {asked.message}"


def amount(resource: Resource, number: float) -> str:
    """So much of it: `1,000 tokens`, `$2.50`."""
    match resource:
        case "tokens" | "prompts":
            return f"{number:,.0f} {resource}"
        case "cost":
            return f"${number:,.2f}"
        case "steps":
            return f"{number:,.0f} model turns"
        case "seconds":
            return f"{number:,.0f} s of work"
