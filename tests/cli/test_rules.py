"""``ropewalk rules test``: what rules would do with a request, tried without a hub. Nothing that is tested may run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from ropewalk.cli import pages
from ropewalk.cli.rules_pages import RULES_PAGES
from tests.cli.conftest import Desk

pytestmark = pytest.mark.slow

Json = dict[str, Any]
EXAMPLES = [match[1] for match in re.finditer(r"^  (ropewalk .*?)(?:   .*)?$", RULES_PAGES["rules test"], re.MULTILINE)]


def request(command: str, *allow: str, **more: Any) -> Json:
    rules: Json = {"allow": list(allow), **{key: more.pop(key) for key in ("ask", "deny") if key in more}}
    return {"tool": "Bash", "input": {"command": command}, "cwd": "/home/mia/shop", "rules": rules, **more}


def tried(desk: Desk, asked: Json, *words: str) -> Json:
    done = desk.ropewalk("rules", "test", *words, stdin=json.dumps(asked))
    assert done.code == 0, done.err
    return done.object


def lines(desk: Desk, text: str | bytes, *words: str) -> list[Json]:
    done = desk.ropewalk("rules", "test", "--jsonl", *words, stdin=text)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def mine(desk: Desk) -> Desk:
    (desk.project / "my.toml").write_text(
        '[rules]\nallow = ["Bash(git status:*)", "Read(src/**)"]\ndeny = ["Bash(npm publish:*)"]\n'
    )
    return desk


# -- one


def test_a_request_in_json_is_answered_with_every_part_and_its_own_verdict(desk: Desk) -> None:
    """ours: no hub is needed where rules are given"""
    assert tried(desk, request("git status; rm -rf ~", "Bash(git:*)")) == {
        "behavior": "ask",
        "because": "part 2, rm -rf ~: no rule matches",
        "parts": [
            {"text": "git status", "kind": "command", "verdict": "allow", "because": "allowed by Bash(git:*)", "tags": []},
            {
                "text": "rm -rf ~",
                "kind": "command",
                "verdict": "ask",
                "because": "no rule matches",
                "tags": ["deletes", "writes outside the folder"],
            },
        ],
    }


def test_a_command_by_hand_is_drawn_part_by_part(mine: Desk) -> None:
    """ours (F-44): exit 0 whatever the verdict, and the part that it is for is named"""
    done = mine.ropewalk("rules", "test", "--rules", "my.toml", "git status; rm -rf ~")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "1  git status  allow  allowed by Bash(git status:*) (my.toml)",
        "2  rm -rf ~    ask    no rule matches · deletes · writes outside the folder",
        "→ ask: part 2, rm -rf ~: no rule matches",
    ]
    denied = mine.ropewalk("rules", "test", "--rules", "my.toml", "--ascii", "npm publish")
    assert (denied.code, denied.out.splitlines()[-1]) == (0, "-> deny: denied by Bash(npm publish:*) (my.toml)")


def test_a_narrow_terminal_wraps_the_reasons_and_colours_only_the_verdicts(mine: Desk) -> None:
    """ours: nothing is cut that a person decides by"""
    with mine.terminal("rules", "test", "--rules", "my.toml", "git status; rm -rf ~ \x1b[2J", columns=50) as terminal:
        assert terminal.end() == 0
    assert max(len(line) for line in terminal.text.splitlines()) <= 50
    assert all(word in terminal.text for word in ("outside", "folder", "␛[2J", "→ ask: ")) and b"\x1b[2J" not in terminal.raw


def test_the_rules_about_secrets_count_beside_the_given_ones(desk: Desk) -> None:
    """ours: whoever allows everything does not allow those"""
    secret = {**request(""), "tool": "Read", "input": {"file_path": "web/.env"}, "rules": {"allow": ["Read"]}}
    assert tried(desk, secret)["behavior"] == "deny"
    assert tried(desk, request("cat web/.env", "Bash(cat:*)"))["behavior"] == "deny"
    assert tried(desk, {**secret, "input": {"file_path": "web/a.py"}})["behavior"] == "allow"


def test_the_word_on_the_command_line_is_what_each_tool_is_about(mine: Desk) -> None:
    """ours: and --input says all of what it gets"""

    def verdict(*words: str) -> str:
        return str(mine.ropewalk("rules", "test", "--rules", "my.toml", "--json", *words).object["behavior"])

    assert verdict("--tool", "Read", "src/a.py") == "allow"
    assert verdict("--tool", "Read", "other/a.py") == "ask"
    assert verdict("--tool", "Read", "--input", '{"file_path": "src/a.py"}') == "allow"
    assert verdict("--tool", "mcp__db__query", "--input", "{}") == "ask"


def test_rules_come_from_toml_or_json(desk: Desk) -> None:
    """ours: a folder's rules, and what a file switches off, count as they do in the hub's file"""
    (desk.project / "a.json").write_text('{"rules": {"allow": ["Bash(ls:*)"]}}')
    (desk.project / "b.json").write_text('{"allow": ["Bash(ls:*)"]}')
    folder = f'[[folder]]\npath = "{desk.project}"\nallow = ["Bash(ls:*)", "Read(**)"]\n[built_in]\noff = ["env"]\n'
    (desk.project / "c.toml").write_text(folder)
    for name in ("a.json", "b.json", "c.toml"):
        assert desk.ropewalk("rules", "test", "--rules", name, "--json", "ls -l").object["behavior"] == "allow", name
    assert desk.ropewalk("rules", "test", "--rules", "c.toml", "--cwd", "/", "--json", "ls").object["behavior"] == "ask"
    assert desk.ropewalk("rules", "test", "--rules", "c.toml", "--json", "--tool", "Read", ".env").object["behavior"] == "allow"


def test_links_are_followed_where_the_folder_exists(mine: Desk) -> None:
    """CVE-2025-59829, CVE-2026-25724: a rule's folder is not left through a link"""
    (mine.project / "src").mkdir()
    (mine.project / "src/a.py").touch()
    (mine.project / "src/out").symlink_to("/etc")
    (mine.project / "src/round").symlink_to("round")
    by_hand = ("rules", "test", "--rules", "my.toml", "--json", "--tool", "Read")
    assert mine.ropewalk(*by_hand, "src/a.py").object["behavior"] == "allow"
    assert mine.ropewalk(*by_hand, "src/out/passwd").object["behavior"] == "ask"
    assert mine.ropewalk(*by_hand, "src/round").object["behavior"] == "ask"
    asked = {
        "tool": "Read",
        "input": {"file_path": "src/out/passwd"},
        "cwd": str(mine.project),
        "rules": {"allow": ["Read(src/**)"]},
    }
    assert tried(mine, asked)["behavior"] == "ask"
    assert lines(mine, json.dumps(asked))[0]["behavior"] == "allow"
    assert lines(mine, json.dumps(asked), "--resolve")[0]["behavior"] == "ask"


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (("--rules", "none.toml", "ls"), None, "none.toml can't be read"),
        (("--rules", "bad.toml", "ls"), None, "Bash(gh:*"),
        (("--rules", "my.toml", "--input", "{", "--tool", "Read"), None, "--input is a JSON object"),
        (("--rules", "my.toml", "--input", "{}", "ls"), None, "choose one"),
        (("--rules", "my.toml", "--tool", "mcp__x__y", "z"), None, "say it with --input"),
        (("--rules", "my.toml", "--jsonl", "ls"), None, "leave COMMAND and --input out"),
        (("--rules", "my.toml", "--color", "blue", "ls"), None, "there are auto, always, never"),
        ((), "", "not one request in JSON"),
        ((), "[]", "a JSON object"),
        ((), '{"tool": "Bash"}', "input is an object"),
        ((), '{"input": {}}', "names no tool"),
        ((), '{"tool": "Bash", "input": {}, "cwd": "src"}', "absolute path"),
        ((), '{"tool": "Bash", "input": {}, "rules": []}', "allow, ask and deny"),
        ((), '{"tool": "Bash", "input": {}, "rules": {"allow": "ls"}}', "allow is a list"),
        ((), '{"tool": "Bash", "input": {}, "rules": {"alow": []}}', "alow"),
        ((), '{"tool": "Bash", "input": {}, "rules": {"allow": ["Bash(gh:*"]}}', "not closed"),
        ((), '{"tool": "Bash", "input": {}}\n{"tool": "Bash", "input": {}}', "not one request in JSON"),
        ((), "[" * 100_000, "nested too deep"),
    ],
)  # fmt: skip
def test_wrong_usage_is_two_in_one_line(mine: Desk, words: tuple[str, ...], stdin: str | None, said: str) -> None:
    """ours: a malformed rule never becomes a wider one"""
    (mine.project / "bad.toml").write_text('[rules]\nallow = ["Bash(gh:*"]\n')
    done = mine.ropewalk("rules", "test", *words, stdin=stdin)
    assert (done.code, done.out) == (2, "") and said in done.err and len(done.err.splitlines()) == 1


def test_without_rules_and_without_a_hub_it_says_both_ways_out(desk: Desk) -> None:
    """ours: exit 3"""
    for done in (desk.ropewalk("rules", "test", "ls"), desk.ropewalk("rules", "test", stdin='{"tool": "Bash", "input": {}}')):
        assert (done.code, done.out) == (3, "")
        assert "ropewalk serve" in done.err and "--rules FILE" in done.err and len(done.err.splitlines()) == 1


@pytest.fixture
def hub(mine: Desk) -> Iterator[list[Json]]:
    """What was asked of something that answers as a hub does."""
    asked: list[Json] = []

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked.append({"path": self.path, **json.loads(self.rfile.read(int(self.headers["content-length"])))})
            parts = [{"text": "ls", "kind": "command", "verdict": "deny"}]
            body = json.dumps({"behavior": "deny", "because": "Mia said so", "parts": parts, "rule": "r1"}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        served = Thread(target=server.serve_forever)
        served.start()
        mine.env |= {"ROPEWALK_URL": f"http://127.0.0.1:{server.server_port}", "ROPEWALK_TOKEN": "t"}
        yield asked
        server.shutdown()
        served.join(30)


def test_without_rules_the_hub_is_asked_for_its_own(mine: Desk, hub: list[Json]) -> None:
    """ours: the same answer, wherever it was made; with rules it hears of nothing"""
    asked = {"tool": "Bash", "input": {"command": "ls \ud83d"}, "cwd": "/x"}
    told = tried(mine, asked)
    assert hub == [{"path": "/api/v1/rules/test", **asked}]
    part = {"text": "ls", "kind": "command", "verdict": "deny", "because": "", "tags": []}
    assert told == {"behavior": "deny", "because": "Mia said so", "parts": [part]}
    given = "\n".join(json.dumps(one) for one in (asked, request("ls", "Bash(ls)"), asked))
    assert [one["behavior"] for one in lines(mine, given)] == ["deny", "allow", "deny"]
    assert mine.ropewalk("rules", "test", "ls").out.splitlines()[-1] == "→ deny: Mia said so"
    assert mine.ropewalk("rules", "test", "--rules", "my.toml", "ls").code == 0 and len(hub) == 4


# -- many


def test_each_line_in_is_one_line_out_in_the_same_order(desk: Desk) -> None:
    """ours: what can't be read is said in its place"""
    given = [
        json.dumps(request("ls", "Bash(ls:*)")),
        "",
        "not json",
        "[" * 100_000,
        '{"tool": "Bash", "input": {"command": "\\ud83d"}, "rules": {"allow": ["Bash"]}}',
        json.dumps(request("ls", "Bash(ls")),
        '{"tool": "Bash", "input": {"command": "ls"}, "cwd": "/x"}',
        json.dumps({**request("", "Read"), "tool": "Read", "input": {"file_path": "x\u2028\x85y"}}),
        json.dumps(request("ls; rm x", "Bash(ls:*)", deny=["Bash(rm:*)"])),
    ]
    done = desk.ropewalk(
        "rules", "test", "--jsonl", stdin="\n".join(given).encode() + b'\n{"tool": "\xff"}\n' + given[0].encode()
    )
    told = [json.loads(line) for line in done.out.split("\n")[:-1]]
    assert [one.get("behavior", "error") for one in told] == [
        "allow", "error", "error", "error", "ask", "error", "error", "ask", "deny", "error", "allow",
    ]  # fmt: skip
    assert done.code == 3 and "--rules FILE" in told[6]["error"]
    assert lines(desk, b"") == []


def test_rules_from_a_file_hold_for_the_lines_that_bring_none(mine: Desk) -> None:
    """ours: and none of them needs a hub"""
    bare = {name: value for name, value in request("git status").items() if name != "rules"}
    given = "\n".join(json.dumps(one) for one in (bare, request("git status")))
    assert [one["behavior"] for one in lines(mine, given, "--rules", "my.toml")] == ["allow", "ask"]


def test_a_program_gets_each_answer_before_it_asks_the_next(desk: Desk) -> None:
    """ours: nothing waits for a full buffer"""
    words = [sys.executable, "-m", "ropewalk", "rules", "test", "--jsonl"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=desk.env, cwd=desk.project) as asked:
        assert asked.stdin is not None and asked.stdout is not None
        for command, behavior in (("ls", "allow"), ("rm x", "ask")):
            asked.stdin.write(json.dumps(request(command, "Bash(ls:*)")).encode() + b"\n")
            asked.stdin.flush()
            assert json.loads(asked.stdout.readline())["behavior"] == behavior
        asked.stdin.close()
        assert asked.wait(30) == 0


# -- help


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_work_as_typed(mine: Desk, example: str) -> None:
    """ours: in bash"""
    mine.home.joinpath("bin").mkdir()
    mine.program("bin/ropewalk", f'#!/bin/sh\nexec {sys.executable} -m ropewalk "$@"\n')
    (mine.project / "requests.jsonl").write_text(json.dumps(request("ls", "Bash(ls:*)")) + "\n")
    env = {**mine.env, "PATH": f"{mine.home}/bin:{mine.env['PATH']}"}
    done = subprocess.run(["bash", "-c", example], cwd=mine.project, env=env, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b""), shlex.join([example])


def test_the_group_and_its_command_have_their_pages(desk: Desk) -> None:
    """ours"""
    assert desk.ropewalk("rules", "--help").out == desk.ropewalk("help", "rules").out == pages.PAGES["rules"]
    assert desk.ropewalk("rules", "test", "--help").out == desk.ropewalk("help", "rules", "test").out == pages.PAGES["rules test"]


def test_nothing_of_the_hub_is_loaded_where_rules_are_given(mine: Desk) -> None:
    """ours: it is asked thousands of times by programs"""
    words = [sys.executable, "-X", "importtime", "-m", "ropewalk", "rules", "test", "--rules", "my.toml", "ls"]
    listed = subprocess.run(words, env=mine.env, cwd=mine.project, capture_output=True, check=True).stderr.decode()
    loaded = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in listed.splitlines()}
    assert "tree_sitter" in loaded and not loaded & {"httpx", "litestar", "uvicorn", "rich"}
