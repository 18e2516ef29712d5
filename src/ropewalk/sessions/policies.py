"""What the configuration says about every tool call, besides rules: a sandbox around commands, absolute names, deadlines.

Refuses to judge: rules judge what was asked, and a policy only changes what then runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..permissions.changes import Change, absolute_paths, changed, sandboxed
from ..permissions.request import Request
from .world import World


def changes_of(world: World) -> tuple[Change, ...]:
    config = world.config
    absolute = (absolute_paths(world.environ.get("HOME", "")),) if config.absolute_paths else ()
    return (*absolute, *((sandboxed(config.sandbox),) if config.sandbox else ()))


def run_instead(request: Request, world: World) -> Mapping[str, Any] | None:
    """The input that shall run instead; None: as it was asked."""
    both = changed(request, changes_of(world))
    return both.run.input if both.is_changed else None


def deadline(world: World, now: float) -> float | None:
    """When a question that is asked now is denied, if nobody answers."""
    return now + world.config.question_deadline if world.config.question_deadline else None
