"""What was asked for on the command line, checked, as a Client's options. Refuses what can't be meant, with a hint."""

from __future__ import annotations

import difflib
import os
import re
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..client.options import ClientOptions, OnQuestion, Road
from ..errors import UsageError
from ..protocol.versions import MODES, NEWER_MODES
from .sim import sim_environment, sim_program

ALL_MODES = (*sorted(MODES), *NEWER_MODES)
OUTPUTS = ("text", "json", "stream-json")
ROADS = ("stdio", "websocket", "hybrid")
POLICIES = ("fail", "deny", "wait")
COLORS = ("auto", "always", "never")
CHOICES: Mapping[str, Sequence[str]] = {
    "mode": ALL_MODES,
    "output": OUTPUTS,
    "transport": ROADS,
    "on_question": POLICIES,
    "color": COLORS,
}
"""Options whose value is one of a few words."""

CLOSE_PATIENCE = 5.0
"""Seconds between closing the CLI's input and TERM: a person waits at the terminal for us to end."""

HOME = "CLAUDE_CONFIG_DIR"
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Everything that ``ropewalk run`` was told."""

    prompt: str
    cwd: str = "."
    cli: str | None = None
    sim: str | None = None
    model: str | None = None
    mode: str = "default"
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    resume: str | None = None
    continue_last: bool = False
    fork: bool = False
    max_turns: int | None = None
    max_budget_usd: float | None = None
    system_prompt: str | None = None
    output: str = "text"
    timeout: float | None = None
    transport: str = "stdio"
    api_billing: bool = False
    on_question: str = "fail"
    thinking: bool = False

    @property
    def folder(self) -> str:
        return str(Path(self.cwd).expanduser().absolute())

    def check(self) -> None:
        """Raise ``UsageError`` for a value that is none of the known ones, naming the nearest."""
        for name, known in CHOICES.items():
            if hasattr(self, name):
                check_choice(name, getattr(self, name), known)
        if self.sim is not None and self.cli is not None:
            raise UsageError("--sim runs the stand-in and --cli another program: choose one")

    def options(self, on_question: OnQuestion, **more: Any) -> ClientOptions:
        """For the Client."""
        env = sim_environment(self.sim) if self.sim is not None else {}
        home = Path(env.get(HOME) or os.environ.get(HOME) or Path.home() / ".claude")
        return ClientOptions(
            cwd=self.folder,
            cli=sim_program() if self.sim is not None else self.cli,
            env=env,
            model=self.model,
            permission_mode=self.mode,
            on_question=on_question,
            resume=whole_id(self.resume, home) if self.resume else None,
            continue_last=self.continue_last,
            fork=self.fork,
            max_turns=self.max_turns,
            max_budget_usd=self.max_budget_usd,
            system_prompt=self.system_prompt,
            allowed_tools=tuple(self.allow),
            disallowed_tools=tuple(self.deny),
            api_billing=self.api_billing,
            transport=cast(Road, self.transport),
            close_patience=CLOSE_PATIENCE,
            **more,
        )


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """Of an option. Raises ``UsageError``."""
    check_word(f"--{name.replace('_', '-')} has no {value!r}", value, known)


def check_word(wrong: str, value: str, known: Sequence[str]) -> None:
    """Raises ``UsageError`` that begins so and names the nearest."""
    if value not in known:
        near = difflib.get_close_matches(value, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise UsageError(f"{wrong}; {hint}")


def duration(text: str) -> float:
    """``90``, ``90s``, ``5m``, ``1.5h`` → seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not found or not float(found[1]):
        raise UsageError(f"{text!r} is no time; write 90, 90s, 5m or 1h")
    return float(found[1]) * UNITS[found[2]]


def whole_id(start: str, home: Path) -> str:
    """A session id by its unique start (4 or more characters), as the CLI's transcripts on this machine have it."""
    if len(start) < 4 or not re.fullmatch(r"[0-9a-fA-F-]+", start):
        return start
    found = {path.stem for path in home.glob(f"projects/*/{start}*.jsonl")}
    if len(found) > 1:
        raise UsageError(f"{len(found)} sessions begin with {start}: give more of the id")
    return found.pop() if found else start


LONG_WAIT = 3.0


def read_prompt(given: str | None, *, no_input: bool, timeout: float | None, say: Callable[[str], None]) -> str:
    """The prompt: the argument, stdin (``-``, or none given), or both. Raises ``UsageError``, ``TimeoutError``."""
    if given not in (None, "-") and (no_input or sys.stdin is None or sys.stdin.isatty()):
        piped = ""
    elif given is None and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError('there is no prompt; give one: ropewalk run "…", or pipe it in')
    else:
        piped = _read_stdin(timeout, say)
    words = "\n\n".join(part for part in ("" if given in (None, "-") else given or "", piped.strip("\n")) if part.strip())
    if not words:
        raise UsageError("the prompt is empty; give one as an argument, in quotes, or pipe it in")
    return words


def _read_stdin(timeout: float | None, say: Callable[[str], None]) -> str:
    """All of it. A pipe that stays silent is waited for, but not without a word."""
    descriptor, told, waited = sys.stdin.fileno(), False, 0.0
    pieces: list[bytes] = []
    while True:
        step = min(LONG_WAIT, timeout - waited) if timeout is not None else LONG_WAIT
        ready, _, _ = select.select([descriptor], [], [], max(step, 0))
        if not ready:
            waited += step
            if timeout is not None and waited >= timeout:
                raise TimeoutError
            if not told and not pieces and not sys.stdin.isatty():
                say("reading the prompt from stdin (if there is none: < /dev/null, or --no-input)")
                told = True
            continue
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            return b"".join(pieces).decode("utf-8", "replace")
        pieces.append(piece)
