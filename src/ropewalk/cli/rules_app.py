"""``ropewalk rules`` and its options, as typer sees them. Refuses to do the work: each command calls one function elsewhere."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .hub_app import NAMES, Ascii, Color, Json, Text
from .rulings_app import rulings_commands


def rules_commands(app: typer.Typer, page: Any, pages: Any) -> None:
    """Add the group."""
    group = typer.Typer(cls=pages, add_completion=False, no_args_is_help=False, context_settings=NAMES)
    rulings_commands(group, page)
    group.command("test", cls=page)(rules_test)
    app.add_typer(group, name="rules")


def rules_test(
    words: Annotated[str | None, typer.Argument(metavar="COMMAND")] = None,
    tool: Annotated[str, typer.Option()] = "Bash",
    given: Annotated[str | None, typer.Option("--input")] = None,
    cwd: Annotated[str, typer.Option()] = ".",
    rules: Text = None,
    jsonl: Annotated[bool, typer.Option("--jsonl")] = False,
    resolve: Annotated[bool, typer.Option("--resolve")] = False,
    as_json: Json = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """What rules would say."""
    from .verbs.rules import test as work  # noqa: PLC0415 - a help page does not wait for it

    code = work(
        words, tool=tool, given=given, cwd=cwd, rules=rules, jsonl=jsonl, resolve=resolve, as_json=as_json, color=color,
        ascii_only=ascii_only,
    )  # fmt: skip
    raise typer.Exit(code)
