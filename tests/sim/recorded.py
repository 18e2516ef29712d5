"""A recorded run of a real CLI, taken apart: processes, lines, and the scenario that would make sim claude say the same words.

Refuses to judge: shapes are compared in shape.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LINES = Path(__file__).resolve().parent.parent / "lines"
HOME, FOLDER = "/home/user", "/home/user/project"
Json = dict[str, Any]


@dataclass
class Record:
    """One entry of a capture; ``line`` is decoded where it is JSON."""

    direction: str
    text: str
    line: Json | None
    at: float


@dataclass
class Process:
    """One CLI process of a capture: its arguments, extra environment, and what went in and out."""

    args: list[str]
    environment: list[str]
    records: list[Record] = field(default_factory=list)

    def exit_code(self) -> int | None:
        notes = [record.line for record in self.records if record.direction == "note" and record.line is not None]
        return next((note["exit"] for note in notes if "exit" in note), None)

    def out(self) -> list[Json]:
        return [record.line for record in self.records if record.direction == "out" and record.line is not None]


def load(version: str, transport: str, name: str) -> list[Process]:
    processes: list[Process] = []
    for row in (LINES / version / transport / f"{name}.jsonl").read_text().splitlines():
        entry = json.loads(row)
        record = Record(entry["dir"], entry["line"], _decoded(entry["line"]), entry["t"])
        start = record.line.get("start") if record.direction == "note" and record.line else None
        if start:
            processes.append(Process(start["args"], start["env"]))
        elif processes:
            processes[-1].records.append(record)
    return processes


def _decoded(text: str) -> Json | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


@dataclass
class Reading:
    """The state of reading a recording: what was open when a line came."""

    turns: list[list[Json]] = field(default_factory=lambda: [[]])
    messages: dict[str, list[Json]] = field(default_factory=dict)
    steps: dict[str, Json] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    agent_calls: set[str] = field(default_factory=set)
    deltas: str = ""
    pressed: bool = False
    interrupted: bool = False
    broken_tool: bool = False
    agent_spoke: bool = False

    def last_message(self) -> list[Json]:
        return list(self.messages.values())[-1]


def steps_by_turn(records: Iterable[Record]) -> list[list[Json]]:
    """The model's words of each turn (up to its result), as steps; sub-agents' words stand inside the call that started them."""
    reading = Reading()
    for record in records:
        if record.direction == "in" and record.line is not None:
            _read_in(reading, record.line)
        elif record.direction == "note" and record.line is not None and "signal" in record.line:
            _interrupted(reading)
        elif record.direction == "out" and record.line is not None:
            _read_out(reading, record.line)
    _take_time(reading)
    return reading.turns


def _read_in(reading: Reading, line: Json) -> None:
    """Lines that came while the model or a tool was at work: sim claude must be at work then, too."""
    if line.get("type") == "control_response":
        reading.asked.pop(line.get("response", {}).get("request_id", ""), None)
        return
    if line.get("request", {}).get("subtype") == "interrupt":
        _interrupted(reading)
        return
    reading.pressed = True
    for call in reading.running - set(reading.asked.values()):
        reading.steps[call]["lasts"] = SHORT


def _interrupted(reading: Reading) -> None:
    reading.interrupted = True
    for call in reading.running - set(reading.asked.values()):
        reading.steps[call]["lasts"] = LONG
        reading.broken_tool = True


SHORT, LONG_RUN, LONG = 2.5, 4.0, 300.0
"""Seconds (of a scenario that is played five times as fast) that stand for "was at work when the line came": long enough to be
met, long enough for 2.1.326 to tell of it as a task, or only ended by what came."""


def _read_out(reading: Reading, line: Json) -> None:
    kind = line.get("type")
    if kind == "stream_event":
        reading.deltas += str(line["event"].get("delta", {}).get("text", ""))
    elif kind == "control_request" and "tool_use_id" in line["request"]:
        reading.asked[line["request_id"]] = line["request"]["tool_use_id"]
    elif kind == "control_cancel_request":
        reading.asked.pop(line["request_id"], None)
    elif kind == "assistant":
        _read_assistant(reading, line)
    elif kind == "user":
        _read_user(reading, line)
    elif kind == "result":
        _read_result(reading, line)
    elif kind == "system" and line["subtype"] == "init":
        reading.pressed = False
    elif kind == "system" and line["subtype"] == "api_retry":
        reading.turns[-1].append({"fail": _failure_of(line), "times": 1})
    elif kind == "system":
        _read_system(reading, line)
    elif kind == "rate_limit_event":
        home = reading.turns[-1][-1]["together"] if reading.turns[-1] else reading.turns[-1]
        home.append({"rate_limit": line["rate_limit_info"]})


def _read_system(reading: Reading, line: Json) -> None:
    step = reading.steps.get(str(line.get("tool_use_id")), {})
    if line["subtype"] == "task_started" and not line.get("is_backgrounded", True) and line["task_type"] == "local_bash":
        step["lasts"] = max(LONG_RUN, step.get("lasts", 0.0))
    elif line["subtype"] == "task_notification" and line["status"] == "completed" and step.get("lasts") == LONG:
        step["lasts"] = SHORT
    elif line["subtype"] == "task_progress" and step.get("tool") == "Task" and "agent" not in step:
        step["agent"] = [
            {"together": [{"tool": "Bash", "input": {"command": "sleep 1"}, "result": ""}]},
            {"text": "Sub answer. "},
        ]
    elif line["subtype"] == "informational" and "safeguards" in line["content"]:
        reading.last_message().append({"stop": "refusal"})
    elif line["subtype"] == "status" and line["status"] == "compacting":
        reading.turns[-1].append({"compact": "(summary)", "fails": True})
    elif line["subtype"] == "compact_boundary":
        reading.turns[-1][-1].pop("fails")


def _read_assistant(reading: Reading, line: Json) -> None:
    if line["message"].get("model") == "<synthetic>":
        words = line["message"]["content"][0]["text"]
        if "output token maximum" in words or "unable to respond" in words:
            stop = {"stop": "max_tokens" if "maximum" in words else "refusal"}
            reading.last_message().extend([] if stop in reading.last_message() else [stop])
        elif line.get("error"):
            kept = [step for step in reading.turns[-1] if "fail" not in step]
            rejected = any(step.get("rate_limit", {}).get("status") == "rejected" for step in kept)
            reading.turns[-1] = [*kept, {"fail": "limit" if rejected else _failure_of(line)}]
        return
    if line.get("aborted"):
        reading.deltas = line["message"]["content"][0]["text"]
        return
    message_id, parent = line["message"]["id"], line.get("parent_tool_use_id")
    if message_id not in reading.messages:
        steps: list[Json] = [{"wait": SHORT}] if reading.pressed and parent is None and not reading.running else []
        steps += [{"wait": 1.0}] if reading.agent_spoke and parent is None else []
        reading.agent_spoke = parent is not None
        if line["message"]["usage"]["input_tokens"] != 100:
            steps.append({"usage": {"input": line["message"]["usage"]["input_tokens"]}})
        reading.messages[message_id] = steps
        home = reading.turns[-1] if parent is None else reading.steps[parent].setdefault("agent", [])
        home.append({"together": steps})
    reading.deltas, reading.pressed = "", False
    for block in line["message"]["content"]:
        if parent is not None and block["type"] == "tool_use":
            reading.agent_calls.add(block["id"])
        reading.messages[message_id].append(_step(reading, block))


def _step(reading: Reading, block: Json) -> Json:
    if block["type"] == "text":
        return {"text": block["text"]}
    if block["type"] == "thinking":
        return {"thinking": block["thinking"]}
    given = dict(block["input"])
    if "planFilePath" in given:
        del given["plan"], given["planFilePath"]
    step: Json = {"tool": block["name"], "id": block["id"], "input": given}
    if PLANS in str(given.get("file_path", "")):
        given["file_path"] = "{plan_file}"
    if given.get("run_in_background") or (block["name"] == "Agent" and given.get("run_in_background") is not False):
        step["lasts"] = LONG if block["name"] != "Agent" else 0.0
    reading.steps[block["id"]] = step
    reading.running.add(block["id"])
    return step


PLANS = "/.claude/plans/"
OWN_WORDS = {
    "AskUserQuestion",
    "ExitPlanMode",
    "EnterPlanMode",
    "Write",
    "Edit",
    "StructuredOutput",
    "Task",
    "Agent",
    "Bash",
    "TodoWrite",
}
"""Tools whose result sim claude words by itself; of the others the recorded words are given to it."""


def _read_user(reading: Reading, line: Json) -> None:
    content = line["message"]["content"]
    for block in content if isinstance(content, list) else []:
        if "Output token limit hit" in str(block.get("text")):
            reading.last_message().append({"stop": "max_tokens"})
        if block.get("type") == "tool_result" and block["tool_use_id"] in reading.steps:
            reading.running.discard(block["tool_use_id"])
            reading.agent_calls.discard(block["tool_use_id"])
            _give_outcome(reading.steps[block["tool_use_id"]], block, line.get("tool_use_result"))


def _give_outcome(step: Json, block: Json, details: Any) -> None:
    text = block["content"]
    if step["tool"] == "Bash" and isinstance(details, dict):
        step["result"] = details.get("stdout", "")
    elif isinstance(text, str) and block.get("is_error") and ("File does not exist" in text or "Exit code 1" in text):
        step |= {"error": True, "result": text}
    elif isinstance(text, str) and step["tool"] not in OWN_WORDS and not block.get("is_error"):
        step["result"] = details.get("file", {}).get("content", text) if isinstance(details, dict) else text
    if isinstance(details, dict) and details.get("type") == "update":
        step |= {"run": True, "before": details["originalFile"]}
    if step["tool"] in ("Task", "Agent") and isinstance(details, dict) and details.get("status") == "completed":
        step.setdefault("agent", []).append({"together": [{"text": details["content"][0]["text"]}]})


def _read_result(reading: Reading, line: Json) -> None:
    if line["subtype"] == "error_during_execution":
        _take_time(reading)
    reading.interrupted, reading.broken_tool, reading.deltas, reading.running = False, False, "", set()
    for call in reading.agent_calls:
        reading.steps[call].setdefault("lasts", SHORT)
    reading.turns.append([])


def _take_time(reading: Reading) -> None:
    """A turn that was broken off in mid-word gets words that take their time."""
    if reading.interrupted and not reading.running and not reading.broken_tool:
        slow = {"text": " ".join(f"word{n}" for n in range(60)), "pace": 1.5} if reading.deltas else {"wait": LONG}
        reading.turns[-1].append({"together": [slow]})


def _failure_of(line: Json) -> int | str:
    status = line.get("api_error_status", line.get("error_status"))
    text = line["message"]["content"][0]["text"] if "message" in line else ""
    if line.get("error") == "invalid_request" and "api_error_status" not in line and "is_api_error_message" in line:
        return "blocked"
    for words, name in (
        ("too long", "too_long"),
        ("Not logged in", "no_key"),
        ("connect", "connection"),
        ("Connection", "connection"),
    ):
        if words in text:
            return name
    found = re.search(r"API Error: (\d+)", text)
    if status is None and found:
        status = int(found.group(1))
    if status is None:
        return 401 if line.get("error") == "authentication_failed" else "connection"
    return int(status)


def scenario(process: Process) -> Json:
    """Rules that are used up one after the other: the nth turn says what the nth recorded turn said."""
    rules = [{"times": 1, "steps": steps} for steps in steps_by_turn(process.records) if steps]
    return {"closing": "done ", "rule": rules, "otherwise": [{"text": "(the recording says nothing here) "}]}
