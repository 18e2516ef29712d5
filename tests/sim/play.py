"""Plays the controller's side of a recording to sim claude and keeps what it says. Refuses to judge."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .recorded import FOLDER, HOME, Process

Json = dict[str, Any]
GUARD = 30.0
"""Seconds to wait for a line that must come; long because the machine may be busy."""
IDS = ("uuid", "session_id", "task_id", "request_id", "agent_id", "run_id", "command_uuid", "id")


class Sim:
    """One sim claude process: `send` lines, `wait_for` what it says."""

    def __init__(
        self, args: list[str], home: Path, scenario: Json | str, environment: Mapping[str, str], version: str | None = None
    ) -> None:
        folder = home / "project"
        folder.mkdir(parents=True, exist_ok=True)
        if not isinstance(scenario, str):
            path = home / f"scenario-{time.monotonic_ns()}.json"
            path.write_text(json.dumps(scenario))
            scenario = str(path)
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "LANG")}
        setting = {"HOME": str(home), "ROPEWALK_SIM_SCENARIO": scenario, "ROPEWALK_SIM_SPEED": "5", "ROPEWALK_SIM_ROOT": "1"}
        if version:
            setting["ROPEWALK_SIM_VERSION"] = version
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ropewalk.sim.claude", *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
            env=kept | setting | dict(environment), start_new_session=True,
        )  # fmt: skip
        self.home = str(home)
        self.said: list[Json] = []
        self.raw: list[bytes] = []
        self.errors: list[str] = []
        self._deaf = threading.Event()
        self._arrived: queue.Queue[bytes | None] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read_out, daemon=True),
            threading.Thread(target=self._read_err, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for row in self.process.stdout:
            self._arrived.put(row)
            if self._deaf.is_set():
                self.process.stdout.close()
                break
        self._arrived.put(None)

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        for row in self.process.stderr:
            self.errors.append(row.decode(errors="replace").rstrip("\n"))

    def next_row(self, guard: float = GUARD) -> bytes:
        """The next line as it came, JSON or not."""
        row = self._arrived.get(timeout=guard)
        assert row is not None, f"the output has ended; stderr {self.errors[-5:]}"
        self.raw.append(row)
        return row

    def output_ended(self) -> bool:
        """Has every holder of stdout let go?"""
        return not self._readers[0].is_alive()

    def stop_listening(self) -> None:
        """Close our end of its stdout as a controller does that dies."""
        self._deaf.set()
        self._readers[0].join(GUARD)

    def next_line(self, guard: float = GUARD) -> Json | None:
        """The next line that it says; None when the output has ended or nothing came in time."""
        try:
            row = self._arrived.get(timeout=guard)
        except queue.Empty:
            return None
        if row is None:
            self._arrived.put(None)
            return None
        self.raw.append(row)
        try:
            line = json.loads(row)
        except (ValueError, RecursionError):
            line = {"type": "(no JSON)"}
        self.said.append(line)
        return line if isinstance(line, dict) else {"type": "(no object)"}

    def wait_for(self, guard: float = GUARD, **wanted: Any) -> Json:
        """Read on until a line with these fields comes (``request__subtype`` looks inside)."""
        end = time.monotonic() + guard
        while time.monotonic() < end:
            line = self.next_line(max(0.01, end - time.monotonic()))
            if line is None:
                break
            if all(_inside(line, name.split("__")) == value for name, value in wanted.items()):
                return line
        raise AssertionError(
            f"no line with {wanted}; said {[_brief(line) for line in self.said[-12:]]}; stderr {self.errors[-5:]}"
        )

    def send(self, line: Json | str) -> None:
        assert self.process.stdin is not None
        text = line if isinstance(line, str) else json.dumps(line)
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.errors.append("(stdin is gone)")

    def prompt(self, text: object, **more: Any) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": text}, **more})

    def request(self, subtype: str, request_id: str = "r1", **fields: Any) -> None:
        self.send({"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **fields}})

    def answer(self, question: Json, **response: Any) -> None:
        inner = {"subtype": "success", "request_id": question["request_id"], "response": response}
        self.send({"type": "control_response", "response": inner})

    def allow(self, question: Json, **more: Any) -> None:
        self.answer(question, behavior="allow", updatedInput=question["request"]["input"], **more)

    def close_input(self) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            self.errors.append("(stdin is gone)")

    def exit_code(self, guard: float = GUARD) -> int:
        """Wait for the end and read what was still said."""
        code = self.process.wait(guard)
        while self.next_line(1.0) is not None:
            pass
        for reader in self._readers:
            reader.join(1.0)
        return code

    def __enter__(self) -> Sim:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(GUARD)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    self.errors.append("(stdin is gone)")


def _inside(line: Any, path: list[str]) -> Any:
    for name in path:
        line = line.get(name) if isinstance(line, dict) else None
    return line


def _brief(line: Json) -> str:
    return f"{line.get('type')} {line.get('subtype', '')}".strip()


def is_delta(line: Json) -> bool:
    """Deltas are left out of comparisons: recordings cut long runs of them, and their number is the model's affair."""
    return line.get("type") == "stream_event" and line["event"].get("type") == "content_block_delta"


class Player:
    """Walks through a recorded process and does to sim claude what was done to the real one."""

    def __init__(self, home: Path, names: dict[str, str] | None = None, patience: float = 5.0) -> None:
        self.home = home
        self.names = names if names is not None else {}
        self.patience = patience
        self.stuck: list[str] = []

    def translate(self, text: str) -> str:
        """The recording's folder and ids in our words."""
        text = text.replace(FOLDER, str(self.home / "project")).replace(HOME, str(self.home))
        for theirs, ours in self.names.items():
            text = text.replace(theirs, ours)
        return text

    def play(self, process: Process, scenario: Json, version: str, environment: Mapping[str, str]) -> tuple[list[Json], int]:
        told = json.loads(self.translate(json.dumps(scenario)))
        self._lay_out(told)
        args = [self.translate(word) for word in process.args]
        with Sim(args, self.home, told, environment, version) as sim:
            self._follow(sim, process)
            sim.close_input()
            if process.exit_code() == -signal.SIGKILL:
                sim.process.kill()
            code = sim.exit_code()
            return [line for line in sim.said if not is_delta(line)], code

    def _follow(self, sim: Sim, process: Process) -> None:
        ours: list[Json] = []
        recorded: list[Json] = []
        waiting: list[str] = []
        for record in process.records:
            if record.direction == "in":
                waiting.append(self.translate(record.text))
                continue
            if waiting:
                sim.send("\n".join(waiting))
                waiting.clear()
            if record.direction == "out" and record.line is not None and not is_delta(record.line):
                recorded.append(record.line)
                self._read(sim, ours, len(recorded))
                if len(ours) >= len(recorded):
                    self._align(record.line, ours[len(recorded) - 1])
            elif record.direction == "note" and record.line is not None and record.line.get("stdin") == "closed":
                sim.close_input()
            elif record.direction == "note" and record.line is not None and "signal" in record.line:
                sim.process.send_signal(signal.Signals[record.line["signal"]])

    def _lay_out(self, told: Json) -> None:
        """Files that were there before: what a Write then overwrites, and the custom command of slash_commands."""
        commands = self.home / "project" / ".claude" / "commands"
        commands.mkdir(parents=True, exist_ok=True)
        (commands / "hello.md").write_text("Say hello to $ARGUMENTS.")
        for rule in told["rule"]:
            for together in rule["steps"]:
                for step in together.get("together", []):
                    if "before" in step:
                        Path(step["input"]["file_path"]).write_text(step.pop("before"))

    def _read(self, sim: Sim, ours: list[Json], count: int) -> None:
        while len(ours) < count and not self.stuck:
            line = sim.next_line(self.patience)
            if line is None:
                self.stuck.append(f"nothing came for line {count}")
            elif not is_delta(line):
                ours.append(line)

    def _align(self, theirs: Any, ours: Any) -> None:
        """Ids of the recording stand for the ids that sim claude gave in the same place."""
        if isinstance(theirs, dict) and isinstance(ours, dict):
            for key, value in theirs.items():
                mine = ours.get(key)
                if key in IDS and isinstance(value, str) and isinstance(mine, str):
                    if len(value) > 5 and not value.startswith(("c-", "toolu_")):
                        self.names.setdefault(value, mine)
                else:
                    self._align(value, mine)
        elif isinstance(theirs, list) and isinstance(ours, list):
            for value, mine in zip(theirs, ours, strict=False):
                self._align(value, mine)
