"""The commands that speak to a hub and their options, as typer sees them. Refuses to do the work: each calls one function."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from ..errors import UsageError

NAMES = {"help_option_names": ["-h", "--help"]}
Text = Annotated[str | None, typer.Option()]
Words = Annotated[list[str] | None, typer.Option()]
Id = Annotated[str, typer.Argument()]
Json = Annotated[bool, typer.Option("--json")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet")]
Color = Annotated[str, typer.Option()]
Ascii = Annotated[bool, typer.Option("--ascii")]
Sim = Annotated[bool, typer.Option("--sim")]


def hub_commands(app: typer.Typer, page: Any, pages: Any) -> None:
    """Add them all."""
    for command in (serve, new, ls, show, prompt, inbox, answer, interrupt, stop, wake, logs):
        app.command(cls=page)(command)
    groups: tuple[tuple[str, tuple[Any, ...]], ...] = (("token", (token_new, token_ls, token_revoke)), ("runner", (runner_ls,)))
    for name, commands in groups:
        group = typer.Typer(cls=pages, add_completion=False, no_args_is_help=False, context_settings=NAMES)
        group.callback(invoke_without_command=True)(bare_group)
        for one in commands:
            group.command(one.__name__.partition("_")[2], cls=page)(one)
        app.add_typer(group, name=name)


def bare_group(ctx: typer.Context) -> None:
    """``ropewalk token``: its page."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _ask(work: Any, as_json: bool, quiet: bool, color: str, ascii_only: bool) -> None:
    from .verbs.asking import ask_hub  # noqa: PLC0415 - a help page does not wait for it

    raise typer.Exit(ask_hub(work, as_json=as_json, ids_only=quiet, color=color, ascii_only=ascii_only))


def serve(
    host: Text = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535)] = None,
    sim: Sim = False,
    detach: Annotated[bool, typer.Option("--detach")] = False,
    stop: Annotated[bool, typer.Option("--stop")] = False,
    as_json: Json = False,
) -> None:
    """The hub."""
    from .verbs.serve import serve as work  # noqa: PLC0415 - a help page does not wait for it

    raise typer.Exit(work(host=host, port=port, sim=sim, detach=detach, stop=stop, as_json=as_json))


def new(
    words: Annotated[str | None, typer.Argument(metavar="PROMPT")] = None,
    cwd: Annotated[str, typer.Option()] = ".",
    title: Text = None,
    model: Text = None,
    mode: Text = None,
    resume: Text = None,
    tag: Words = None,
    sim: Sim = False,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """A session."""
    from .verbs.sessions import folder_of  # noqa: PLC0415 - a help page does not wait for it
    from .verbs.sessions import new as work  # noqa: PLC0415 - the same

    wanted = partial(
        work, words=words, cwd=folder_of(cwd), title=title, model=model, mode=mode, sim=sim, resume=resume, tags=tag or ()
    )
    _ask(wanted, as_json, quiet, color, ascii_only)


def ls(
    status: Text = None,
    text: Text = None,
    tag: Text = None,
    archived: Annotated[bool, typer.Option("--archived")] = False,
    limit: Annotated[int, typer.Option(min=1)] = 1000,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """The list."""
    from .verbs.lists import ls as work  # noqa: PLC0415 - a help page does not wait for it

    wanted = partial(work, status=status, text=text, tag=tag, archived=archived, limit=limit)
    _ask(wanted, as_json, quiet, color, ascii_only)


def show(session: Id, as_json: Json = False, quiet: Quiet = False, color: Color = "auto", ascii_only: Ascii = False) -> None:
    """One session."""
    from .verbs.sessions import show as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(partial(work, word=session), as_json, quiet, color, ascii_only)


def prompt(
    session: Id,
    words: Annotated[str | None, typer.Argument(metavar="PROMPT")] = None,
    now: Annotated[bool, typer.Option("--now")] = False,
    instead: Annotated[bool, typer.Option("--instead")] = False,
    wait: Annotated[bool, typer.Option("--wait")] = False,
    timeout: Text = None,
    on_question: Annotated[str, typer.Option()] = "wait",
    no_input: Annotated[bool, typer.Option("--no-input")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """A prompt to a session."""
    from .asked import duration, read_prompt  # noqa: PLC0415 - a help page does not wait for it
    from .verbs.sessions import prompt as work  # noqa: PLC0415 - the same

    if now and instead:
        raise UsageError("--now goes into this turn and --instead takes its place: choose one")
    limit = duration(timeout) if timeout is not None else None
    text = read_prompt(words, no_input=no_input, timeout=limit, say=lambda said: typer.echo(f"ropewalk: {said}", err=True))
    when = "now" if now else "instead" if instead else "next"
    waiting: Any = {"wait": wait, "timeout": limit, "on_question": on_question, "no_input": no_input}
    wanted = partial(work, word=session, text=text, when=when, **waiting)
    _ask(wanted, as_json, quiet, color, ascii_only)


def inbox(as_json: Json = False, quiet: Quiet = False, color: Color = "auto", ascii_only: Ascii = False) -> None:
    """Open questions."""
    from .verbs.lists import inbox as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(work, as_json, quiet, color, ascii_only)


def answer(
    session: Id,
    words: Annotated[str | None, typer.Argument()] = None,
    allow: Annotated[bool, typer.Option("--allow")] = False,
    deny: Text = None,
    stop: Annotated[bool, typer.Option("--stop")] = False,
    choose: Words = None,
    plan: Text = None,
    suggestion: Annotated[int | None, typer.Option(min=1)] = None,
    edit: Annotated[bool, typer.Option("--edit")] = False,
    for_session: Annotated[bool, typer.Option("--session")] = False,
    always: Annotated[bool, typer.Option("--always")] = False,
    where: Annotated[str | None, typer.Option("--in")] = None,
    rule: Words = None,
    lasts: Annotated[str | None, typer.Option("--for")] = None,
    uses: Annotated[int | None, typer.Option(min=1)] = None,
    yes: Annotated[bool, typer.Option("--yes")] = False,
    no_input: Annotated[bool, typer.Option("--no-input")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """An answer to a question."""
    from .asked import duration  # noqa: PLC0415 - a help page does not wait for it
    from .verbs.answers import answer as work  # noqa: PLC0415 - the same
    from .verbs.verdict import Verdict  # noqa: PLC0415 - the same

    verdict = Verdict(
        allow, deny, stop, choose or (), plan, words, suggestion, edit, no_input, for_session, always, where, rule or (),
        duration(lasts) if lasts is not None else None, uses, yes,
    )  # fmt: skip
    _ask(partial(work, word=session, verdict=verdict), as_json, quiet, color, ascii_only)


def interrupt(session: Id, as_json: Json = False, quiet: Quiet = False) -> None:
    """The turn that runs."""
    from .verbs.steering import interrupt as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(partial(work, word=session), as_json, quiet, "auto", False)


def stop(
    session: Id, patience: Annotated[float, typer.Option(min=0, max=600)] = 10.0, as_json: Json = False, quiet: Quiet = False
) -> None:
    """The process."""
    from .verbs.steering import stop as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(partial(work, word=session, patience=patience), as_json, quiet, "auto", False)


def wake(session: Id, as_json: Json = False, quiet: Quiet = False) -> None:
    """A session that sleeps, was stopped or failed."""
    from .verbs.steering import wake as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(partial(work, word=session), as_json, quiet, "auto", False)


def logs(
    session: Id,
    follow: Annotated[bool, typer.Option("-f", "--follow")] = False,
    after: Annotated[int, typer.Option(min=0)] = 0,
    last: Annotated[int | None, typer.Option("-n", "--last", min=0)] = None,
    lines: Annotated[bool, typer.Option("--lines")] = False,
    as_json: Json = False,
    color: Color = "auto",
    ascii_only: Ascii = False,
) -> None:
    """What has happened."""
    from .verbs.logs import logs as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(partial(work, word=session, follow=follow, after=after, last=last, lines=lines), as_json, False, color, ascii_only)


def token_new(
    name: Annotated[str, typer.Option()] = "device",
    role: Words = None,
    program: Annotated[bool, typer.Option("--program")] = False,
    expires: Text = None,
    qr: Annotated[bool, typer.Option("--qr")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A code, or a token."""
    from .asked import duration  # noqa: PLC0415 - a help page does not wait for it
    from .verbs.tokens import token_new as work  # noqa: PLC0415 - the same

    ends = duration(expires) if expires is not None else None
    _ask(partial(work, name=name, roles=role or (), program=program, expires=ends, qr=qr), as_json, quiet, "auto", False)


def token_ls(as_json: Json = False, quiet: Quiet = False) -> None:
    """Who may come in."""
    from .verbs.tokens import token_ls as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(work, as_json, quiet, "auto", False)


def token_revoke(token: Id, as_json: Json = False, quiet: Quiet = False) -> None:
    """End one."""
    from .verbs.tokens import token_revoke as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(partial(work, word=token), as_json, quiet, "auto", False)


def runner_ls(as_json: Json = False, quiet: Quiet = False) -> None:
    """The runners."""
    from .verbs.lists import runner_ls as work  # noqa: PLC0415 - a help page does not wait for it

    _ask(work, as_json, quiet, "auto", False)
