"""The two shapes of an answer, as the documents and the CLIs have them, and a check that knows just enough of JSON Schema."""

from __future__ import annotations

from typing import Any

UPDATE: dict[str, Any] = {
    "type": "object",
    "required": ["type", "destination"],
    "properties": {
        "type": {"enum": ["addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"]},
        "destination": {"enum": ["userSettings", "projectSettings", "localSettings", "session", "cliArg"]},
        "rules": {"type": "array", "items": {"type": "object", "required": ["toolName"]}},
        "behavior": {"enum": ["allow", "deny", "ask"]},
        "mode": {"type": "string"},
        "directories": {"type": "array", "items": {"type": "string"}},
    },
}
ALLOW: dict[str, Any] = {
    "type": "object",
    "required": ["behavior", "updatedInput"],
    "properties": {
        "behavior": {"enum": ["allow"]},
        "updatedInput": {"type": "object"},
        "updatedPermissions": {"type": "array", "items": UPDATE},
        "toolUseID": {"type": "string"},
    },
    "closed": True,
}
DENY: dict[str, Any] = {
    "type": "object",
    "required": ["behavior", "message"],
    "properties": {
        "behavior": {"enum": ["deny"]},
        "message": {"type": "string"},
        "interrupt": {"type": "boolean"},
        "toolUseID": {"type": "string"},
    },
    "closed": True,
}


def envelope(payload: dict[str, Any]) -> dict[str, Any]:
    """The only envelope: the id inside, the payload one level deeper, nothing beside them."""
    inner: dict[str, Any] = {"subtype": {"enum": ["success"]}, "request_id": {"type": "string"}, "response": payload}
    response: dict[str, Any] = {
        "type": "object",
        "required": ["subtype", "request_id", "response"],
        "properties": inner,
        "closed": True,
    }
    outer: dict[str, Any] = {"type": {"enum": ["control_response"]}, "response": response}
    return {"type": "object", "required": ["type", "response"], "properties": outer, "closed": True}


TYPES: dict[str, tuple[type, ...]] = {"object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,)}


def faults(value: Any, schema: dict[str, Any], path: str = "$") -> list[str]:
    """Where ``value`` is not what ``schema`` says."""
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{path}: {value!r} is none of {schema['enum']}"]
    if not isinstance(value, TYPES[schema["type"]]):
        return [f"{path}: {value!r} is no {schema['type']}"]
    found = [f"{path}: no {name}" for name in schema.get("required", []) if isinstance(value, dict) and name not in value]
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{path}: {name} does not belong here" for name in value if schema.get("closed") and name not in known]
        found += [fault for name in value if name in known for fault in faults(value[name], known[name], f"{path}.{name}")]
    if isinstance(value, list):
        found += [fault for number, one in enumerate(value) for fault in faults(one, schema["items"], f"{path}[{number}]")]
    return found
