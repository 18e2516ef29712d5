"""The words of ``ropewalk run``, as typer read them, made into a run. Refuses to start one that can't be meant."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError
from .asked import COLORS, Asked, check_choice, duration, read_prompt
from .codes import TIMED_OUT, Complaint
from .run import Run, complain, keyboard_here
from .screen import Screen, look_around


def begin_run(**words: Any) -> int:
    """Without a hub: the exit code. Raises ``UsageError``."""
    no_input = bool(words["no_input"])
    words["on_question"] = words["on_question"] or "fail"
    asked, screen, code = prepared(**words)
    _quiet_logs(screen.look.verbose)
    return code if asked is None else asyncio.run(Run(asked, screen, keyboard_here(no_input)).go())


def prepared(
    *, prompt: str | None, as_json: bool, output: str, timeout: str | None, quiet: bool, verbose: bool, color: str,
    ascii_only: bool, no_input: bool, allow: Sequence[str] | None, deny: Sequence[str] | None, **more: object,
) -> tuple[Asked | None, Screen, int]:  # fmt: skip
    """What is asked, with its prompt, and where it is told; or None and an exit code. Raises ``UsageError``."""
    if as_json and output == "stream-json":
        raise UsageError("--json is one object and stream-json many lines: choose one")
    output = "json" if as_json else output
    check_choice("color", color, COLORS)
    screen = Screen(look_around(color, ascii_only=ascii_only, quiet=quiet or output != "text", verbose=verbose))
    limit = duration(timeout) if timeout is not None else None
    asked = Asked(prompt="", output=output, timeout=limit, allow=allow or (), deny=deny or (), **more)  # type: ignore[arg-type]
    asked.check()
    try:
        words = read_prompt(prompt, no_input=no_input, timeout=limit, say=lambda said: screen.say(f"ropewalk: {said}"))
    except TimeoutError:
        complain(screen, Complaint(TIMED_OUT, "no prompt came from stdin in time (--timeout). Give one as an argument."))
        return None, screen, TIMED_OUT
    return Asked(**{name: getattr(asked, name) for name in Asked.__slots__} | {"prompt": words}), screen, 0


def _quiet_logs(verbose: bool) -> None:
    """The library's log is for programs; a person reads the screen."""
    logger = logging.getLogger("ropewalk")
    logger.addHandler(logging.NullHandler())
    logger.propagate = verbose
