"""``ropewalk audit`` and ``why``, as typer sees them. Refuses to do the work: each command calls one function elsewhere."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from .hub_app import Ascii, Color, Json, Quiet, Text, _ask


def audit_commands(app: typer.Typer, page: Any) -> None:
    """Add them both."""
    app.command(cls=page)(audit)
    app.command(cls=page)(why)


def audit(
    session: Text = None,
    tool: Text = None,
    verdict: Text = None,
    because: Text = None,
    by: Text = None,
    door: Text = None,
    text: Text = None,
    since: Text = None,
    until: Text = None,
    wildcard: Annotated[bool, typer.Option("--wildcard")] = False,
    outside: Annotated[bool, typer.Option("--outside")] = False,
    last: Annotated[int | None, typer.Option("-n", "--last", min=1)] = None,
    csv: Annotated[bool, typer.Option("--csv")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """What was allowed and denied."""
    from .verbs.audit import Wanted  # noqa: PLC0415 - a help page does not wait for it
    from .verbs.audit import audit as work  # noqa: PLC0415 - the same

    wanted = Wanted(session, tool, verdict, because, by, door, text, since, until, wildcard, outside)
    _ask(partial(work, wanted=wanted, last=last, csv=csv), as_json, quiet, color, ascii_only)


def why(
    session: Annotated[str, typer.Argument()] = ".",
    call: Annotated[str, typer.Argument()] = "last",
    as_json: Json = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """Why one call ran."""
    from .verbs.why import why as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(partial(work, word=session, call=call), as_json, False, color, ascii_only)
