"""The commands and their options, as typer sees them. Refuses to do the work: each command calls one function elsewhere."""

from __future__ import annotations

import difflib
import json
import platform
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import UsageError
from . import pages
from .audit_app import audit_commands
from .hub_app import hub_commands
from .rules_app import rules_commands

NAMES = {"help_option_names": ["-h", "--help"]}


class Page(TyperCommand):
    """A command whose help is its page."""

    def get_help(self, ctx: Any) -> str:
        return page_of(ctx).rstrip("\n")


class Pages(TyperGroup):
    """The same for a group."""

    def get_help(self, ctx: Any) -> str:
        return page_of(ctx).rstrip("\n")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise UsageError(no_such(args[0], list(self.commands), ctx.command_path))
        return super().resolve_command(ctx, args)


def page_of(ctx: Any) -> str:
    words = str(ctx.command_path).split(" ")[1:]
    return pages.PAGES.get(" ".join(words)) or pages.PAGES.get(words[0], pages.MAIN)


def no_such(word: str, known: Sequence[str], where: str) -> str:
    """An unknown word, with the nearest known one."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return f"there is no command {word!r}; did you mean: {where} {near[0]}?"
    if " " in word:
        return f"there is no command {word!r}; a prompt goes to: {where} run {json.dumps(word, ensure_ascii=False)}"
    return f"there is no command {word!r}; {where} help lists them"


app = typer.Typer(cls=Pages, add_completion=False, no_args_is_help=False, context_settings=NAMES)
sim_app = typer.Typer(cls=Pages, add_completion=False, no_args_is_help=False, context_settings=NAMES)
app.add_typer(sim_app, name="sim", invoke_without_command=True)

Text = Annotated[str | None, typer.Option()]
Words = Annotated[list[str] | None, typer.Option()]
Flag = Annotated[bool, typer.Option()]


@app.callback(invoke_without_command=True)
def nothing(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    color: Annotated[str, typer.Option()] = "auto",
    ascii_only: Annotated[bool, typer.Option("--ascii")] = False,
) -> None:
    """Bare ``ropewalk``: what needs me, what is at work."""
    if ctx.invoked_subcommand is None:
        from .verbs.asking import ask_hub  # noqa: PLC0415 - a help page does not wait for it
        from .verbs.lists import overview  # noqa: PLC0415 - the same

        raise typer.Exit(ask_hub(overview, as_json=as_json, color=color, ascii_only=ascii_only))


@app.command(cls=Page)
def run(
    prompt: Annotated[str | None, typer.Argument()] = None,
    cwd: Annotated[str, typer.Option()] = ".",
    cli: Text = None,
    sim: Text = None,
    no_hub: Annotated[bool, typer.Option("--no-hub")] = False,
    transport: Annotated[str, typer.Option()] = "stdio",
    api_billing: Annotated[bool, typer.Option("--api-billing")] = False,
    resume: Text = None,
    continue_last: Annotated[bool, typer.Option("--continue")] = False,
    fork: Annotated[bool, typer.Option("--fork")] = False,
    model: Text = None,
    system_prompt: Text = None,
    mode: Annotated[str, typer.Option()] = "default",
    allow: Words = None,
    deny: Words = None,
    on_question: Text = None,
    no_input: Annotated[bool, typer.Option("--no-input")] = False,
    max_turns: Annotated[int | None, typer.Option(min=1)] = None,
    max_budget_usd: Annotated[float | None, typer.Option(min=0)] = None,
    timeout: Text = None,
    output: Annotated[str, typer.Option()] = "text",
    as_json: Annotated[bool, typer.Option("--json")] = False,
    thinking: Annotated[bool, typer.Option("--thinking")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False,
    color: Annotated[str, typer.Option()] = "auto",
    ascii_only: Annotated[bool, typer.Option("--ascii")] = False,
) -> None:
    """One prompt to its end, through the hub or without it."""
    words = {name: value for name, value in locals().items() if name != "no_hub"}
    if no_hub:
        from .begin import begin_run  # noqa: PLC0415 - a help page does not wait for it

        raise typer.Exit(begin_run(**words))
    from .relay.begin import begin_hub_run  # noqa: PLC0415 - the same

    raise typer.Exit(begin_hub_run(**words))


@app.command(cls=Page)
def doctor(
    cli: Text = None,
    probe: Annotated[bool, typer.Option("--probe")] = False,
    salvage: Annotated[bool, typer.Option("--salvage")] = False,
    yes: Annotated[bool, typer.Option("--yes")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    color: Annotated[str, typer.Option()] = "auto",
    ascii_only: Annotated[bool, typer.Option("--ascii")] = False,
) -> None:
    """Look at the claude and the hub of this machine."""
    if salvage:
        from .salvaging import salvage_database  # noqa: PLC0415 - a help page does not wait for it

        raise typer.Exit(salvage_database(yes=yes, as_json=as_json, color=color, ascii_only=ascii_only))
    if yes:
        raise UsageError("--yes goes with --salvage")
    from .doctor import examine  # noqa: PLC0415 - a help page does not wait for it

    raise typer.Exit(examine(cli, probe=probe, as_json=as_json, color=color, ascii_only=ascii_only))


@sim_app.callback(invoke_without_command=True)
def sim(ctx: typer.Context) -> None:
    """The stand-ins."""
    if ctx.invoked_subcommand is None:
        typer.echo(pages.SIM, nl=False)


@sim_app.command(cls=Page)
def claude() -> None:
    """Taken before typer reads the words: they are claude's own (see ``main``)."""


@sim_app.command(cls=Page)
def model(
    scenario: Annotated[str | None, typer.Argument()] = None,
    host: Annotated[str, typer.Option()] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 0,
    record: Text = None,
) -> None:
    """A scripted Messages API on loopback."""
    from .sim import run_sim_model  # noqa: PLC0415 - a help page does not wait for it

    raise typer.Exit(run_sim_model(scenario, host, port, record))


@app.command(cls=Page)
def version(as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """What this is."""
    typer.echo(version_text(as_json))


def version_text(as_json: bool) -> str:
    from .. import __version__  # noqa: PLC0415 - the package's own file is loaded by now

    if as_json:
        return json.dumps({"ropewalk": __version__, "python": platform.python_version(), "platform": sys.platform})
    return f"ropewalk {__version__}, python {platform.python_version()}"


@app.command(cls=Page)
def completion(shell: Annotated[str, typer.Argument()]) -> None:
    """A completion script."""
    from .completion import script_for  # noqa: PLC0415 - a help page does not wait for it

    typer.echo(script_for(shell, typer.main.get_command(app)), nl=False)


@app.command("help", cls=Page)
def show_help(topic: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """A page by its name."""
    name = " ".join(topic or [])
    if name not in pages.PAGES:
        raise UsageError(no_such(name, list(pages.PAGES), "ropewalk help").replace("command", "page"))
    typer.echo(pages.PAGES[name], nl=False)


hub_commands(app, Page, Pages)
rules_commands(app, Page, Pages)
audit_commands(app, Page)
