"""Structured output: the tool that ``--json-schema`` adds, and what follows when the model gives none. Refuses to validate fully.

Only ``required`` and the types of top-level properties are checked: enough to script good and bad answers.
"""

from __future__ import annotations

import json
from typing import Any

from .session import Json

RETRIES = 5
"""Bad tries after which the turn fails (measured, all versions)."""
REMINDER = "[Structured output required] You have not called the StructuredOutput tool. Call it now to complete this request."
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,), "array": (list,), "object": (dict,),
    "null": (type(None),),
}  # fmt: skip


def schema_of(text: str | None) -> Json | None:
    """The schema of --json-schema; None when there is none or it is no object."""
    try:
        schema = json.loads(text) if text else None
    except ValueError:
        return None
    return schema if isinstance(schema, dict) else None


def complaint(schema: Json, given: Any) -> str | None:
    """Why an answer does not fit; None when it does."""
    if not isinstance(given, dict):
        return "Output does not match required schema: root: must be object"
    for name in schema.get("required", []):
        if name not in given:
            return f"Output does not match required schema: root: must have required property '{name}'"
    for name, rule in schema.get("properties", {}).items():
        wanted = TYPES.get(str(rule.get("type"))) if isinstance(rule, dict) else None
        if name in given and wanted and not _is(given[name], wanted):
            return f"Output does not match required schema: /{name}: must be {rule['type']}"
    return None


def _is(value: Any, wanted: tuple[type, ...]) -> bool:
    return isinstance(value, wanted) and (not isinstance(value, bool) or bool in wanted)
