"""Plays a recorded process to a live connection: our lines through its verbs, the CLI's as bytes. Refuses what it refuses."""

from __future__ import annotations

import itertools
import json
from typing import Any

from ropewalk.errors import LocalProtocolError
from ropewalk.protocol.answers import Allow, Answer, Deny, Refusal, Reply
from ropewalk.protocol.connection import Connection, Direction
from ropewalk.protocol.messages import Result
from tests.protocol.captures import Process


class Drive:
    """``lines`` is what a journal would hold: what was really written, and what came. ``turns`` are the results."""

    def __init__(self, process: Process, **options: Any) -> None:
        self._fresh = (f"made-{number}" for number in itertools.count(1))
        self._id = ""
        self.conn = Connection(new_id=self._new_id, **options)
        self.lines: list[tuple[Direction, bytes]] = []
        self.words: dict[str, str] = {}
        self.turns: list[Result] = []
        self.left_out: list[bytes] = []
        self._todo = iter(process.wire)

    def _new_id(self) -> str:
        return self._id or next(self._fresh)

    def step(self) -> bool:
        """One recorded line; False at the end."""
        for direction, raw in self._todo:
            if direction == "out":
                self.turns += [one for one in self.conn.receive_data(raw + b"\n") if isinstance(one, Result)]
                self.lines.append(("out", raw))
            else:
                self._say(raw)
            self.lines += [("in", line) for line in self.conn.data_to_send().splitlines(keepends=True)]
            return True
        return False

    def run(self) -> Drive:
        while self.step():
            pass
        return self

    def asked_by(self, turn: Result) -> list[str]:
        """The words of the prompts that a turn answered."""
        return [self.words[uuid] for uuid in turn.prompts]

    def _say(self, raw: bytes) -> None:
        try:
            self._say_as(json.loads(raw))
        except (LocalProtocolError, KeyError, ValueError, AttributeError):
            self.left_out.append(raw)  # malformed on purpose, or not legal for us

    def _request(self, subtype: str, fields: dict[str, Any]) -> None:
        if subtype == "initialize":
            self.conn.send_initialize(fields)
        else:
            self.conn.send_request(subtype, fields)

    def _say_as(self, found: dict[str, Any]) -> None:
        match found["type"]:
            case "user":
                content = found["message"]["content"]
                uuid = self.conn.send_prompt(content, uuid=found.get("uuid"))
                self.words.setdefault(uuid, str(content))
            case "control_request":
                self._id = found["request_id"]
                fields = {key: value for key, value in found["request"].items() if key != "subtype"}
                try:
                    self._request(found["request"]["subtype"], fields)
                finally:
                    self._id = ""
            case "control_response":
                self.conn.answer(found["response"]["request_id"], answer_in(found["response"]))
            case "keep_alive":
                self.conn.send_keep_alive()
            case "update_environment_variables":
                self.conn.send_environment(found["variables"])
            case kind:
                raise ValueError(kind)


def answer_in(response: dict[str, Any]) -> Answer:
    """The answer that a recorded line gave."""
    if response["subtype"] == "error":
        return Refusal(response["error"])
    payload = response["response"]
    match payload.get("behavior"):
        case "allow":
            return Allow(payload.get("updatedInput"), payload.get("updatedPermissions") or ())
        case "deny":
            return Deny(payload["message"], payload.get("interrupt", False))
        case _:
            return Reply(payload)
