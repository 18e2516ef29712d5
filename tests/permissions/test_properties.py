"""What holds for all rules and requests: more deny never allows more, order is nothing, doubt is never allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import UsageError
from ropewalk.permissions.paths import normal
from ropewalk.permissions.policy import decide, needs
from ropewalk.permissions.request import RANK, Behavior, Context, Request
from ropewalk.permissions.rulebook import Rulebook
from ropewalk.permissions.rules import Rule, parse_rule
from ropewalk.permissions.shell import taken_apart
from ropewalk.permissions.suggest import offers

CONTEXT = Context(root="/p", home="/home/mia")
TEXTS = (
    "Bash", "Bash(git:*)", "Bash(git diff:*)", "Bash(git push)", "Bash(ls:*)", "Bash(rm:*)", "Bash(npm run test)", "Bash(cat:*)",
    "Bash(echo:*)", "Read", "Read(**)", "Read(src/**)", "Read(//**)", "Read(~/x)", "Edit", "Edit(**)", "Edit(*.txt)",
    "Edit(//tmp/**)", "Write(src/a)", "WebFetch", "WebFetch(domain:a.b)", "WebFetch(domain:*.a.b)", "mcp__a__b", "mcp__a__*",
    "mcp__a", "Task(x)", "NewTool",
)  # fmt: skip
COMMANDS = st.lists(
    st.sampled_from([
        "git diff", "git push", "ls", "rm x", "npm run test", "cat a", "echo hi", "cd src", "&&", "||", ";", "|", ">", "<",
        "a.txt", "/tmp/x", "$(", ")", "`", "'", '"', "$x", "*", "A=1", "2>&1", "\n", "{", "}", "if", "then", "fi", "<<E", "E",
        "\\", "#", "eval",
    ]),
    max_size=8,
).map(" ".join)  # fmt: skip
NAMES = st.lists(
    st.sampled_from(["src", "..", ".", "a", ".env", "x.txt", "tmp", "~", "", "SRC", "secret"]), min_size=1, max_size=5
).map("/".join)
URLS = st.lists(
    st.sampled_from(["https://", "a.b", ".", "@", "\\", "/", ":", "80", "x", "?", "#", "%2e", "\t", "é"]), max_size=7
).map("".join)
REQUESTS = st.one_of(
    COMMANDS.map(lambda command: Request("Bash", {"command": command}, "/p")),
    st.tuples(st.sampled_from(["Read", "Edit", "Write"]), NAMES).map(lambda one: Request(one[0], {"file_path": one[1]}, "/p")),
    st.tuples(st.sampled_from(["Grep", "Glob", "LS"]), NAMES, NAMES).map(
        lambda one: Request(one[0], {"path": one[1], "pattern": one[2]}, "/p")
    ),
    URLS.map(lambda url: Request("WebFetch", {"url": url}, "/p")),
    st.sampled_from(["mcp__a__b", "mcp__a__b__c", "mcp__ab__c", "Task", "NewTool", "ExitPlanMode"]).map(
        lambda tool: Request(tool, {}, "/p")
    ),
)
BEHAVIORS = st.sampled_from(("deny", "ask", "allow"))


def _rule(text: str, behavior: Behavior) -> Rule:
    return parse_rule(text, behavior, id=f"{behavior} {text}")


RULES = st.lists(st.builds(_rule, st.sampled_from(TEXTS), BEHAVIORS), max_size=6)


@given(REQUESTS, RULES, RULES)
def test_adding_deny_or_ask_rules_never_allows_more(request: Request, rules: list[Rule], more: list[Rule]) -> None:
    """*ours*"""
    before = decide(request, rules, CONTEXT)
    after = decide(request, [*rules, *(rule for rule in more if rule.behavior != "allow")], CONTEXT)
    assert RANK[after.behavior] <= RANK[before.behavior]


@given(REQUESTS, RULES, RULES)
def test_adding_allow_rules_never_takes_a_denial_away(request: Request, rules: list[Rule], more: list[Rule]) -> None:
    """*ours*"""
    before = decide(request, rules, CONTEXT)
    after = decide(request, [*rules, *(rule for rule in more if rule.behavior == "allow")], CONTEXT)
    assert before.behavior != "deny" or after.behavior == "deny"


@given(REQUESTS, RULES, st.randoms(use_true_random=False))
def test_the_order_of_rules_never_matters(request: Request, rules: list[Rule], random: st.random.Random) -> None:  # type: ignore[name-defined]
    """*ours*: not even for the reason that is given."""
    shuffled = list(rules)
    random.shuffle(shuffled)
    assert decide(request, shuffled, CONTEXT) == decide(request, rules, CONTEXT)


@given(st.one_of(COMMANDS, st.text(max_size=40)), RULES)
def test_what_can_not_be_taken_apart_is_never_allowed(command: str, rules: list[Rule]) -> None:
    """*ours*: whatever the rules say."""
    script = taken_apart(command)
    verdict = decide(Request("Bash", {"command": command}, "/p"), rules, CONTEXT)
    if script.doubt or any(part.doubt for part in script.parts):
        assert verdict.behavior != "allow"


@given(
    st.text(max_size=30),
    st.sampled_from(["", "Bash(", "Read(", "WebFetch(domain:", "mcp__"]),
    st.sampled_from(["", ")", ":*)", "*)"]),
)
def test_a_rule_is_refused_or_means_its_own_text(middle: str, start: str, end: str) -> None:
    """*ours*: a malformed rule never becomes a wider one; one that is taken is never every use of a tool unless it says so."""
    text = f"{start}{middle}{end}"
    try:
        rule = parse_rule(text, "allow")
    except UsageError as refused:
        assert "is not taken" in str(refused)
        return
    assert rule.text == text
    assert (rule.pattern is None) == ("(" not in text)


@given(REQUESTS, RULES)
def test_offers_allow_what_they_are_offered_for_and_are_never_a_whole_tool(request: Request, rules: list[Rule]) -> None:
    """*ours*: never wider than shown; plain Bash is never offered."""
    found = offers(request, rules, CONTEXT)
    assert bool(found.steps) != bool(found.once_only_because)
    for step in found.steps:
        granted = [parse_rule(text, "allow") for text in step.rules]
        assert all(rule.pattern is not None or rule.tool.startswith("mcp__") for rule in granted)
        verdict = decide(request, [*rules, *granted], CONTEXT)
        assert (verdict.behavior == "allow") == (not step.still_asked_because)


@given(REQUESTS, RULES)
def test_with_nothing_resolved_no_file_is_allowed_by_its_name(request: Request, rules: list[Rule]) -> None:
    """*ours*: a name that nobody looked up may be a link to anywhere."""
    named = [rule for rule in rules if rule.pattern is not None or rule.behavior != "allow"]
    verdict = decide(request, named, Context(root="/p", home="/home/mia", resolved={}))
    if request.tool in ("Read", "Edit", "Write", "Grep", "Glob", "LS"):
        assert verdict.behavior != "allow"


@given(REQUESTS)
def test_needs_are_absolute_names(request: Request) -> None:
    """*ours*: what the runner resolves is not a matter of its own folder."""
    assert all(path.startswith("/") for path in needs(request, home="/home/mia", root="/p").paths)


@given(NAMES)
def test_a_normal_name_stays_as_it_is(name: str) -> None:
    """*ours*"""
    once = normal(f"/{name}")
    assert normal(once) == once and once.startswith("/")
    assert not {"", ".", ".."} & set(once[1:].split("/")) or once == "/"


@given(REQUESTS, RULES)
def test_a_book_of_rules_answers_as_the_rules_do(request: Request, rules: list[Rule]) -> None:
    """*ours*"""
    assert decide(request, Rulebook(rules), CONTEXT) == decide(request, rules, CONTEXT)
