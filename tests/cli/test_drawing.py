"""The pure parts of the terminal: letters, widths, differences, offers, counts. No process is started."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.cli.asked import duration, whole_id
from ropewalk.cli.card import Card
from ropewalk.cli.checks import login, version_checks
from ropewalk.cli.choices import meant
from ropewalk.cli.diff import change_of
from ropewalk.cli.grants import offers_of
from ropewalk.cli.safe import cells, cut, harmless, is_odd, letters, wrap
from ropewalk.cli.screen import Look, Screen
from ropewalk.cli.work import Work
from ropewalk.client.question import Question
from ropewalk.errors import UsageError
from ropewalk.protocol.answers import Choice, Option
from ropewalk.protocol.codec import decode, encode
from ropewalk.protocol.control import ControlRequest
from ropewalk.protocol.versions import TESTED
from ropewalk.sessions.figures import seconds
from ropewalk.sessions.tools import title_of, tool_label

ANY = st.text(st.characters(), max_size=60)
"""Lone surrogates included."""


def question(tool: str, given: dict[str, Any], **more: Any) -> Question:
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, **more}
    message = decode(encode({"type": "control_request", "request_id": "q1", "request": request}))
    assert isinstance(message, ControlRequest)
    return Question(message)


def drawn(question: Question, folder: str = "/project", width: int = 60) -> list[str]:
    return Card(Screen(Look(width=width), io.StringIO(), io.StringIO()), question, folder).lines()


# -- letters


@given(ANY)
def test_harmless_text_holds_no_control_character_but_newline_and_tab(text: str) -> None:
    """S16"""
    shown = harmless(text)
    assert all(
        char in "\n\t" or (ord(char) >= 32 and not 0x7F <= ord(char) <= 0x9F and not 0xD800 <= ord(char) <= 0xDFFF)
        for char in shown
    )
    assert harmless(shown) == shown
    shown.encode()


@given(ANY, ANY)
def test_a_sequence_in_two_pieces_is_as_harmless_as_a_whole_one(one: str, two: str) -> None:
    """ours: each character is judged by itself (line breaks of two characters aside)"""
    one, two = one.replace("\r", ""), two.replace("\r", "")
    assert harmless(one) + harmless(two) == harmless(one + two)


@given(ANY)
def test_letters_shows_every_character_that_can_not_be_seen(text: str) -> None:
    """S20: what is left is visible, and nothing that was visible is lost"""
    shown = letters(text, ascii_only=True)
    assert not any(is_odd(char) for char in shown)
    assert [char for char in text if not is_odd(char)] == [char for char in letters(text, mark=lambda token: "")]


@pytest.mark.parametrize(
    "char", list("\x1b\r\t\x9b\u202e\u2066\u200b\u200d\u00a0\u00ad\u3164\u2800\ufe0f\ufeff\ud83d\U000e0041\u2028")
)
def test_invisible_characters_are_odd(char: str) -> None:
    """ours"""
    assert is_odd(char) and letters(char) != char and letters(char).isprintable()


@given(ANY, st.integers(20, 60))
def test_wrapped_lines_are_the_line_and_fit(text: str, room: int) -> None:
    """ours: no command is cut"""
    line = text.replace("\n", "")
    pieces = wrap(line, room)
    assert "".join(pieces) == line
    assert all(cells(letters(piece).rstrip(" ")) <= room for piece in pieces)


def test_widths_count_columns() -> None:
    """ours: wide characters take two, marks none"""
    assert (cells("abc"), cells("日本"), cells("e\u0301")) == (3, 4, 1)
    assert cut("日本語です", 7) == "日本語…" and cut("short", 7) == "short"


def test_a_line_of_talk_is_the_last_gate(capsys: pytest.CaptureFixture[str]) -> None:
    """ours: whatever a drawer forgot; our own colours pass"""
    err = io.StringIO()
    screen = Screen(Look(color=True), io.StringIO(), err)
    screen.say(screen.paint("red", "bad") + " \x1b]52;c;x\x07 \x1b[5m")
    assert err.getvalue() == "\x1b[31mbad\x1b[0m ␛]52;c;x␇ ␛[5m\n"


# -- cards


def test_every_field_of_an_input_is_on_the_card() -> None:
    """ours: nobody allows what was not shown"""
    given = {
        "command": "make",
        "description": "Build",
        "timeout": 600000,
        "run_in_background": True,
        "dangerouslyDisableSandbox": True,
    }
    card = "\n".join(drawn(question("Bash", given)))
    assert "Run a command in the background?" in card and "up to 10 min 0 s" in card and "dangerouslyDisableSandbox" in card
    deep = {"a": {"b": ["one", {"c": "two words"}]}, "d": "x" * 200, "e": None, "f": 0}
    card = "\n".join(drawn(question("mcp__linear__create_issue", deep)))
    assert "◆ Use create_issue of linear?" in card
    assert all(word in card for word in ("one", "two words", "null")) and card.count("x" * 40) >= 4


def test_an_address_is_shown_whole_with_what_is_odd_about_it() -> None:
    """ours"""
    card = "\n".join(drawn(question("WebFetch", {"url": "http://ex\u0430mple.com/a?b=1", "prompt": "read"})))
    assert "http://ex\u0430mple.com/a?b=1" in card and "plain http" in card and "not spelled in plain letters" in card


def test_a_long_card_says_its_question_again_at_the_end() -> None:
    """ours: the head has left the screen by then"""
    lines = drawn(question("Bash", {"command": "\n".join(f"echo {n}" for n in range(60))}))
    assert lines[1].startswith("◆ Run a command?") and lines[-1].strip().startswith("◆ Run a command?") and len(lines) == 63


def test_an_input_that_could_not_be_read_is_shown_as_it_came() -> None:
    """ours: nested too deep for any reader; the answer returns those very bytes"""
    deep = b"[" * 3000 + b"]" * 3000
    line = (
        b'{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":'
        + deep
        + b"}}}"
    )
    message = decode(line)
    assert isinstance(message, ControlRequest)
    card = "".join(row.strip().removeprefix("↳ ") for row in drawn(Question(message)))
    assert "[" * 3000 + "]" * 3000 in card and "could not be read" in card
    nearly = {"command": "x", "deep": _nested(900)}
    assert "".join(drawn(question("Bash", nearly))).count("[") >= 900


def _nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


# -- differences


def test_a_difference_has_both_sides_numbers_and_gaps(tmp_path: Path) -> None:
    """ours"""
    (tmp_path / "a.py").write_text("\n".join(f"line {n}" for n in range(1, 31)) + "\n")
    given = {
        "file_path": "a.py",
        "edits": [{"old_string": "line 2", "new_string": "LINE 2"}, {"old_string": "line 20\n", "new_string": ""}],
    }
    change = change_of("MultiEdit", given, str(tmp_path))
    assert change is not None and (change.verb, change.more, change.less) == ("Change", 1, 2)
    assert [row for row in change.rows if row[0] in "+-"] == [("-", 2, "line 2"), ("+", 2, "LINE 2"), ("-", 20, "line 20")]
    assert ("@", 0, "") in change.rows and len(change.rows) < 20


def test_an_edit_of_other_words_shows_them_all_and_says_so(tmp_path: Path) -> None:
    """ours"""
    change = change_of("Edit", {"file_path": "gone.py", "old_string": "a\nb", "new_string": "c"}, str(tmp_path))
    assert change is not None and "compared with nothing" in change.note
    assert [row[0::2] for row in change.rows] == [("-", "a"), ("-", "b"), ("+", "c")]


@given(st.text("ab\n", max_size=30), st.text("ab\n", max_size=30))
def test_no_change_of_a_file_is_left_out(before: str, after: str) -> None:
    """ours: from the rows the new text can be told"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_text(before)
        change = change_of("Write", {"file_path": str(path), "content": after}, folder)
        assert change is not None
    assert bool(change.rows) == (before != after) or not before.strip("\n") or not after.strip("\n")
    old, new = before.removesuffix("\n").split("\n") if before else [], after.removesuffix("\n").split("\n") if after else []
    assert sum(sign == "-" for sign, _, _ in change.rows) - change.more == len(old) - len(new)
    assert all(old[number - 1] == text for sign, number, text in change.rows if sign in "-=" and number)
    assert all(new[number - 1] == text for sign, number, text in change.rows if sign == "+")


def test_a_large_change_is_shown_in_good_time(tmp_path: Path) -> None:
    """ours: a person waits"""
    (tmp_path / "big").write_text("\n".join(f"old {n}" for n in range(20_000)))
    given = {"file_path": "big", "content": "\n".join(f"new {n}" for n in range(20_000))}
    change = change_of("Write", given, str(tmp_path))
    assert change is not None and (change.more, change.less) == (20_000, 20_000)


# -- offers


def test_offers_are_put_in_words_by_their_effect_and_unknown_ones_are_left_out() -> None:
    """ours"""
    suggestions = [
        {"type": "addDirectories", "directories": ["/tmp"], "destination": "session"},
        {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "userSettings"},
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "rm:*"}],
            "behavior": "deny",
            "destination": "projectSettings",
        },
        {"type": "grantEverything", "destination": "session"},
    ]
    offers, note = offers_of(question("Bash", {"command": "x"}, permission_suggestions=suggestions))
    assert [(offer.words, offer.place, offer.lasting, bool(offer.warning)) for offer in offers] == [
        ("trust the folder /tmp", "this session", False, False),
        ("Bash", "~/.claude/settings.json", True, True),
        ("deny Bash(rm:*)", ".claude/settings.json", True, False),
    ]
    assert [offer.update for offer in offers] == suggestions[:3] and note.startswith("1 more")


# -- words and numbers


@pytest.mark.parametrize(
    ("typed", "multiple", "answer"),
    [
        ("1", False, "One"),
        ("3", False, "3"),
        ("two, or so", False, "two, or so"),
        ("1,2", False, "1,2"),
        ("1,2", True, "One, Two"),
        ("2 1", True, "Two, One"),
        ("1, other", True, "One, other"),
        ("0", True, "0"),
    ],
)
def test_what_is_typed_for_a_choice_is_labels_or_own_words(typed: str, multiple: bool, answer: str) -> None:
    """ours"""
    assert meant(Choice("Which?", None, multiple, (Option("One"), Option("Two"))), typed) == answer


@pytest.mark.parametrize(("text", "spent"), [("90", 90), ("1.5s", 1.5), ("5m", 300), ("2h", 7200)])
def test_times_are_read_with_their_unit(text: str, spent: float) -> None:
    """ours"""
    assert duration(text) == spent


@pytest.mark.parametrize("text", ["", "0", "-1", "5 minutes", "1d", "nan"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """ours"""
    with pytest.raises(UsageError):
        duration(text)


def test_times_are_said_shortly() -> None:
    """ours"""
    assert [seconds(one) for one in (0.04, 3.21, 21.2, 100, 7500)] == ["0.0 s", "3.2 s", "21 s", "1 min 40 s", "2 h 5 min"]


def test_a_session_is_found_by_a_unique_start(tmp_path: Path) -> None:
    """ours"""
    for name in ("aaaa1111-x", "aaaa2222-x", "bbbb3333-x"):
        (tmp_path / "projects" / "p").mkdir(parents=True, exist_ok=True)
        (tmp_path / "projects" / "p" / f"{name.replace('-x', '-0000')}.jsonl").touch()
    assert whole_id("bbbb", tmp_path) == "bbbb3333-0000" and whole_id("cccc", tmp_path) == "cccc"
    assert whole_id("my title", tmp_path) == "my title" and whole_id("bb", tmp_path) == "bb"
    with pytest.raises(UsageError, match="2 sessions begin with aaaa"):
        whole_id("aaaa", tmp_path)


@pytest.mark.parametrize(
    ("tool", "given", "title"),
    [
        ("Bash", {"command": "pytest -x", "description": "Run"}, "pytest -x"),
        ("Read", {"file_path": "/project/src/a.py"}, "src/a.py"),
        ("Edit", {"file_path": "/elsewhere/a.py"}, "/elsewhere/a.py"),
        ("Grep", {"pattern": "def x", "path": "/project"}, "def x"),
        ("WebFetch", {"url": "https://a.b", "prompt": "p"}, "https://a.b"),
        ("TodoWrite", {"todos": []}, "todos updated"),
        ("Agent", {"description": "Find", "prompt": "p"}, "Find"),
        ("mcp__s__t", {"title": "T"}, "T"),
        ("New", {"x": [1]}, ""),
    ],
)
def test_a_tool_is_named_by_its_one_telling_argument(tool: str, given: dict[str, Any], title: str) -> None:
    """seed 004"""
    assert title_of(tool, given, "/project") == title
    assert tool_label("mcp__linear__create_issue") == "linear create_issue"


def test_work_counts_what_was_really_done() -> None:
    """ours: a refused edit changed nothing"""
    work = Work()
    for number, name in enumerate(("Write", "Write", "Edit", "Bash")):
        given = {"file_path": "a.py" if number < 2 else "b.py", "command": "x"}
        block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        work.heed(decode(encode({"type": "assistant", "message": {"content": [block]}})))
        done = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "", "is_error": name == "Edit"}
        work.heed(decode(encode({"type": "user", "message": {"content": [done]}})))
    assert (list(work.files), work.commands, work.tools, work.summary) == (["a.py"], 1, 4, "1 file changed, 1 command")
    assert Work().summary == "no files changed"


# -- the doctor's conclusions


@pytest.mark.parametrize("version", [(2, 1, 37), (2, 1, 62), (2, 1, 120), (2, 1, 176), (2, 1, 177), (2, 1, 326), (3, 0, 0)])
def test_versions_inside_advisories_and_outside_the_tested_ones_are_named(version: tuple[int, int, int]) -> None:
    """S44; seed 002: versions outside the tested range give a notice, not a refusal"""
    found = {check.name: check.state for check in version_checks(["/bin/claude"], version)}
    assert found.pop("claude") == "ok"
    assert ("advisories" in found) == (version < (2, 1, 177))
    assert ("tested" in found) == (version not in TESTED)
    assert set(found.values()) <= {"warning"}


@pytest.mark.parametrize(
    ("account", "environ", "state", "words"),
    [
        ({"tokenSource": "none"}, {}, "warning", "/login"),
        ({}, {"ANTHROPIC_API_KEY": "k"}, "warning", "--api-billing"),
        ({"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"}, {}, "ok", "uses the key of ANTHROPIC_API_KEY"),
        (
            {"email": "mia@example.com", "subscriptionType": "Max", "tokenSource": "claude.ai"},
            {},
            "ok",
            "signed in as mia@example.com (Max)",
        ),
    ],
)
def test_the_login_is_what_the_cli_says_of_it(account: dict[str, str], environ: dict[str, str], state: str, words: str) -> None:
    """measured (all): without a key the account has tokenSource none and no apiKeySource"""
    check = login(account, environ)
    assert check.state == state and words in f"{check.words}. {check.fix}"
