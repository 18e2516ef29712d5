"""Lines as a CLI would write them, and connections to feed them to. Holds no expectations."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from ropewalk.protocol.connection import Connection
from ropewalk.protocol.messages import Message
from ropewalk.protocol.pending import Outcome

V37, V62, V120, V326 = (2, 1, 37), (2, 1, 62), (2, 1, 120), (2, 1, 326)


def line(**fields: Any) -> bytes:
    """One line of the CLI, newline included."""
    return json.dumps(fields).encode() + b"\n"


def ids(prefix: str = "id") -> Callable[[], str]:
    """A source of ids that a test can foresee: id-1, id-2 …"""
    return (f"{prefix}-{number}" for number in itertools.count(1)).__next__


def connection(**options: Any) -> Connection:
    return Connection(new_id=ids(), **options)


def said(connection: Connection) -> list[dict[str, Any]]:
    """What the connection would write now, parsed by a JSON parser that is not ours. Each line must be whole."""
    out = connection.data_to_send()
    assert out.endswith(b"\n") or not out
    return [json.loads(one) for one in out.splitlines()]


def only(messages: list[Any]) -> Any:
    """The one message; typed, where it was lazy."""
    assert len(messages) == 1, messages
    message = messages[0]
    return message if isinstance(message, Message) else message.message


def ask(request_id: str = "q1", tool: str = "Bash", tool_input: Any = None, **more: Any) -> bytes:
    """A permission question."""
    asked = {"command": "ls"} if tool_input is None else tool_input
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": asked, "tool_use_id": f"t-{request_id}", **more}
    return line(type="control_request", request_id=request_id, request=request)


def question(request_id: str, subtype: str, **fields: Any) -> bytes:
    return line(type="control_request", request_id=request_id, request={"subtype": subtype, **fields})


def success(request_id: str, response: dict[str, Any] | None = None, **beside: Any) -> bytes:
    inner: dict[str, Any] = {"subtype": "success", "request_id": request_id, **beside}
    return line(type="control_response", response=inner if response is None else {**inner, "response": response})


def failure(request_id: str, error: str, **beside: Any) -> bytes:
    return line(type="control_response", response={"subtype": "error", "request_id": request_id, "error": error, **beside})


def init(session_id: str = "s1", version: str = "2.1.326", **more: Any) -> bytes:
    fields = {"cwd": "/home/user/project", "model": "claude-opus-5-5", "permissionMode": "default", "tools": ["Bash"], **more}
    return line(type="system", subtype="init", session_id=session_id, claude_code_version=version, **fields)


def result(subtype: str = "success", **more: Any) -> bytes:
    return line(
        **{"type": "result", "subtype": subtype, "is_error": subtype != "success", "num_turns": 1, "session_id": "s1", **more}
    )


class Heard:
    """Collects the outcomes of a request."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def __call__(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
