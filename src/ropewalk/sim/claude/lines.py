"""The lines that a CLI says, built field for field as each version spells them. Refuses to send: it returns tables.

Keys stand in the order of the recorded lines; texts are the CLI's wording of the day.
"""

from __future__ import annotations

from datetime import UTC, datetime

from .session import Json, Session, Usage
from .versions import Traits

INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"


def stamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Lines:
    """Builders that know the session's id and the version's habits."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.traits = session.traits

    def _ids(self) -> Json:
        return {"session_id": self.session.id, "uuid": self.session.new_id()}

    def system(self, subtype: str, fields: Json | None = None) -> Json:
        return {"type": "system", "subtype": subtype, **(fields or {}), **self._ids()}

    def status(self, status: str | None, **fields: object) -> Json:
        return self.system("status", {"status": status, **fields})

    def mode_status(self) -> Json:
        return self.status(None, permissionMode=self.session.mode)

    def assistant(self, message: Json, parent: str | None = None, **more: object) -> Json:
        line: Json = {"type": "assistant", "message": message, "parent_tool_use_id": parent, **self._ids()}
        if self.traits.timestamps:
            line["timestamp"] = stamp()
        return line | more

    def api_message(self, message_id: str, model: str, block: Json, usage: Usage) -> Json:
        return {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": call_usage(usage),
            "context_management": None,
        }

    def made_up(self, text: str, stop_reason: str, stop_sequence: str | None) -> Json:
        """An assistant message that no model wrote."""
        message: Json = {"id": self.session.new_id(), "container": None, "model": "<synthetic>", "role": "assistant"}
        if self.traits.rich_results:
            message = {"diagnostics": None, **message, "stop_details": None}
        message |= {
            "stop_reason": stop_reason,
            "stop_sequence": stop_sequence,
            "type": "message",
            "usage": made_up_usage(self.traits),
        }
        return message | {"content": [{"type": "text", "text": text}], "context_management": None}

    def user(self, content: object, parent: str | None = None, **more: object) -> Json:
        line: Json = {
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": parent,
            **self._ids(),
        }
        if self.traits.timestamps or self.traits.on_the_way:
            line["timestamp"] = stamp()
        return line | more

    def interruption(self, words: str) -> Json:
        return self.user([{"type": "text", "text": words}])

    def replay(self, content: object, prompt_uuid: str | None, stamped: bool = True) -> Json:
        message = {"role": "user", "content": content}
        line: Json = {"type": "user", "message": message, "session_id": self.session.id, "parent_tool_use_id": None}
        line["uuid"] = prompt_uuid or self.session.new_id()
        if self.traits.timestamps and stamped:
            line["timestamp"] = stamp()
        return line | {"isReplay": True}

    def stream_event(self, event: Json, message_id: str, more: Json | None = None) -> Json:
        line: Json = {"type": "stream_event", "event": event, "session_id": self.session.id, "parent_tool_use_id": None}
        line["uuid"] = self.session.new_id()
        if self.traits.rich_results:
            line |= {**(more or {}), "api_message_id": message_id}
        elif self.traits.on_the_way and event["type"] == "message_start":
            line["ttft_ms"] = 1
        return line

    def lifecycle(self, prompt_uuid: str, state: str) -> Json:
        return {"type": "command_lifecycle", "command_uuid": prompt_uuid, "state": state, **self._ids()}


def call_usage(usage: Usage) -> Json:
    """The usage of ``message_start``: the output is not known yet."""
    return {
        "input_tokens": usage.tokens_in,
        "output_tokens": 1,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
    }


def made_up_usage(traits: Traits) -> Json:
    """The usage of a made-up message: all zero, in the version's spelling."""
    table: Json = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    table |= {"server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": None}
    table["cache_creation"] = {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0}
    if traits.version != "2.1.37":
        table |= {"inference_geo": None, "iterations": None, "speed": None}
    return table | {"output_tokens_details": None, "fallback_credit": None} if traits.rich_results else table


def success(request_id: str, response: Json | None = None) -> Json:
    inner: Json = {"subtype": "success", "request_id": request_id}
    if response is not None:
        inner["response"] = response
    return {"type": "control_response", "response": inner}


def refusal(request_id: str, error: str, code: str | None = None) -> Json:
    inner: Json = {"subtype": "error", "request_id": request_id, "error": error}
    if code is not None:
        inner["error_code"] = code
    return {"type": "control_response", "response": inner}
