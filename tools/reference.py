"""Writes docs/reference/events.md and configuration.md from the structs themselves. Refuses to describe a field on its own."""

from __future__ import annotations

import ast
import inspect
import typing
from pathlib import Path

import msgspec

from ropewalk import config
from ropewalk.events import events

ROOT = Path(__file__).resolve().parent.parent
EVENTS = ROOT / "docs" / "reference" / "events.md"
PLAIN = {"Count": "whole number, at least 1", "Seconds": "seconds", "Annotated[int, Meta(ge=0, le=65535)]": "int"}
CONFIGURATION = ROOT / "docs" / "reference" / "configuration.md"


def said_of_fields(module: object) -> dict[tuple[str, str], str]:
    """The docstrings under fields: (class, field) → words."""
    found: dict[tuple[str, str], str] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):  # type: ignore[arg-type]
        if not isinstance(node, ast.ClassDef):
            continue
        for before, after in zip(node.body, node.body[1:], strict=False):
            match before, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    found[node.name, name] = " ".join(words.split())
    return found


def type_words(struct: type, field: str) -> str:
    for base in struct.__mro__:
        if field in getattr(base, "__annotations__", {}):
            words = str(base.__annotations__[field])
            return PLAIN.get(words, words).replace("|", "\\|")
    return ""


def own_fields(struct: type[msgspec.Struct]) -> list[str]:
    return [name for name in struct.__struct_fields__ if name not in events.Event.__struct_fields__]


def events_page() -> str:
    words = said_of_fields(events)
    lines = [
        "# Events",
        "",
        "What happens to a session, as every listener hears it: JSON objects with `kind`, `session`, `seq` and `at`. "
        "Durable ones are stored before they are told and numbered 1, 2, 3 … for each session. "
        "Written by `make map` from the code.",
        "",
        "All of them may carry: `parent` (the tool_use_id of the sub-agent they belong to), `process`, `line`, `part` "
        "(where on the wire they were said). Fields that hold their default are left out.",
        "",
    ]
    for title, union in (("Durable", events.DURABLE), ("Live", events.LIVE)):
        lines += [f"## {title}", ""]
        for struct in typing.get_args(union):
            lines += _event(struct, words)
    return "\n".join(lines).rstrip("\n") + "\n"


def _event(struct: type[msgspec.Struct], words: dict[tuple[str, str], str]) -> list[str]:
    own = str(vars(struct).get("__doc__") or "")
    lines = [f"### {struct.__struct_config__.tag}", ""]
    if own:
        lines += [" ".join(own.split()), ""]
    fields = own_fields(struct)
    if fields:
        lines += ["| field | type | |", "|---|---|---|"]
        lines += [f"| `{name}` | `{type_words(struct, name)}` | {words.get((struct.__name__, name), '')} |" for name in fields]
        lines.append("")
    return lines


def configuration_page() -> str:
    words = said_of_fields(config)
    usual = config.Config()
    lines = [
        "# Configuration",
        "",
        "`~/.config/ropewalk/config.toml` (or `config.toml` in `ROPEWALK_HOME`), then `ROPEWALK_<NAME>` variables, then "
        "flags: the later wins. An unknown name or a value that can't be meant is refused in words. "
        "Written by `make map` from the code.",
        "",
        "| name | type | default | |",
        "|---|---|---|---|",
    ]
    for name in config.Config.__struct_fields__:
        default = msgspec.json.encode(getattr(usual, name)).decode()
        lines.append(f"| `{name}` | `{type_words(config.Config, name)}` | `{default}` | {words.get(('Config', name), '')} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    EVENTS.parent.mkdir(exist_ok=True)
    EVENTS.write_text(events_page(), "utf-8")
    CONFIGURATION.write_text(configuration_page(), "utf-8")
    print(f"{EVENTS.relative_to(ROOT)}, {CONFIGURATION.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
