"""Lines through a connection and a translator, as a session does it. Holds no expectations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from ropewalk.events import events as e
from ropewalk.sessions.known import Known
from ropewalk.sessions.translate import Translator
from tests.protocol.wire import connection, line

T = TypeVar("T", bound=e.Event)


class Told:
    """What a session would hear of these lines."""

    def __init__(self, *, lazy: bool = True, cwd: str = "/home/user/project", known: Known | None = None, **options: Any) -> None:
        self.connection = connection(lazy=lazy, **options)
        self.translator = Translator("s1", "p1", cwd, known)
        self.events: list[e.Event] = []
        self.number = 0

    def hear(self, *lines: bytes) -> list[e.Event]:
        """The events of these lines alone; ``events`` has all."""
        heard: list[e.Event] = []
        for raw in lines:
            self.number += 1
            for message in self.connection.receive_data(raw.rstrip(b"\n") + b"\n"):
                heard += self.translator.events(message, self.number, 1000.0 + self.number)
        self.events += heard
        return heard


def told(lines: Iterable[bytes], **options: Any) -> list[e.Event]:
    return Told(**options).hear(*lines)


def of(kind: type[T], events: Iterable[e.Event]) -> list[T]:
    return [event for event in events if type(event) is kind]


def one(kind: type[T], events: Iterable[e.Event]) -> T:
    found = of(kind, events)
    assert len(found) == 1, found
    return found[0]


def assistant(*blocks: dict[str, Any], id: str = "m1", **more: Any) -> bytes:
    message = {"id": id, "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": list(blocks)}
    return line(**{"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s1", **more})


def tool(name: str, given: dict[str, Any], id: str = "t1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool_result(content: Any = "ok", id: str = "t1", *, failed: bool = False, details: Any = None, **more: Any) -> bytes:
    block = {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}
    fields = {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None, **more}
    return line(**fields, tool_use_result=details)


def stream(event: dict[str, Any], parent: str | None = None) -> bytes:
    return line(type="stream_event", event=event, session_id="s1", parent_tool_use_id=parent).replace(b'": ', b'":', 3)


def system(subtype: str, **fields: Any) -> bytes:
    return line(type="system", subtype=subtype, session_id="s1", **fields)


def started(name: str, given: dict[str, Any], cwd: str) -> e.ToolStarted:
    return one(e.ToolStarted, told([assistant(tool(name, given))], cwd=cwd))
