"""Turns of sim claude beyond the recordings: queue, resume, limits, background work, signals."""

from __future__ import annotations

import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from .conftest import STREAM, Start
from .play import GUARD, Sim

pytestmark = pytest.mark.slow

Json = dict[str, Any]
VERSIONS = ("2.1.37", "2.1.62", "2.1.326")
HELLO: list[Json] = [{"text": "Hello, prompt {prompts}."}]


def ended(sim: Sim) -> int:
    sim.close_input()
    return sim.exit_code()


def test_nothing_is_said_before_a_prompt_and_init_comes_with_every_turn(start: Start) -> None:
    """Measured, all versions: [init_when]."""
    sim = start(HELLO)
    assert sim.next_line(0.3) is None
    for _ in range(2):
        sim.prompt("hi")
        sim.wait_for(type="result")
    assert [line["type"] for line in sim.said] == ["system", "assistant", "result"] * 2


@pytest.mark.parametrize("version", VERSIONS)
def test_a_resumed_session_goes_on_under_its_id_and_a_fork_under_a_new_one(start: Start, version: str) -> None:
    """Measured, all versions; the cost goes on on 2.1.326 only."""
    first = start(HELLO, version=version)
    first.prompt("one")
    result = first.wait_for(type="result")
    assert ended(first) == 0
    asked = result["session_id"]
    second = start(HELLO, "--resume", asked, version=version)
    second.prompt("two")
    again = second.wait_for(type="result")
    assert (again["result"], again["session_id"]) == ("Hello, prompt 2.", asked)
    assert (again["total_cost_usd"] > result["total_cost_usd"]) is (version == "2.1.326")
    assert ended(second) == 0
    fork = start(HELLO, "--continue", "--fork-session", version=version)
    fork.prompt("three")
    branch = fork.wait_for(type="result")
    assert branch["result"] == "Hello, prompt 3."
    assert branch["session_id"] != asked
    assert ended(fork) == 0


def test_resume_at_a_message_forgets_what_came_after(start: Start) -> None:
    """Measured, all versions: [resume_at]."""
    first = start(HELLO)
    for text in ("one", "two"):
        first.prompt(text)
        first.wait_for(type="result")
    said = next(line for line in first.said if line["type"] == "assistant")
    assert ended(first) == 0
    second = start(HELLO, "--resume", said["session_id"], "--resume-session-at", said["uuid"])
    second.prompt("other")
    assert second.wait_for(type="result")["result"] == "Hello, prompt 2."


def test_a_session_without_a_prompt_leaves_no_file_and_a_killed_one_no_cost(start: Start, tmp_path: Path) -> None:
    """Measured (2.1.326): after SIGKILL the count starts at 0."""
    silent = start(HELLO)
    assert ended(silent) == 0
    assert not list(tmp_path.glob(".claude/projects/*/*.jsonl"))
    killed = start(HELLO)
    killed.prompt("one")
    result = killed.wait_for(type="result")
    killed.process.kill()
    killed.process.wait(GUARD)
    second = start(HELLO, "--resume", result["session_id"])
    second.prompt("two")
    assert second.wait_for(type="result")["total_cost_usd"] == result["total_cost_usd"]


def test_a_prompt_with_a_known_uuid_is_not_run_again_after_a_resume(start: Start) -> None:
    """Measured for one process; for a resumed one read from the program."""
    known = str(uuid.uuid4())
    first = start(HELLO)
    first.prompt("one", uuid=known)
    asked = first.wait_for(type="result")["session_id"]
    assert ended(first) == 0
    second = start(HELLO, "--resume", asked)
    second.prompt("one", uuid=known)
    second.prompt("two")
    assert second.wait_for(type="result")["result"] == "Hello, prompt 2."
    assert ended(second) == 0
    assert sum(line["type"] == "result" for line in second.said) == 1


def test_an_id_in_use_is_refused_on_stderr_alone(start: Start) -> None:
    """Measured, all versions: [session_id_flag]."""
    mine = str(uuid.uuid4())
    first = start(HELLO, "--session-id", mine)
    first.prompt("one")
    assert first.wait_for(type="result")["session_id"] == mine
    second = start(HELLO, "--session-id", mine)
    assert second.exit_code() == 1
    assert second.said == [] and "already in use" in second.errors[0]


def test_priorities_order_what_waits(start: Start) -> None:
    """Measured (2.1.326): "now" ends the running turn after its tool, "later" waits for the others."""
    steps: list[Json] = [{"tool": "Bash", "input": {"command": "sleep 1"}, "lasts": 0.5}, {"text": "for {prompt}"}]
    sim = start(steps, ROPEWALK_SIM_SPEED="1")
    sim.prompt("first")
    sim.wait_for(type="assistant")
    sim.prompt("some time", priority="later")
    sim.prompt("at once", priority="now")
    results = [sim.wait_for(type="result") for _ in range(3)]
    assert [(result["terminal_reason"], result["result"]) for result in results] == [
        ("aborted_tools", ""),
        ("completed", "for at once"),
        ("completed", "for some time"),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_limit_is_told_by_the_versions_that_tell_it(start: Start, version: str) -> None:
    """Measured: 2.1.62 and 2.1.326 send rate_limit_event, 2.1.37 never; a rejected limit fails the turn at once."""
    limit = {"status": "rejected", "resetsAt": 1, "rateLimitType": "five_hour", "isUsingOverage": False}
    sim = start([{"rate_limit": limit}, {"fail": "limit"}], version=version)
    sim.prompt("hi")
    assert sim.wait_for(type="result")["is_error"] is True
    told = [line["rate_limit_info"] for line in sim.said if line["type"] == "rate_limit_event"]
    assert told == ([] if version == "2.1.37" else [limit])
    assert next(line for line in sim.said if line["type"] == "assistant")["error"] == "rate_limit"
    assert ended(sim) == 1


def test_a_scripted_usage_is_paid_for(start: Start) -> None:
    """Ours: budgets and costs can be scripted. 2.1.326 counts 4 and 20 dollars a million tokens."""
    sim = start([{"usage": {"input": 1_000_000, "output": 100_000}}, {"text": "dear"}], "--max-budget-usd=5")
    sim.prompt("hi")
    result = sim.wait_for(type="result")
    assert result["subtype"] == "error_max_budget_usd"
    assert result["total_cost_usd"] == pytest.approx(6.0)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_end_of_background_work_starts_a_turn_where_it_does(start: Start, version: str) -> None:
    """Measured: 2.1.37 is silent, the others notify and run a turn that nobody asked for; closing stdin waits for it."""
    job: Json = {"tool": "Bash", "input": {"command": "sleep 9", "run_in_background": True}, "ask": False, "lasts": 0.5}
    sim = start([job | {"then": [{"text": "Heard of it."}]}, {"text": "Started."}], version=version, ROPEWALK_SIM_SPEED="1")
    sim.prompt("hi")
    assert sim.wait_for(type="result")["result"] == "Started."
    assert ended(sim) == 0
    results = [line["result"] for line in sim.said if line["type"] == "result"]
    assert results == (["Started."] if version == "2.1.37" else ["Started.", "Heard of it."])


def test_a_background_task_can_be_stopped(start: Start) -> None:
    """Measured (2.1.326): [stop_task]; the process can leave then."""
    job: Json = {"tool": "Bash", "input": {"command": "sleep 99", "run_in_background": True}, "ask": False, "lasts": 999}
    sim = start([job, {"text": "Started."}], ROPEWALK_SIM_SPEED="1")
    sim.prompt("hi")
    task = sim.wait_for(type="system", subtype="task_started")["task_id"]
    sim.wait_for(type="result")
    sim.request("stop_task", task_id=task)
    assert sim.wait_for(type="system", subtype="task_notification")["status"] == "stopped"
    assert ended(sim) == 0


def test_an_agent_beside_the_turn_asks_after_its_result(start: Start) -> None:
    """Measured (2.1.326): a session can wait for a person while it is idle."""
    agent: Json = {"tool": "Agent", "input": {"description": "look", "prompt": "Look."}, "lasts": 0.2}
    agent["agent"] = [{"tool": "Bash", "input": {"command": "touch x"}}, {"text": "I have looked."}]
    sim = start([agent | {"then": [{"text": "Good."}]}, {"text": "It looks."}], ROPEWALK_SIM_SPEED="1")
    sim.prompt("hi")
    assert sim.wait_for(type="result")["result"] == "It looks."
    question = sim.wait_for(type="control_request")
    assert question["request"]["agent_id"]
    sim.allow(question)
    last = sim.wait_for(type="result")
    assert (last["result"], last["origin"]["kind"]) == ("Good.", "task-notification")


def test_a_tool_of_the_controllers_server_is_called_through_it(start: Start) -> None:
    """Measured, all versions: [sdk_mcp]."""
    sim = start([{"tool": "mcp__box__open", "input": {"lid": "left"}, "ask": False}, {"text": "Opened."}], version="2.1.62")
    sim.request("initialize", sdkMcpServers=["box"])
    answers: dict[str, Json] = {
        "tools/list": {"tools": [{"name": "open"}]},
        "tools/call": {"content": [{"type": "text", "text": "a cat"}]},
    }
    asked = []
    for _ in range(3):
        asked.append(_serve(sim, answers))
    sim.prompt("hi")
    asked.append(_serve(sim, answers))
    line = sim.wait_for(type="user")
    assert asked == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert line["message"]["content"][0]["content"] == [{"type": "text", "text": "a cat"}]


def _serve(sim: Sim, answers: dict[str, Json]) -> str:
    question = sim.wait_for(type="control_request", request__subtype="mcp_message")
    message = question["request"]["message"]
    result = answers.get(message["method"], {"serverInfo": {"name": "box"}})
    sim.answer(question, mcp_response={"jsonrpc": "2.0", "id": message.get("id"), "result": result})
    return str(message["method"])


def test_structured_output_is_checked_and_delivered(start: Start) -> None:
    """Measured (2.1.326): the turn ends at the tool call."""
    schema = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
    sim = start([{"structured": {"n": "many"}}, {"structured": {"n": 3}}], f"--json-schema={schema}")
    sim.prompt("count")
    assert sim.wait_for(type="result")["structured_output"] == {"n": 3}
    errors = [line["message"]["content"][0].get("is_error", False) for line in sim.said if line["type"] == "user"]
    assert errors == [True, False]


def test_files_are_rewound_to_before_a_prompt(start: Start, tmp_path: Path) -> None:
    """Measured, all versions: [rewind]; the paths are listed, not counted."""
    file = tmp_path / "project" / "a.txt"
    prompt = str(uuid.uuid4())
    steps: list[Json] = [
        {"tool": "Write", "input": {"file_path": str(file), "content": "new"}, "run": True, "ask": False},
        {"text": "ok"},
    ]
    sim = start(steps, CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING="1")
    file.write_text("old")
    sim.prompt("write", uuid=prompt)
    sim.wait_for(type="result")
    assert file.read_text() == "new"
    sim.request("rewind_files", user_message_id=prompt, dry_run=True)
    assert sim.wait_for(type="control_response")["response"]["response"]["filesChanged"] == [str(file)]
    sim.request("rewind_files", user_message_id=prompt)
    assert sim.wait_for(type="control_response")["response"]["response"]["canRewind"] is True
    assert file.read_text() == "old"


@pytest.mark.parametrize(("version", "code", "lines"), [("2.1.62", 0, 0), ("2.1.326", 0, 1)])
def test_the_interrupt_signal_ends_it_in_the_versions_manner(start: Start, version: str, code: int, lines: int) -> None:
    """Measured: 2.1.326 says a result first, the older ones nothing; both exit 0."""
    sim = start([{"tool": "Bash", "input": {"command": "touch x"}}], version=version)
    sim.prompt("hi")
    sim.wait_for(type="control_request")
    sim.process.send_signal(2)
    assert sim.exit_code() == code
    assert sum(line["type"] == "result" for line in sim.said) == lines


def test_an_agent_that_fails_fails_alone(start: Start) -> None:
    """Ours: its failure is its report."""
    agent: Json = {"tool": "Agent", "input": {"description": "look", "prompt": "Look.", "run_in_background": False}}
    sim = start([agent | {"agent": [{"fail": 400, "words": "no such luck"}]}, {"text": "Too bad."}])
    sim.prompt("hi")
    result = sim.wait_for(type="result")
    assert (result["result"], result["is_error"]) == ("Too bad.", False)
    assert any("no such luck" in str(line.get("tool_use_result")) for line in sim.said)


def test_an_interrupt_withdraws_every_open_question(start: Start) -> None:
    """Measured: read-only tools ask side by side, and an interrupt withdraws them all."""
    calls: list[Json] = [{"tool": "Read", "input": {"file_path": f"/outside/{n}"}} for n in range(3)]
    sim = start([{"together": calls}], version="2.1.62")
    sim.prompt("hi")
    asked = [sim.wait_for(type="control_request")["request_id"] for _ in range(3)]
    sim.request("interrupt")
    result = sim.wait_for(type="result")
    assert [line["request_id"] for line in sim.said if line["type"] == "control_cancel_request"] == asked
    assert len(result["permission_denials"]) == 3


def test_half_a_surrogate_in_a_prompt_comes_back_as_it_went(start: Start) -> None:
    """Ours: what a person pastes may be broken; the line must stay UTF-8."""
    sim = start([{"text": "{prompt}"}], "--replay-user-messages")
    sim.prompt("half \ud83d")
    assert sim.wait_for(type="user")["message"]["content"] == "half \ud83d"
    assert sim.wait_for(type="result")["result"] == "half \ud83d"
    assert all(row.decode() for row in sim.raw)


def test_a_prompt_of_many_megabytes_is_taken(start: Start) -> None:
    """Measured: lines of 3 MB are taken."""
    sim = start([{"text": "long"}])
    sim.prompt("x" * 20_000_000)
    assert sim.wait_for(type="result")["result"] == "long"


def test_several_prompts_in_one_write_are_one_turn_where_prompts_are_merged(start: Start) -> None:
    """Measured: 2.1.326 merges what waits, the older ones run it one by one."""
    lines = "\n".join(json.dumps({"type": "user", "message": {"role": "user", "content": text}}) for text in ("a", "b", "c"))
    for version, wanted in (("2.1.326", ["a\nb\nc"]), ("2.1.62", ["a", "b", "c"])):
        sim = start([{"text": "{prompt}"}], version=version)
        sim.send(lines)
        assert [sim.wait_for(type="result")["result"] for _ in wanted] == wanted


def test_speed_divides_every_delay(start: Start) -> None:
    """Ours: 0 is without any delay, 100 a hundred times as fast."""
    for speed in ("0", "100"):
        began = time.monotonic()
        sim = start([{"text": "one two three", "pace": 1.0}, {"wait": 30}, {"text": "done"}], ROPEWALK_SIM_SPEED=speed)
        sim.prompt("hi")
        sim.wait_for(type="result")
        assert time.monotonic() - began < 10


def test_it_starts_quickly_and_imports_little(start: Start) -> None:
    """Ours: story tests start hundreds of them."""
    sim = start([{"text": "ok"}])
    sim.prompt("hi")
    sim.wait_for(type="result")
    maps = Path(f"/proc/{sim.process.pid}/maps").read_text()
    assert "websockets" not in maps


def test_many_prompts_on_many_processes_keep_their_answers(start: Start) -> None:
    """Ours: nothing is shared between processes but the folder."""
    sims = [start([{"text": "{prompt}"}], flags=STREAM) for _ in range(4)]
    for number, sim in enumerate(sims):
        for turn in range(5):
            sim.prompt(f"{number}-{turn}")
            assert sim.wait_for(type="result")["result"] == f"{number}-{turn}"
    assert len({sim.said[0]["session_id"] for sim in sims}) == 4
    assert os.getpid() not in {sim.process.pid for sim in sims}
