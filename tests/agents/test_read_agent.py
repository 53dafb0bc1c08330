"""One agent's file: what it gives, and every fault in it with line and remedy."""

import pytest

from mcp_server.agents.definition import AgentDefinition
from mcp_server.agents.front_matter import AgentFile, read_agent
from mcp_server.policy.values import Action, Mode, Rule

WHOLE = """---
name: reviewer
description: Reviews a change.
mode: subagent
permission:
  "*": deny
  edit:
    docs/*: allow
tools: [read, edit, gh__get]
model: a:b
temperature: 0
top_p: 0.5
steps: 3
timeout: 60
hidden: true
color: "#00ff00"
options: {reasoning_effort: low, max_tokens: 100, stop: null}
permission_mode: dontAsk
prompts: deny
background: true
disable: true
---

You review.

---
Always.
"""


def read(text: str, file: str = "/x/reviewer.md") -> AgentFile:
    found = read_agent(text, file, where="user", workspace="/w", home="/h")
    assert isinstance(found, AgentFile), [str(fault) for fault in found]
    return found


def faults(text: str, file: str = "/x/reviewer.md", *, workspace: bool = False) -> list[str]:
    found = read_agent(text, file, where="workspace" if workspace else "user", workspace="/w")
    return [] if isinstance(found, AgentFile) else [str(fault) for fault in found]


def test_every_field_is_read():
    found = read(WHOLE)
    assert found.disable
    assert found.definition == AgentDefinition(
        name="reviewer",
        description="Reviews a change.",
        mode="subagent",
        permission=(
            Rule(permission="*", pattern="*", action=Action.DENY, origin="/x/reviewer.md:6"),
            Rule(permission="edit", pattern="docs/*", action=Action.ALLOW, anchored="/w/docs/*", origin="/x/reviewer.md:8"),
        ),
        tools=("read", "edit", "gh__get"),
        model="a:b",
        temperature=0,
        top_p=0.5,
        steps=3,
        timeout=60,
        hidden=True,
        color="#00ff00",
        options={"reasoning_effort": "low", "max_tokens": 100, "stop": None},
        permission_mode=Mode.DONT_ASK,
        prompts="deny",
        background=True,
        prompt="You review.\n\n---\nAlways.",
        source="/x/reviewer.md",
        where="user",
    )


def test_what_is_not_said_is_left_open():
    definition = read("---\ndescription: x\n---\nyou").definition
    assert definition == AgentDefinition(name="reviewer", description="x", prompt="you", source="/x/reviewer.md", where="user")
    assert (definition.mode, definition.permission, definition.tools, definition.prompts) == ("all", (), None, "bubble")


def test_no_tools_and_no_word_on_tools_are_told_apart():
    assert read("---\ndescription: x\ntools: []\n---\nyou").definition.tools == ()
    assert read("---\ndescription: x\n---\nyou").definition.tools is None


def test_empty_permission_is_no_rules():
    assert read("---\ndescription: x\npermission: {}\n---\nyou").definition.permission == ()


def test_a_self_rule_is_read_and_home_patterns_are_anchored():
    text = '---\ndescription: x\npermission:\n  - {permission: edit, pattern: "~/n/*", action: allow, scope: self}\n---\nyou'
    (rule,) = read(text).definition.permission
    assert (rule.scope, rule.anchored) == ("self", "/h/n/*")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_do_not_matter(end: str):
    definition = read(end.join(["---", "description: x", "---", "one", "two"])).definition
    assert (definition.description, definition.prompt) == ("x", f"one{end}two")


def test_an_agent_that_is_only_disabled_needs_nothing_else():
    assert read("---\ndisable: true\n---\n").disable


HEAD = "---\ndescription: x\n"
TAIL = "\n---\nyou\n"


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("modle: a:b", "unknown key `modle`; did you mean `mode`?"),
        ("Tools: [read]", "unknown key `Tools`; did you mean `tools`?"),
        ("zzz: 1", "unknown key `zzz`; use one of name, description, mode, permission, tools, model, fallback, temperature, top_p, steps, "
         "timeout, hidden, color, options, permission_mode, prompts, background, on_parent_end, disable"),
        ("disallowedTools: Write", "unknown key `disallowedTools`; write `permission: {edit: deny, bash: deny}`"),
        ("permissionMode: plan", "unknown key `permissionMode`; write `permission_mode`"),
        ("maxTurns: 3", "unknown key `maxTurns`; write `steps`"),
        ("allowed-tools: Bash(git:*)", "unknown key `allowed-tools`; write `permission: {bash: {'git *': allow}}`; "
         "what the model is shown is `tools: [bash]`"),
        ("prompt: you", "unknown key `prompt`; write the prompt below the front matter"),
        ("mcpServers: [gh]", "unknown key `mcpServers`; remove it: upstream servers are set in your settings"),
        ("tools: Read, Grep, LS", "`tools` is a text with commas; write a list of Remit's names: [read, grep, list]"),
        ("tools: {write: false}", "`tools` is a map of switches; list the tools to show: [read, grep]; "
         "to forbid something write `permission: {edit: deny}`"),
        ("tools: [Read]", "`Read` is not a tool (in `tools.0`); did you mean `read`?"),
        ("tools: [frobnicate]", "`frobnicate` is not a tool (in `tools.0`); use names from apply_patch, bash, bash_kill, "
         "bash_output, edit, glob, "
         "grep, list, question, read, session_info, task, task_cancel, task_status, todoread, todowrite, webfetch, websearch, write "
         "or <server>__<tool>, <server>__*"),
        ("tools:", "`tools` has no value; write one ([] for an empty list), or remove the key"),
        ("mode: sub", "`mode` has a value that does not fit; it should be 'primary', 'subagent' or 'all'"),
        ("mode: [all]", "`mode` has a value that does not fit; it should be 'primary', 'subagent' or 'all'"),
        ("mode: acceptEdits", "`mode` says how an agent is used, not what answers silence; write `permission_mode: acceptEdits`, "
         "and for `mode` one of primary, subagent, all"),
        ("model: inherit", "`model` says inherit; leave `model` out: the settings' model is used"),
        ("model: opus", "`model` is not of the form provider:model; write it so, e.g. anthropic:claude-sonnet-5"),
        ("permission_mode: plan", "`permission_mode` has a value that does not fit; it should be 'dontAsk', 'default', 'acceptEdits' "
         "or 'bypassPermissions'"),
        ("prompts: never", "`prompts` has a value that does not fit; it should be 'bubble' or 'deny'"),
        ("hidden: yes", "`hidden` has a value that does not fit; write true or false"),
        ("steps: 0", "`steps` has a value that does not fit; it should be greater than or equal to 1"),
        ("temperature: hot", "`temperature` has a value that does not fit; write a number"),
        ("top_p: 2", "`top_p` has a value that does not fit; it should be less than or equal to 1"),
        ("color: mauve", "`color` is not a colour; write #rrggbb or one of black, red, green, yellow, blue, magenta, cyan, white"),
        ("options: {api_key: x}", "`options` holds `api_key`; keys and addresses belong to `providers` in your settings"),
        ("options: {extra_headers: {a: b}}", "`options` holds `extra_headers`; keys and addresses belong to `providers` in your settings"),
        ("permission: {edit: Deny}", "`Deny` is not an action; did you mean `deny`?"),
        ("permission: {todowrite: {x: deny}}", "`todowrite` is asked with the value * alone; `x` never matches; "
         'write "*"; leave the pattern out'),
        ("name: critic", "`name` says `critic`, the file `reviewer`; make them the same, or leave `name` out"),
        ("description: y", "the key `description` stands twice, first on line 2; keep one of them"),
        ("on: x", 'the key `on` is read as true or false by some; put quotes around it: "on"'),
    ],
)  # fmt: skip
def test_a_fault_has_its_line_and_remedy(key: str, fault: str):
    said = faults(f"{HEAD}{key}{TAIL}")
    assert f"/x/reviewer.md:3: {fault}" in said
    assert len(said) == (2 if key == "on: x" else 1)


def test_all_faults_of_a_file_come_at_once_in_the_order_of_lines():
    text = "---\nmodle: x\npermission:\n  edit: no\n  bsh: deny\nmaxTurns: 1\ntools:\n---\n"
    assert [fault.partition("; ")[0] for fault in faults(text)] == [
        "/x/reviewer.md: there is no prompt",
        "/x/reviewer.md:2: `description` is missing",
        "/x/reviewer.md:2: unknown key `modle`",
        "/x/reviewer.md:4: `no` is not an action",
        "/x/reviewer.md:5: `bsh` is not a permission",
        "/x/reviewer.md:6: unknown key `maxTurns`",
        "/x/reviewer.md:7: `tools` has no value",
    ]


@pytest.mark.parametrize("text", ["", "you", "\n---\ndescription: x\n---\nyou", "---\ndescription: x\nyou", "----\n----\n"])
def test_a_file_without_front_matter_is_told_how_to_begin(text: str):
    assert faults(text) == [
        "/x/reviewer.md:1: there is no front matter; "
        "begin with a line ---, then `description: …` and more keys, then a line ---, then the prompt"
    ]


def test_a_file_without_a_prompt_is_a_fault():
    assert faults("---\ndescription: x\n---\n  \n") == ["/x/reviewer.md: there is no prompt; write it below the front matter"]


def test_a_missing_description_is_a_fault():
    assert faults("---\nsteps: 3\n---\nyou") == ["/x/reviewer.md:2: `description` is missing; say when to send this agent"]


@pytest.mark.parametrize("name", ["Reviewer", "a_b", "-a", "a b", "é", "a" * 41, "a.b"])
def test_a_name_that_is_none_is_a_fault(name: str):
    assert faults("---\ndescription: x\n---\nyou", f"/x/{name}.md") == [
        f"/x/{name}.md: `{name}` is not an agent's name; "
        "rename the file: lower-case letters, digits and -, at most 40, a letter or digit first"
    ]


@pytest.mark.parametrize("name", ["a", "0", "a-b-9", "a" * 40])
def test_a_name_in_its_form_is_taken(name: str):
    assert read("---\ndescription: x\n---\nyou", f"/x/{name}.md").definition.name == name


def test_a_workspaces_agent_may_not_bring_a_mode():
    assert faults("---\ndescription: x\npermission_mode: dontAsk\n---\nyou", workspace=True) == [
        "/x/reviewer.md:3: `permission_mode` is never read from a workspace; remove it, or define the agent in your own agents folder"
    ]
