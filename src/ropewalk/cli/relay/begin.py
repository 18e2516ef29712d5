"""The words of ``ropewalk run``, as typer read them, made into a session or a prompt of the hub. Refuses what a hub can't do."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from ...client.remote import Remote
from ...config import Config, load
from ...errors import HubUnreachable, NotAllowed, NotFound, UsageError
from ...events.commands import Mode, SessionOptions
from ...events.views import PromptView, SessionView
from ..asked import Asked
from ..background import PortTaken, start_hub
from ..begin import prepared
from ..found import Found, find_hub
from ..keys import Keyboard
from ..run import keyboard_here
from ..screen import Screen
from ..sim import DEMO, SCENARIO, whole
from ..verbs.asking import PATIENCE, connected, quiet_logs
from ..which import checked, last_used, newest_of, remember, short_ids
from .run import HubRun, Wanted, behind_question

ALONE = {
    "cli": "--cli names another claude; the hub runs its own (cli in its configuration)",
    "system_prompt": "--system-prompt replaces claude's own",
    "api_billing": "--api-billing is a setting of the hub (api_billing in its configuration)",
}
"""Options that a hub does not take from a run, with why."""


def begin_hub_run(**words: Any) -> int:
    """The exit code. Raises ``UsageError`` before anything is started."""
    words["on_question"] = words["on_question"] or "wait"
    no_input = bool(words["no_input"])
    asked, screen, code = prepared(**words)
    if asked is None:
        return code
    check(asked)
    quiet_logs()
    config = load()
    return asyncio.run(_run(asked, screen, keyboard_here(no_input), config, hub_here(config, screen)))


def check(asked: Asked) -> None:
    for name, why in ALONE.items():
        if getattr(asked, name):
            raise UsageError(f"{why}; add --no-hub to run it without the hub")
    if asked.transport != "stdio":
        raise UsageError(f"--transport {asked.transport} is for runs without the hub; add --no-hub")
    if asked.fork and not (asked.resume or asked.continue_last):
        raise UsageError("--fork needs a session to fork: add --resume ID or --continue")


def hub_here(config: Config, screen: Screen) -> Found:
    """The hub of this user; one is started in the background when none runs."""
    try:
        return find_hub(config)
    except HubUnreachable:
        screen.talk("ropewalk: no hub runs; starting one in the background (ropewalk serve --stop ends it)")
    try:
        return start_hub(config)
    except PortTaken:  # another person's hub, on a machine that several use
        return start_hub(config, "--port", "0")


async def _run(asked: Asked, screen: Screen, keyboard: Keyboard | None, config: Config, found: Found) -> int:
    async with connected(config, found, PATIENCE) as remote:
        listed = await remote.list(limit=1000)
        session, prompt, after = await begun(remote, asked, config, listed)
        remember(config, session.id)
        shown = short_ids([session.id, *(one.id for one in listed)])[session.id]
        behind = prompt is not None and behind_question(session, prompt)
        wanted = Wanted(asked.prompt, asked.output, asked.timeout, asked.on_question, asked.thinking)
        return await HubRun(remote, session, shown, wanted, screen, keyboard).go(
            prompt.id if prompt is not None else None, after, behind=behind
        )


async def begun(
    remote: Remote, asked: Asked, config: Config, listed: list[SessionView]
) -> tuple[SessionView, PromptView | None, int]:
    """The session, the prompt where it is known already, and the seq to listen after."""
    old = await _old(remote, asked, config, listed)
    if old is None:
        try:
            return await remote.start(resume=asked.resume, prompt=asked.prompt, **_start(asked)), None, 0
        except NotAllowed as error:
            if asked.sim in (None, DEMO):
                raise
            raise NotAllowed(f"a scenario of one's own: {error}. Or run it with --no-hub") from None
    if asked.fork:
        return await remote.fork(old.id, prompt=asked.prompt), None, 0
    sent = await remote.prompt(old.id, asked.prompt)
    return old, sent, old.last_seq


async def _old(remote: Remote, asked: Asked, config: Config, listed: list[SessionView]) -> SessionView | None:
    """The session to go on with. None: a new one, or a session of claude's own that no hub knows yet."""
    if asked.continue_last:
        found = newest_of(listed, asked.folder)
        if found is None:
            raise NotFound("no session works in this folder yet; leave --continue out to begin one")
        return found
    if not asked.resume:
        return None
    of_cli = [one for one in listed if one.cli_session == asked.resume]
    if of_cli:
        return of_cli[0]
    if len(asked.resume) == 36 and asked.resume.count("-") == 4:
        return None
    return await remote.get(last_used(config) if asked.resume == "-" else checked(asked.resume))


def _start(asked: Asked) -> dict[str, Any]:
    options = SessionOptions(
        max_turns=asked.max_turns,
        max_budget_usd=asked.max_budget_usd,
        allowed_tools=list(asked.allow),
        disallowed_tools=list(asked.deny),
        sim=asked.sim is not None,
        env={SCENARIO: whole(asked.sim)} if asked.sim not in (None, DEMO) else {},
    )
    mode = cast(Mode, asked.mode)
    return {"cwd": asked.folder, "model": asked.model, "permission_mode": mode, "options": options}
