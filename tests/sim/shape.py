"""What makes two lines alike: keys, kinds of values, and the words that a program may lean on. Refuses to compare free texts."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TELLING = frozenset({
    "type", "subtype", "status", "state", "is_error", "terminal_reason", "stop_reason", "permissionMode", "error_code", "mode",
    "decision", "source", "reason_type", "non_execution_kind", "isReplay", "isSynthetic", "num_turns", "result_index",
    "task_type", "trigger", "behavior", "destination", "tool_name", "name", "role", "hook_event_name", "method", "callback_id",
    "level", "index", "requires_user_interaction", "aborted", "canRewind", "cancelled", "api_error_status",
})  # fmt: skip
"""Keys whose values are compared, not only their kind."""

OWN_CONTENT = frozenset({
    "tools", "slash_commands", "terminal_slash_commands", "agents", "skills", "plugins", "capabilities", "commands", "models",
    "available_output_styles", "permission_suggestions", "attachmentsByType", "skillFrontmatter", "suggestions",
})  # fmt: skip
"""Lists that depend on machine, account and day: that there is a list is compared."""
OF_THE_DAY = "a list of the day"


def shape(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: shape(inner, name) for name, inner in sorted(value.items())}
    if isinstance(value, list):
        return OF_THE_DAY if key in OWN_CONTENT else [shape(inner) for inner in value]
    if key in TELLING and not isinstance(value, (dict, list)):
        return value
    return kind(value)


def kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, (int, float)) else "text"


def label(line: Json) -> str:
    """The line's place in the sequence: type and what comes next to it."""
    inner = line.get("request") or line.get("event") or line.get("response") or {}
    words = [str(line.get("type")), str(line.get("subtype") or inner.get("subtype") or inner.get("type") or "")]
    return " ".join(word for word in words if word)


def differences(real: Any, ours: Any, path: str = "") -> list[str]:
    """Where two shapes part, one sentence each."""
    if isinstance(real, dict) and isinstance(ours, dict):
        found = [f"{path}.{key}: missing" for key in sorted(real.keys() - ours.keys())]
        found += [f"{path}.{key}: not in the recording" for key in sorted(ours.keys() - real.keys())]
        return found + [
            each for key in sorted(real.keys() & ours.keys()) for each in differences(real[key], ours[key], f"{path}.{key}")
        ]
    if isinstance(real, list) and isinstance(ours, list):
        found = [] if len(real) == len(ours) else [f"{path}: {len(ours)} entries, recorded {len(real)}"]
        return found + [
            each for n, (a, b) in enumerate(zip(real, ours, strict=False)) for each in differences(a, b, f"{path}[{n}]")
        ]
    return [] if real == ours else [f"{path}: {ours!r}, recorded {real!r}"]
