"""Questions answered with keys, at a real terminal, on the stand-in: what the keys do is read from the stand-in's own ledger."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Desk
from tests.cli.terminal import CTRL_C, CTRL_D, ENTER, ESCAPE

pytestmark = pytest.mark.slow

RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm run:*"}], "behavior": "allow"}
LASTING = {**RULE, "destination": "localSettings"}
PASSING = {**RULE, "destination": "session"}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def bash(command: str = "npm run migrate", **more: Any) -> dict[str, Any]:
    given = {"command": command, "description": "Apply the migration"}
    denied = [{"text": "Then not: {reason}"}]
    return {"tool": "Bash", "input": given, "ask": True, "suggestions": [], "if_denied": denied, **more}


def test_a_allows_once_with_the_whole_input(desk: Desk) -> None:
    """ours: one key, one answer; the answer carries what was asked and grants nothing. Older CLIs need the whole input."""
    desk.script(bash(suggestions=[LASTING]), {"text": "Migrated."})
    with desk.terminal("run", "go") as terminal:
        card = terminal.until("a/A/d › ")
        terminal.press("a")
        assert terminal.end() == 0
    assert "◆ Run a command?   Apply the migration\n    npm run migrate\n" in card
    asked = {"command": "npm run migrate", "description": "Apply the migration"}
    assert [{k: v for k, v in answer.items() if k != "toolUseID"} for answer in desk.answers] == [
        {"behavior": "allow", "updatedInput": asked}
    ]
    assert "✓ Bash   npm run migrate" in terminal.text and "allowed once" in terminal.text
    assert terminal.text.rstrip().splitlines()[-1].startswith("done in ")


def test_d_sends_the_reason_to_the_model_and_the_turn_goes_on(desk: Desk) -> None:
    """ours (a typed reason is the message that the CLI gets; deny alone does not interrupt)"""
    desk.script(bash())
    with desk.terminal("run", "go") as terminal:
        terminal.until("a/d › ")
        terminal.press("d")
        terminal.until("reason for Claude")
        terminal.press(f"use the tëst database{ENTER}")
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert (answer["behavior"], answer["message"], answer.get("interrupt")) == ("deny", "use the tëst database", None)
    assert "Then not: use the tëst database" in terminal.text


def test_d_and_enter_denies_without_words_of_ones_own_and_ctrl_d_goes_back(desk: Desk) -> None:
    """ours: an empty message would reach older models as a schema error, so a plain sentence is sent"""
    desk.script(bash())
    with desk.terminal("run", "go") as terminal:
        terminal.until("a/d › ")
        terminal.press("d")
        terminal.until("reason for Claude")
        terminal.press(CTRL_D)
        terminal.until("a/d › ")
        assert desk.answers == []
        terminal.press("d")
        terminal.until("reason for Claude")
        terminal.press(ENTER)
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert answer["behavior"] == "deny" and answer["message"]


def test_capital_d_denies_and_ends_the_turn(desk: Desk) -> None:
    """ours"""
    desk.script(bash(), {"text": "never said"})
    with desk.terminal("run", "go") as terminal:
        terminal.until("a/d › ")
        terminal.press("D")
        assert terminal.end() == 130
    (answer,) = desk.answers
    assert (answer["behavior"], answer["interrupt"]) == ("deny", True)
    assert "stopped by you" in terminal.text and "never said" not in terminal.text


def test_a_session_grant_is_read_before_it_is_given_and_is_one_suggestion_unchanged(desk: Desk) -> None:
    """measured (all): returning all suggestions changes the mode of the session; ours: one at a time, after a y"""
    desk.script(bash(suggestions=[LASTING, PASSING, MODE]), {"text": "ok"})
    with desk.terminal("run", "go") as terminal:
        card = terminal.until("a/s/A/d › ")
        assert "A  allow, and always: Bash(npm run:*)   kept in .claude/settings.local.json" in card
        assert "s  allow, and for this session: 1 Bash(npm run:*)" in card and "2 switch to accept edits" in card
        terminal.press("s")
        terminal.until("which one? 1/2, Esc: none › ")
        terminal.press("2")
        terminal.until("Grant: switch to accept edits   (this session)? y/n › ")
        terminal.press("n")
        terminal.until("a/s/A/d › ")
        assert desk.answers == []
        terminal.press("s")
        terminal.until("which one? 1/2, Esc: none › ")
        terminal.press(ESCAPE)
        terminal.until("a/s/A/d › ")
        terminal.press("s")
        terminal.until("which one?")
        terminal.press("1")
        terminal.until("Grant: Bash(npm run:*)   (this session)? y/n › ")
        terminal.press("y")
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert answer["updatedPermissions"] == [PASSING]


def test_capital_a_grants_the_lasting_suggestion_alone(desk: Desk) -> None:
    """ours"""
    desk.script(bash(suggestions=[LASTING, MODE]), {"text": "ok"})
    with desk.terminal("run", "go") as terminal:
        terminal.until("a/s/A/d › ")
        terminal.press("A")
        terminal.until("Grant: Bash(npm run:*)   (.claude/settings.local.json)? y/n › ")
        terminal.press("y")
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert (answer["behavior"], answer["updatedPermissions"]) == ("allow", [LASTING])


def test_where_the_cli_wants_no_lasting_rule_none_is_offered(desk: Desk) -> None:
    """ours: suppress_always_allow_rule and default_to_no are honoured"""
    desk.script(bash(suggestions=[LASTING, MODE], with_question={"suppress_always_allow_rule": True, "default_to_no": True}))
    with desk.terminal("run", "go") as terminal:
        card = terminal.until("d/a › ")
        assert "once only" in card and "Bash(npm run" not in card
        terminal.press_alone("A")
        terminal.press_alone("s")
        terminal.press("d")
        terminal.until("reason for Claude")
        terminal.press(ENTER)
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert answer["behavior"] == "deny"


def test_an_offer_for_a_whole_tool_carries_a_warning(desk: Desk) -> None:
    """ours"""
    whole = {**LASTING, "rules": [{"toolName": "Bash"}]}
    desk.script(bash(suggestions=[whole]))
    with desk.terminal("run", "go") as terminal:
        assert "! every use of Bash, whatever it does" in terminal.until("a/A/d › ")
        terminal.press("D")
        assert terminal.end() == 130


def test_w_says_why_and_question_mark_helps_and_neither_answers(desk: Desk) -> None:
    """ours: the CLI's own reasons, field by field"""
    desk.script(bash(reason="Path is outside the folder", path="/tmp/x", with_question={"decision_reason_type": "workingDir"}))
    with desk.terminal("run", "go") as terminal:
        terminal.until("a/d › ")
        terminal.press("w")
        why = terminal.until("a/d › ")
        terminal.press("?")
        helped = terminal.until("a/d › ")
        assert desk.answers == []
        terminal.press("a")
        assert terminal.end() == 0
    assert "reason: Path is outside the folder" in why and "path: /tmp/x" in why and "kind: workingDir" in why
    assert "D  does not run it and ends the turn" in helped


def test_keys_from_before_the_card_and_enter_answer_nothing(desk: Desk) -> None:
    """ours: type-ahead is thrown away; so is a paste, which is no key"""
    desk.script({"text": "Working."}, {"wait": 0.5}, bash())
    with desk.terminal("run", "go", ROPEWALK_SIM_SPEED="1") as terminal:
        terminal.until("Working.")
        terminal.press("aaaa" + ENTER + "a")
        terminal.until("a/d › ")
        terminal.press_alone(ENTER)
        terminal.press_alone("allow it, always" + ENTER)
        terminal.press("w")
        terminal.until("a/d › ")
        assert desk.answers == []
        terminal.press("d")
        terminal.until("reason for Claude")
        terminal.press(ENTER)
        assert terminal.end() == 0
    assert [answer["behavior"] for answer in desk.answers] == ["deny"]


def test_the_whole_command_is_shown_and_hidden_characters_are_drawn(desk: Desk) -> None:
    """ours (F-08, S20): nobody allows what was not shown"""
    words = " ".join(f"word{number}" for number in range(80))
    command = f"echo {words}\nrm -rf ./b\u202euild \x1b[2K\u200b\r\t# \u00a0end"
    desk.script(bash(command))
    with desk.terminal("run", "go", columns=72) as terminal:
        card = terminal.until("a/d › ")
        terminal.press("D")
        assert terminal.end() == 130
    body = card.split("Apply the migration\n")[1].split("\n  a  allow once")[0]
    shown = "".join(
        line.removeprefix("  ↳ ").removeprefix("    ") for line in body.splitlines() if "hidden or control" not in line
    )
    assert shown.startswith("echo " + words) and "rm -rf ./b<U+202E>uild ␛[2K<U+200B>␍␉# <U+00A0>end" in shown
    assert "hidden or control characters in it: 5" in card
    assert all(len(line) <= 72 for line in body.splitlines())


@pytest.mark.parametrize("editor", [True, False], ids=["in $EDITOR", "on a line"])
def test_e_edits_and_the_own_version_is_shown_before_it_runs(desk: Desk, editor: bool) -> None:
    """ours: exactly the edited text runs, once; nothing can be granted with it"""
    desk.script(bash("npm run migrate", suggestions=[LASTING]), {"text": "ok"})
    if editor:
        desk.env["EDITOR"] = desk.program("editor", '#!/bin/sh\nsed -i "s/migrate/test/" "$1"\n')
    with desk.terminal("run", "go") as terminal:
        terminal.until("a/A/d › ")
        terminal.press("e")
        if not editor:
            terminal.until("new command")
            terminal.press(f"npm run test{ENTER}")
        card = terminal.until("a/d › ")
        assert "Apply the migration   your version\n    npm run test\n" in card and "allow my version once" in card
        terminal.press("a")
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert answer["updatedInput"] == {"command": "npm run test", "description": "Apply the migration"}
    assert "updatedPermissions" not in answer


def test_a_change_of_a_file_is_shown_as_a_difference_to_the_file_on_disk(desk: Desk) -> None:
    """ours (F-19)"""
    (desk.project / "total.ts").write_text("one\ntwo\nthree\n")
    given = {"file_path": str(desk.project / "total.ts"), "content": "one\nzwei\nthree\nfour\n"}
    desk.script({"tool": "Write", "input": given, "ask": True}, {"text": "ok"})
    with desk.terminal("run", "go") as terminal:
        card = terminal.until(" › ")
        terminal.press("a")
        assert terminal.end() == 0
    assert "◆ Overwrite total.ts?" in card and "+2 -1" in card
    rows = [line.strip() for line in card.splitlines()]
    assert [row for row in rows if row[:3] in ("2 -", "2 +", "4 +", "1  ", "3  ")] == [
        "1   one",
        "2 - two",
        "2 + zwei",
        "3   three",
        "4 + four",
    ]
    assert "1 file changed" in terminal.text


def test_an_unknown_tool_is_shown_whole_and_can_be_allowed_only_once(desk: Desk) -> None:
    """ours"""
    given = {"target": "moon", "options": {"deep": [1, 2]}}
    rule = {**LASTING, "rules": [{"toolName": "Hologram"}]}
    desk.script({"tool": "Hologram", "input": given, "ask": True, "suggestions": [rule]}, {"text": "ok"})
    with desk.terminal("run", "go") as terminal:
        card = terminal.until("a/d › ")
        assert "◆ Use Hologram?" in card and "moon" in card and '"deep"' in card and "once only" in card
        terminal.press("a")
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert answer["updatedInput"] == given


def test_ctrl_c_at_a_card_withdraws_it_and_interrupts_the_turn(desk: Desk) -> None:
    """measured (all): an interrupt withdraws the open question; ours: the card says so and nothing was answered"""
    desk.script(bash(), {"text": "never said"})
    with desk.terminal("run", "go") as terminal:
        terminal.until("a/d › ")
        terminal.press(CTRL_C)
        terminal.until("Claude no longer asks this.")
        assert terminal.end() == 130
        assert terminal.modes == terminal.before
    assert desk.answers == []
    assert [line["request"]["subtype"] for line in desk.said(type="control_request")] == ["initialize", "interrupt"]


def test_several_open_questions_are_asked_one_after_the_other(desk: Desk) -> None:
    """measured (all): tools that only read are asked at the same time"""
    reads = [{"tool": "Read", "input": {"file_path": f"/tmp/{name}"}, "ask": True} for name in ("one", "two")]
    desk.script({"together": reads}, {"text": "ok"})
    with desk.terminal("run", "go") as terminal:
        first = terminal.until(" › ")
        terminal.press("a")
        second = terminal.until(" › ")
        terminal.press("a")
        assert terminal.end() == 0
    assert "/tmp/one" in first and "1 more waiting" in first and "/tmp/two" in second and "waiting" not in second
    assert [answer["updatedInput"]["file_path"] for answer in desk.answers] == ["/tmp/one", "/tmp/two"]


def test_a_question_of_a_sub_agent_says_whose_it_is(desk: Desk) -> None:
    """ours"""
    agent = {"description": "Find callers", "prompt": "look", "run_in_background": False}
    desk.script({"tool": "Agent", "input": agent, "agent": [bash("grep -r total ."), {"text": "Three."}]}, {"text": "ok"})
    with desk.terminal("run", "go") as terminal:
        assert "Apply the migration   from sub-agent Find callers\n" in terminal.until("a/d › ")
        terminal.press("a")
        assert terminal.end() == 0


def test_a_card_fits_the_window_as_it_is_now(desk: Desk) -> None:
    """ours: also after it was made narrower in the midst of a turn"""
    desk.script({"text": "Working."}, {"wait": 1}, bash(" ".join(["word"] * 60)))
    with desk.terminal("run", "go", columns=120, ROPEWALK_SIM_SPEED="1") as terminal:
        terminal.until("Working.")
        terminal.resize(48)
        card = terminal.until("a/d › ")
        terminal.press("D")
        assert terminal.end() == 130
    assert "  ↳ word" in card and all(len(line) <= 48 for line in card.splitlines() if "word" in line)


def test_the_terminal_is_as_it_was_after_a_run(desk: Desk) -> None:
    """ours: single keys without echo are for questions only"""
    desk.script(bash(), {"text": "ok"})
    with desk.terminal("run", "go") as terminal:
        terminal.until("a/d › ")
        assert terminal.modes != terminal.before
        terminal.press("a")
        assert terminal.end() == 0
        assert terminal.modes == terminal.before
