"""The lines that we send, built whole. Refuses what ends a CLI or what it would take wrongly, before a byte is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import LocalProtocolError
from .codec import encode
from .versions import IGNORES_ENVIRONMENT_SINCE, RECEIPTS, Version, mode_is_legal

Content = str | Sequence[Mapping[str, Any]]
"""What a prompt says: words, or blocks (text, image, document)."""

PRIORITIES = ("now", "next", "later")

NEVER = {
    "can_use_tool": "the CLI asks this, we answer it",
    "hook_callback": "the CLI asks this, we answer it",
    "control_cancel_request": "it does nothing on newer CLIs and ends 2.1.37; the late answer is dropped on our side instead",
    "sdk_control_interrupt": "no CLI knows it; the request is called interrupt",
}
"""Subtypes that are not ours to send."""


def prompt_line(content: Content, uuid: str, session_id: str, priority: str | None, synthetic: bool) -> bytes:
    """A ``user`` line. Its role is always "user": another one ends the process."""
    fields: dict[str, Any] = {
        "type": "user",
        "message": {"role": "user", "content": checked_content(content)},
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid,
    }
    if priority is not None:
        fields["priority"] = priority
    if synthetic:
        fields["isSynthetic"] = True
    return encode(fields)


def request_line(request_id: str, subtype: str, fields: Mapping[str, Any]) -> bytes:
    return encode({"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **fields}})


def success_line(request_id: str, payload: Mapping[str, Any], input_raw: bytes = b"") -> bytes:
    """An answer. ``input_raw`` stands in for an input that could not be read: those very bytes go back."""
    line = encode({"type": "control_response", "response": {"subtype": "success", "request_id": request_id, "response": payload}})
    if input_raw:
        line = line.replace(b'"updatedInput":{}', b'"updatedInput":' + input_raw, 1)
    return line


def error_line(request_id: str, error: str) -> bytes:
    return encode({"type": "control_response", "response": {"subtype": "error", "request_id": request_id, "error": error}})


KEEP_ALIVE = encode({"type": "keep_alive"})


def environment_line(variables: Mapping[str, str], version: Version | None) -> bytes:
    """Variables for later tools of the living process, on CLIs that act on it."""
    if version is not None and version >= IGNORES_ENVIRONMENT_SINCE:
        raise LocalProtocolError("this CLI takes new environment variables and ignores them; start the session with env= instead")
    bad = [name for name, value in variables.items() if not _is_variable(name, value)]
    if bad:
        raise LocalProtocolError(f"{bad[0]!r} can't be an environment variable")
    return encode({"type": "update_environment_variables", "variables": dict(variables)})


def _is_variable(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    return bool(name) and "=" not in name and "\0" not in name + value


def check_request(subtype: str, fields: Mapping[str, Any], version: Version | None) -> None:
    """Raises ``LocalProtocolError`` for what must not be said to this CLI."""
    if not subtype or subtype in NEVER:
        raise LocalProtocolError(f"{subtype or 'a request without subtype'} can't be sent: {NEVER.get(subtype, 'name one')}")
    if "subtype" in fields:
        raise LocalProtocolError("the subtype is given by name, not among the fields")
    if subtype == "set_permission_mode" and not mode_is_legal(str(fields.get("mode")), version):
        raise LocalProtocolError(f"no permission mode {fields.get('mode')!r}: older CLIs would take it and report it as theirs")


def check_priority(priority: str | None, capabilities: frozenset[str]) -> None:
    if priority is None:
        return
    if priority not in PRIORITIES:
        raise LocalProtocolError(f"no priority {priority!r}; there are {', '.join(PRIORITIES)}")
    if RECEIPTS not in capabilities:
        raise LocalProtocolError("this CLI ignores priorities; interrupt the turn and send the prompt after its result")


def checked_content(content: Content) -> Any:
    """The content as it goes out. Raises ``LocalProtocolError`` on what is neither words nor whole blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple) or not content:
        raise LocalProtocolError("a prompt is words, or a list of at least one block")
    for block in content:
        _check_block(block)
    return content


def _check_block(block: Mapping[str, Any]) -> None:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str):
        raise LocalProtocolError("a content block is an object with a type (text, image, document)")
    if kind == "text" and not isinstance(block.get("text"), str):
        raise LocalProtocolError("a text block has its words in `text`")
    if kind in ("image", "document") and not _is_source(block.get("source")):
        raise LocalProtocolError(f"the {kind} block needs a source {{type: base64, media_type, data}}; see image()")


def _is_source(source: object) -> bool:
    """Is all there that its type needs? Types that we don't know are the API's business."""
    if not isinstance(source, Mapping) or not isinstance(source.get("type"), str):
        return False
    needs = _SOURCES.get(source["type"], ())
    return all(isinstance(source.get(name), str) and source[name] for name in needs)


_SOURCES = {"base64": ("media_type", "data"), "text": ("media_type", "data"), "url": ("url",)}
