"""Writes web/src/api/types.ts: every struct that the hub's API reads or tells, as the page's compiler sees it. A test compares.

``python tools/page_types.py`` writes it, ``--check`` says whether it is up to date. The same structs make the OpenAPI document.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import msgspec

from ropewalk.events import events
from ropewalk.servers.web.document import STRUCTS
from ropewalk.servers.web.verbs import VERBS

TARGET = Path(__file__).resolve().parent.parent / "web" / "src" / "api" / "types.ts"
SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
REF = "#/components/schemas/"


def types() -> str:
    """All of it, as text."""
    kinds = list(get_args(events.AnyEvent))
    _, schemas = msgspec.json.schema_components([*STRUCTS, *kinds], ref_template=REF + "{name}")
    names = {kind.__name__ for kind in kinds}
    lines = ["// Made by tools/page_types.py from the hub's own structs; `make map` writes it anew.", ""]
    lines += [declared(name, schema, ALWAYS if name in names else frozenset()) for name, schema in sorted(schemas.items())]
    lines.append(f"export type AnyEvent = {' | '.join(sorted(renamed(name) for name in names))};")
    lines.append("export interface Verbs {")
    lines += [f"  {name}: {{ body: {renamed(verb.body.__name__)}; needs: {needs(verb.needs)} }};" for name, verb in VERBS.items()]
    lines.append("}")
    return "\n".join(lines) + "\n"


ALWAYS = frozenset({"kind", "session", "seq", "at"})
"""What every event has, whatever its struct would let it leave out."""


def needs(ids: tuple[str, ...]) -> str:
    return " | ".join(f'"{name}"' for name in ids) or "never"


def renamed(name: str) -> str:
    """``Text`` is an event of ours and an interface of every browser."""
    return f"{name}Event" if name in ("Text", "Event") else name


def declared(name: str, schema: dict[str, Any], always: frozenset[str]) -> str:
    properties = schema.get("properties", {})
    there = set(properties) if name in VIEWS else {*schema.get("required", ()), *always}
    fields = [f"  {key}{'' if key in there else '?'}: {kind_of(value)};" for key, value in properties.items()]
    return "\n".join([f"export interface {renamed(name)} {{", *fields, "}"])


VIEWS = {
    found.__name__ for found in STRUCTS
    if found.__module__.endswith(".views") and not found.__struct_config__.omit_defaults
}  # fmt: skip
"""Of these the hub always says every field: they leave out nothing that is at its default."""


def kind_of(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return renamed(schema["$ref"].removeprefix(REF))
    if "enum" in schema:
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in schema["enum"])
    if "anyOf" in schema:
        found = [kind for kind in dict.fromkeys(kind_of(one) for one in schema["anyOf"]) if kind != "unknown"]
        return " | ".join(found)
    return simple(schema)


def simple(schema: dict[str, Any]) -> str:
    match schema.get("type"):
        case "array":
            inner = kind_of(schema.get("items") or {})
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case "object":
            more = schema.get("additionalProperties")
            return f"Record<string, {kind_of(more) if isinstance(more, dict) and more else 'unknown'}>"
        case str(word):
            return SIMPLE[word]
    return "unknown"


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        return int(TARGET.read_text() != types())
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(types())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
