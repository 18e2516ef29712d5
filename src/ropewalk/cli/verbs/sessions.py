"""``show``, ``new``, ``prompt``: one session looked at, begun, spoken to. Refuses to wait unless it is told to."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import cast

from ...errors import FolderMissing, UsageError
from ...events import events as e
from ...events.commands import Mode, SessionOptions, When
from ...events.views import QuestionView, SessionView, Snapshot
from ...sessions.figures import dollars, thousands
from ..asked import ALL_MODES, check_choice
from ..home import home_path
from ..modes import mode_words
from ..parts import part_rows
from ..relay.run import HubRun, Wanted, behind_question
from ..run import keyboard_here
from ..safe import cut, one_line
from ..screen import Screen, look_around
from ..statuses import STAND_IN, clock, fix_of, glyph_of, span, why_of, word_of
from ..which import remember
from .asking import Asking
from .done import done_lines

TITLE_MOST = 400
"""The hub takes no longer ones."""
LOOK_BACK = 200
"""Events in which Claude's last words are looked for."""


def folder_of(cwd: str) -> str:
    """The folder that is meant, whole. Raises ``FolderMissing``."""
    folder = os.path.realpath(os.path.expanduser(cwd))
    if not os.path.isdir(folder):
        raise FolderMissing(folder)
    return folder


async def show(asking: Asking, word: str) -> int:
    view = await asking.session(word)
    if asking.ids_only:
        asking.screen.row(view.id)
        return 0
    snapshot = await asking.remote.snapshot(view.id)
    if asking.as_json:
        asking.object(snapshot)
        return 0
    last = await asking.remote.events(view.id, max(0, snapshot.last_seq - LOOK_BACK), LOOK_BACK)
    for line in picture(asking.screen, snapshot, await asking.short(view.id), last, time.time()):
        asking.screen.row(line)
    return 0


def picture(screen: Screen, snapshot: Snapshot, shown: str, last: Sequence[e.Event], now: float) -> list[str]:
    """The session in a few lines."""
    view, glyphs = snapshot.session, screen.look.glyphs
    paint = screen.paint
    mark = f" {STAND_IN}" if view.sim else ""
    lines = [f"{paint('dim', shown)}  {paint('bold', _one(screen, view.title) or '(no title)')}{mark}"]
    style, words = word_of(view.status).style, word_of(view.status).word
    status = f"{glyph_of(view, glyphs)} {words}"
    lines.append(f"{paint(style, status) if style else status}  {_one(screen, why_of(view))}  {span(now - view.status_at)}")
    if fix := fix_of(view, shown):
        lines.append(f"  help: {fix}")
    dot = f" {glyphs.dot} "
    facts = (home_path(view.cwd), mode_words(view.mode or ""), view.model or "", _context(view), dollars(view.cost_usd))
    lines.append(paint("dim", dot.join(_one(screen, fact) for fact in facts if fact)))
    lines.append(paint("dim", f"begun {clock(view.created_at, '%d %b %H:%M')}{dot}event {view.last_seq}{_process(view, dot)}"))
    lines += done_lines(screen, last)
    for one in snapshot.questions:
        lines += question_lines(screen, one)
    lines += [
        f"next: {cut(_one(screen, one.text), screen.look.width - 6, glyphs.dots)}"
        for one in snapshot.queue
        if one.state == "queued"
    ]
    said = next((event.text for event in reversed(last) if isinstance(event, e.Text) and event.parent is None), "")
    lines += [f"  {line}" for line in screen.harmless(said).rstrip("\n").split("\n")[-10:]] if said else []
    return lines


def question_lines(screen: Screen, asked: QuestionView) -> list[str]:
    """An open question in short: what, and what the rules say of each part. The card has the rest."""
    lines = [f"{screen.paint('amber', screen.look.glyphs.asks)} {_one(screen, asked.line or asked.title_words)}"]
    if len(asked.parts) > 1:
        return lines + part_rows(screen, asked.parts, "    ")
    why = f" {screen.look.glyphs.dot} ".join(_one(screen, word) for word in (asked.because, *asked.tags) if word)
    return [*lines, screen.paint("dim", f"    {why}")] if why else lines


def _context(view: SessionView) -> str:
    if not view.context_tokens:
        return ""
    share = f", {view.context_tokens / view.context_window:.0%}" if view.context_window else ""
    return f"{thousands(view.context_tokens)} tokens{share}"


def _process(view: SessionView, dot: str) -> str:
    version = f"{dot}claude {view.cli_version}" if view.cli_version else ""
    return f"{version}{dot}pid {view.pid}" if view.pid is not None else version


def _one(screen: Screen, text: str) -> str:
    return one_line(text, ascii_only=screen.look.ascii)


async def new(
    asking: Asking, *, words: str | None, cwd: str, title: str | None, model: str | None, mode: str | None, sim: bool,
    resume: str | None, tags: Sequence[str],
) -> int:  # fmt: skip
    if mode is not None:
        check_choice("mode", mode, ALL_MODES)
    if title is not None and len(title) > TITLE_MOST:
        raise UsageError(f"--title has {len(title)} letters; {TITLE_MOST} are the most")
    view = await asking.remote.start(
        cwd, words, title=title, model=model, permission_mode=cast(Mode | None, mode), resume=resume, tags=tags,
        options=SessionOptions(sim=sim),
    )  # fmt: skip
    remember(asking.config, view.id)
    if asking.as_json:
        asking.object(view)
    elif asking.ids_only:
        asking.screen.row(view.id)
    else:
        shown = await asking.short(view.id)
        mark = f" {STAND_IN}" if view.sim else ""
        asking.screen.row(f"{shown}  {_one(asking.screen, view.title or words or '(no title)')}{mark}")
        asking.screen.talk(asking.screen.paint("dim", f'watch: ropewalk logs -f {shown}     go on: ropewalk prompt {shown} "…"'))
    return 0


async def prompt(
    asking: Asking, word: str, text: str, *, when: str, wait: bool, timeout: float | None, on_question: str, no_input: bool
) -> int:
    if on_question not in ("wait", "deny", "fail"):
        check_choice("on_question", on_question, ("fail", "deny", "wait"))
    if timeout is not None and not wait:
        raise UsageError("--timeout bounds the waiting: add --wait")
    view = await asking.session(word)
    sent = await asking.remote.prompt(view.id, text, when=cast(When, when))
    if not wait:
        if asking.as_json:
            asking.object(sent)
        elif asking.ids_only:
            asking.screen.row(sent.id)
        else:
            asking.screen.row(f"{sent.state}: {cut(_one(asking.screen, sent.text), asking.screen.look.width - 10)}")
        return 0
    quiet = asking.as_json or asking.ids_only
    look = look_around("auto" if asking.screen.look.color else "never", ascii_only=asking.screen.look.ascii, quiet=quiet)
    wanted = Wanted(text, "json" if asking.as_json else "text", timeout, on_question)
    run = HubRun(asking.remote, view, await asking.short(view.id), wanted, Screen(look), keyboard_here(no_input))
    return await run.go(sent.id, view.last_seq, behind=behind_question(view, sent))
