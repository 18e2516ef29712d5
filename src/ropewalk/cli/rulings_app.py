"""``ropewalk rules`` ls, add, rm, on, off, try, suggest, claude, as typer sees them. Refuses to do the work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from .hub_app import Ascii, Color, Json, Quiet
from .hub_app import _ask as ask

In = Annotated[str | None, typer.Option("--in")]
Session = Annotated[str | None, typer.Option("--session")]
Everything = Annotated[bool, typer.Option("--all")]
Ended = Annotated[bool, typer.Option("--ended")]
Yes = Annotated[bool, typer.Option("--yes")]


def rulings_commands(group: typer.Typer, page: Any) -> None:
    """Add them to the group; bare ``ropewalk rules`` lists."""
    group.callback(invoke_without_command=True)(bare_rules)
    named: dict[str, Callable[..., None]] = {
        "ls": rules_ls, "add": rules_add, "rm": rules_rm, "on": rules_on, "off": rules_off, "try": rules_try,
        "suggest": rules_suggest, "claude": rules_claude,
    }  # fmt: skip
    for name, command in named.items():
        group.command(name, cls=page)(command)


def bare_rules(
    ctx: typer.Context,
    everything: Everything = False,
    ended: Ended = False,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """The list."""
    if ctx.invoked_subcommand is None:
        rules_ls(everything, ended, as_json, quiet, color, ascii_only)


def rules_ls(
    everything: Everything = False,
    ended: Ended = False,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """The list."""
    from .verbs.rulings import ls as work  # noqa: PLC0415 - a help page does not wait for it

    ask(partial(work, everything=everything, ended=ended), as_json, quiet, color, ascii_only)


def rules_add(
    behavior: Annotated[str, typer.Argument()],
    rule: Annotated[str | None, typer.Argument()] = None,
    where: In = None,
    session: Session = None,
    lasts: Annotated[str | None, typer.Option("--for")] = None,
    uses: Annotated[int | None, typer.Option(min=1)] = None,
    note: Annotated[str, typer.Option()] = "",
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """A rule of one's own."""
    from .asked import duration  # noqa: PLC0415 - a help page does not wait for it
    from .verbs.rulings import add as work  # noqa: PLC0415 - the same

    ends = duration(lasts) if lasts is not None else None
    wanted = partial(work, behavior=behavior, text=rule, where=where, session=session, ends=ends, uses=uses, note=note, yes=yes)
    ask(wanted, as_json, quiet, color, ascii_only)


def rules_rm(
    rule: Annotated[str, typer.Argument()], as_json: Json = False, quiet: Quiet = False, color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:  # fmt: skip
    """End one."""
    from .verbs.rulings import rm as work  # noqa: PLC0415 - a help page does not wait for it

    ask(partial(work, word=rule), as_json, quiet, color, ascii_only)


def rules_on(rule: Annotated[str, typer.Argument()], as_json: Json = False, quiet: Quiet = False) -> None:
    """A built-in one holds again."""
    from .verbs.rulings import switch as work  # noqa: PLC0415 - a help page does not wait for it

    ask(partial(work, word=rule, on=True), as_json, quiet, "auto", False)


def rules_off(rule: Annotated[str, typer.Argument()], as_json: Json = False, quiet: Quiet = False) -> None:
    """A built-in one does not hold."""
    from .verbs.rulings import switch as work  # noqa: PLC0415 - a help page does not wait for it

    ask(partial(work, word=rule, on=False), as_json, quiet, "auto", False)


def rules_try(
    words: Annotated[list[str], typer.Argument(metavar="[allow|ask|deny] RULE")],
    where: In = None,
    session: Session = None,
    last: Annotated[int, typer.Option(min=1, max=10_000)] = 1000,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """A rule on the past."""
    from .verbs.trials import try_rule as work  # noqa: PLC0415 - a help page does not wait for it

    ask(partial(work, words=words, where=where, session=session, last=last), as_json, quiet, color, ascii_only)


def rules_suggest(as_json: Json = False, quiet: Quiet = False, color: Color = "auto", ascii_only: Ascii = False) -> None:
    """Rules that would have answered."""
    from .verbs.trials import suggest as work  # noqa: PLC0415 - a help page does not wait for it

    ask(work, as_json, quiet, color, ascii_only)


def rules_claude(
    cwd: Annotated[str, typer.Option()] = ".", as_json: Json = False, color: Color = "auto", ascii_only: Ascii = False
) -> None:
    """Claude Code's own."""
    from .verbs.claudes import claudes as work  # noqa: PLC0415 - a help page does not wait for it

    raise typer.Exit(work(cwd, as_json=as_json, color=color, ascii_only=ascii_only))
