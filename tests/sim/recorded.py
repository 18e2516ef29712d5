"""A recorded run of a real CLI, taken apart: processes, lines, and the scenario that would make sim claude say the same words.

Refuses to judge: shapes are compared in shape.py.
"""

from __future__ import annotations

import json
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


def steps_by_turn(lines: Iterable[Json]) -> list[list[Json]]:
    """The model's words of each turn (up to its result), as steps; sub-agents' words stand inside the call that started them."""
    lines = list(lines)
    outcomes, agents = _tool_results(lines), _agent_messages(lines)
    turns: list[list[Json]] = [[]]
    messages: dict[str, list[Json]] = {}
    for line in lines:
        if line.get("type") == "result":
            turns.append([])
        elif line.get("type") == "assistant" and line.get("parent_tool_use_id") is None and _by_model(line):
            message_id = line["message"]["id"]
            if message_id not in messages:
                messages[message_id] = []
                turns[-1].append({"together": messages[message_id]})
            messages[message_id] += [_step(block, outcomes, agents) for block in line["message"]["content"]]
    return turns[:-1] if not turns[-1] else turns


def _by_model(line: Json) -> bool:
    return line["message"].get("model") != "<synthetic>"


def _step(block: Json, outcomes: dict[str, Json], agents: dict[str, list[Json]]) -> Json:
    if block["type"] == "text":
        return {"text": block["text"]}
    if block["type"] == "thinking":
        return {"thinking": block["thinking"]}
    step: Json = {"tool": block["name"], "id": block["id"], "input": _model_input(block)}
    outcome = outcomes.get(block["id"])
    if outcome is not None and _text_of(outcome) is not None and block["name"] not in OWN_WORDS:
        step["result"] = _text_of(outcome)
    if outcome is not None and block["name"] == "Bash" and isinstance(outcome["details"], dict):
        step["result"] = outcome["details"].get("stdout", "")
    if outcome is not None and outcome["error"] and _failed_by_itself(outcome):
        step["error"] = True
    if block["id"] in agents:
        step["agent"] = [{"together": [_step(each, outcomes, agents)]} for each in agents[block["id"]]]
    return step


OWN_WORDS = {"AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "Write", "Edit", "StructuredOutput"}
"""Tools whose result the CLI words by itself, from the answer that it got."""


def _model_input(block: Json) -> Json:
    """ExitPlanMode's input is filled by the CLI; the model gave nothing."""
    return {} if block["name"] == "ExitPlanMode" else block["input"]


def _failed_by_itself(outcome: Json) -> bool:
    meta = outcome["meta"]
    return isinstance(outcome["details"], str) and "<tool_use_error>" in str(outcome["content"]) and not meta


def _text_of(outcome: Json) -> str | None:
    content = outcome["content"]
    return content if isinstance(content, str) else None


def _tool_results(lines: list[Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for line in lines:
        content = line.get("message", {}).get("content") if line.get("type") == "user" else None
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                found[block["tool_use_id"]] = {
                    "content": block["content"],
                    "error": block.get("is_error", False),
                    "details": line.get("tool_use_result"),
                    "meta": line.get("tool_result_meta"),
                }
    return found


def _agent_messages(lines: list[Json]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for line in lines:
        parent = line.get("parent_tool_use_id")
        if line.get("type") == "assistant" and parent is not None:
            found.setdefault(parent, []).extend(line["message"]["content"])
    return found


def scenario(process: Process) -> Json:
    """Rules that are used up one after the other: the nth turn says what the nth recorded turn said."""
    rules = [{"times": 1, "steps": steps} for steps in steps_by_turn(process.out()) if steps]
    return {"rule": rules, "otherwise": [{"text": "(the recording says nothing here) "}]}
