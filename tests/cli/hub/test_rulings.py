"""``ropewalk rules``: listed, tried on the past, made, taken back, switched; and those of Claude Code itself, for show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ropewalk.cli.verbs.rulings import ends_of, rule_meant
from ropewalk.errors import NotFound, UsageError
from ropewalk.events.views import RuleView
from ropewalk.permissions.secrets import built_in
from tests.cli.conftest import Desk
from tests.cli.hub.conftest import HubDesk

Json = dict[str, Any]
RULES = [
    {"prompt": name, "steps": [{"tool": "Bash", "input": {"command": command}, "ask": True}, {"text": "ok"}]}
    for name, command in (("lint", "npm run lint"), ("deploy", "npm run deploy"))
]


def answered(hub: HubDesk, prompt: str, *words: str) -> str:
    hub.script(rules=RULES)
    session = hub.new(prompt)
    hub.question(session)
    assert hub.ropewalk("answer", session, *words).code == 0
    hub.status(session, "idle")
    return session


def own(hub: HubDesk, *words: str) -> list[Json]:
    return [one for one in hub.json("rules", *words)["items"] if one["source"] == "store"]


@pytest.mark.slow
def test_a_rule_that_is_made_is_listed_and_one_that_is_taken_back_is_not(hub: HubDesk) -> None:
    """ours (F-42, the taking back): by its text, or a start of its id; the next request is asked again"""
    empty = hub.ropewalk("rules")
    assert empty.code == 0 and "No rules of your own yet" in empty.out and "67 built-in rules" in empty.err
    made = hub.ropewalk("rules", "add", "allow", "Bash(npm run lint)", "--in", ".", "--note", "quick")
    assert made.code == 0 and made.out.startswith("saved: allow Bash(npm run lint), ")
    listed = hub.ropewalk("rules", "ls").out
    assert "allow  Bash(npm run lint)" in listed and ": quick" in listed and str(hub.project) in listed
    hub.script(rules=RULES)
    session = hub.new("lint")
    hub.status(session, "idle")
    assert "rule Bash(npm run lint)" in hub.ropewalk("show", session).out
    assert "1, " in hub.ropewalk("rules").out, "how often, and when last"
    (rule,) = own(hub)
    assert hub.ropewalk("rules", "rm", rule["id"][:5]).out.startswith("ended: allow Bash(npm run lint)")
    assert own(hub) == [] and own(hub, "--ended")[0]["ended_why"].startswith("taken back by ")
    assert "ended: taken back" in hub.ropewalk("rules", "--ended").out
    assert hub.ropewalk("rules", "rm", "Bash(npm run lint)").code == 4
    hub.ropewalk("prompt", session, "lint")
    assert hub.question(session)["line"] == "Run: npm run lint"


@pytest.mark.slow
def test_a_rule_against_what_a_person_decided_is_read_before_it_is_saved(hub: HubDesk) -> None:
    """ours: what people said otherwise stands first; nobody's yes is no yes"""
    answered(hub, "lint", "--allow")
    answered(hub, "deploy", "--deny", "not from here")
    tried = hub.ropewalk("rules", "try", "Bash(npm run:*)")
    first, second, third, *_ = tried.out.splitlines()
    assert tried.code == 0 and first == "On the last 2 requests: 2 more allowed. It matches 2."
    assert second == "Against what people decided: 1" and third.startswith("  ! Run: npm run deploy   was DENIED by ")
    refused = hub.ropewalk("rules", "add", "allow", "Bash(npm run:*)")
    assert refused.code == 6 and "npm run deploy" in refused.err and refused.out == "" and own(hub) == []
    with hub.terminal("rules", "add", "allow", "Bash(npm run:*)") as terminal:
        terminal.until("Save it all the same? y/n ›")
        terminal.press("n")
        assert terminal.end() == 6
    assert own(hub) == []
    with hub.terminal("rules", "add", "allow", "Bash(npm run:*)") as terminal:
        terminal.until("Save it all the same? y/n ›")
        terminal.press("y")
        assert terminal.end() == 0
    assert [one["text"] for one in own(hub)] == ["Bash(npm run:*)"]
    assert hub.ropewalk("rules", "add", "deny", "Bash(npm run lint)", "--yes").code == 0
    assert hub.json("rules", "try", "deny", "Bash(npm run:*)")["total"] == 2


@pytest.mark.slow
def test_what_a_rule_said_of_another_one_is_the_same_as_on_the_page(hub: HubDesk) -> None:
    """ours (F-44): by the saved rules, part by part"""
    hub.ropewalk("rules", "add", "allow", "Bash(git status:*)")
    done = hub.ropewalk("rules", "test", "git status; rm -rf ~")
    rows = [" ".join(row.split()) for row in done.out.splitlines()]
    assert done.code == 0 and rows[0].startswith("1 git status allow allowed by Bash(git status:*)")
    assert rows[1].startswith("2 rm -rf ~ ask no rule matches") and "deletes" in rows[1]
    assert rows[2].startswith("→ ask: part 2")


@pytest.mark.slow
def test_built_in_rules_are_switched_by_their_names(hub: HubDesk) -> None:
    """ours: one, or both of a kind; what is off is seen in the list"""
    assert hub.ropewalk("rules", "off", "env:read").out == "off: deny Read(//**/.env*)   settings with passwords\n"
    listed = hub.ropewalk("rules")
    assert "switched off" in listed.out and "66 built-in rules" in listed.err
    assert len(hub.ropewalk("rules", "off", "env").out.splitlines()) == 2
    assert len(hub.ropewalk("rules", "on", "env", "--json").object["items"]) == 2
    assert hub.ropewalk("rules", "--all").out.count("built in") == len(built_in())


@pytest.mark.slow
def test_a_rule_for_a_session_and_one_with_an_end_say_so(hub: HubDesk) -> None:
    """ours"""
    session = hub.new("--title", "Taxes", "hello")
    made = hub.json("rules", "add", "allow", "Bash(make:*)", "--session", session[:4], "--for", "10m", "--uses", "3")
    assert (made["scope"], made["place"], made["ends_with"], made["uses_left"]) == ("session", session, "session", 3)
    assert "session Taxes" in hub.ropewalk("rules").out
    assert hub.ropewalk("rules", "add", "deny", "Bash(make:*)", "--uses", "3").code == 2


@pytest.mark.slow
def test_what_is_kept_being_allowed_is_suggested(hub: HubDesk) -> None:
    """ours: with the command that would make it; nothing is saved"""
    assert hub.ropewalk("rules", "suggest").out.startswith("Nothing to suggest")
    for _ in range(5):
        answered(hub, "lint", "--allow")
    said = hub.ropewalk("rules", "suggest").out
    assert "Bash(npm run lint)" in said and "approved 5 times" in said
    command = said.splitlines()[1].strip()
    assert command.startswith("ropewalk rules add allow 'Bash(npm run lint)' --in ")
    assert own(hub) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("rules", "add", "Bash(make:*)"), 2, "say what it does: ropewalk rules add allow 'Bash(make:*)'"),
        (("rules", "add", "allow"), 2, "which rule?"),
        (("rules", "add", "alow", "Bash(make:*)"), 2, "did you mean allow?"),
        (("rules", "add", "allow", "Bash(make:*"), 2, "write Bash(…) with ) at its end"),
        (("rules", "add", "allow", "ExitPlanMode"), 2, "only a person"),
        (("rules", "add", "allow", "Bash(x)", "--in", ".", "--session", "abcd"), 2, "choose one"),
        (("rules", "add", "allow", "Bash(x)", "--in", "/nowhere/at/all"), 2, "does not exist"),
        (("rules", "try", "Bash(git", "diff:*)", "x"), 2, "put it in quotes"),
        (("rules", "off", "evn"), 2, "did you mean env?"),
        (("rules", "rm", "env:read"), 2, "ropewalk rules off env:read"),
        (("rules", "rm", "nothing"), 4, "ropewalk rules lists them"),
        (("rules", "lst"), 2, "did you mean: ropewalk rules ls?"),
    ],
)
def test_wrong_words_are_one_sentence(hub: HubDesk, words: tuple[str, ...], code: int, said: str) -> None:
    """ours: what to write instead"""
    done = hub.ropewalk(*words)
    assert (done.code, done.out) == (code, "") and said in done.err and len(done.err.splitlines()) == 1, done.err


@pytest.mark.slow
def test_without_a_hub_the_list_is_three(place: HubDesk) -> None:
    """ours"""
    done = place.ropewalk("rules")
    assert done.code == 3 and "ropewalk serve" in done.err


@pytest.mark.slow
def test_a_narrow_terminal_cuts_no_rule(hub: HubDesk) -> None:
    """ours: it is what somebody decides by; the other columns give way"""
    text = "Bash(npm run a-very-long-name-of-a-script -- --with=options)"
    hub.ropewalk("rules", "add", "allow", text, "--in", ".")
    with hub.terminal("rules", columns=60) as terminal:
        assert terminal.end() == 0
    assert text in terminal.text


# -- Claude Code's own


@pytest.mark.slow
def test_the_rules_of_claude_code_are_shown_with_their_files(desk: Desk) -> None:
    """ours: no hub; what we would not take as a rule says why; a broken file is named and hides no other"""
    folder = desk.project / ".claude"
    folder.mkdir()
    settings = {"allow": ["Bash(git diff:*)", "Foo(("], "deny": ["Read(./.env)"], "defaultMode": "acceptEdits"}
    (folder / "settings.json").write_text(json.dumps({"permissions": settings}))
    (folder / "settings.local.json").write_text("{")
    own_file = desk.home / ".claude" / "settings.json"
    own_file.parent.mkdir()
    own_file.write_text(json.dumps({"permissions": {"ask": ["Bash(git push:*)"], "additionalDirectories": ["/srv"]}}))
    done = desk.ropewalk("rules", "claude")
    rows = [" ".join(row.split()) for row in done.out.splitlines()]
    assert done.code == 0 and [row.split()[0] for row in rows] == ["deny", "ask", "allow", "allow", "mode", "trusted"]
    assert rows[0].startswith("deny Read(./.env) ") and rows[1].endswith("~/.claude/settings.json")
    assert "no rule of ours: the bracket is not closed" in rows[3] and "accept edits" in rows[4] and "/srv" in rows[5]
    assert "settings.local.json is no JSON" in done.err and "before it asks anybody" in done.err
    told = desk.ropewalk("rules", "claude", "--json").object
    assert {one["source"] for one in told["items"]} == {"cli"} and len(told["items"]) == 4 and len(told["unread"]) == 1


# -- which rule, and until when


def rule(name: str, text: str, **more: Any) -> RuleView:
    return RuleView(id=name, text=text, behavior="allow", **more)


def test_a_rule_is_meant_by_its_text_or_by_one_start_of_an_id() -> None:
    """ours: two of one text are not guessed between"""
    rules = [rule("abcd1", "Bash(a)"), rule("abcd2", "Bash(b)"), rule("efgh1", "Bash(b)")]
    assert rule_meant(rules, "Bash(a)").id == "abcd1" and rule_meant(rules, "efgh").id == "efgh1"
    for word in ("abcd", "Bash(b)"):
        with pytest.raises(UsageError, match="give the id"):
            rule_meant(rules, word)
    with pytest.raises(NotFound):
        rule_meant(rules, "abc")


def test_every_end_of_a_grant_is_said() -> None:
    """ours"""
    assert ends_of(rule("a", "Bash(a)", uses_left=1, ends_with="turn")) == "after 1 more use or with its turn"
    assert ends_of(rule("a", "Bash(a)", ended_at=1.0, ended_why="it is used up")) == "ended: it is used up"
    assert ends_of(rule("a", "Bash(a)", enabled=False)) == "switched off" and ends_of(rule("a", "Bash(a)")) == ""
