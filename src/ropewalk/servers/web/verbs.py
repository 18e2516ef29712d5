"""What people and programs may do, by name, with the role that each needs: one table for routes and the live socket.

Refuses nothing itself: the gate asks it, and the hub checks again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from msgspec import Struct

from ...events import commands as c
from ...events.commands import Principal
from ...hub.calls import HubCalls

Call = Callable[[HubCalls, Principal, dict[str, str], Any], Awaitable[Any]]


class Verb(NamedTuple):
    role: c.Role
    body: type[Struct]
    needs: tuple[str, ...]
    """Which ids a frame must name beside its body."""
    call: Call


def _of_session(role: c.Role, body: type[Struct], name: str) -> Verb:
    """A verb of the hub that takes (who, session, command)."""

    def call(hub: HubCalls, who: Principal, ids: dict[str, str], command: Any) -> Awaitable[Any]:
        verb: Callable[[Principal, str, Any], Awaitable[Any]] = getattr(hub, name)
        return verb(who, ids["session"], command)

    return Verb(role, body, ("session",), call)


VERBS: dict[str, Verb] = {
    "create": Verb("prompt", c.CreateSession, (), lambda hub, who, ids, command: hub.create(who, command)),
    "prompt": _of_session("prompt", c.Prompt, "prompt"),
    "edit_prompt": Verb(
        "prompt", c.EditPrompt, ("session", "prompt"),
        lambda hub, who, ids, command: hub.edit_prompt(who, ids["session"], ids["prompt"], command),
    ),
    "withdraw": Verb(
        "prompt", c.Withdraw, ("session", "prompt"),
        lambda hub, who, ids, command: hub.withdraw(who, ids["session"], ids["prompt"], command),
    ),
    "interrupt": _of_session("prompt", c.Interrupt, "interrupt"),
    "stop": _of_session("prompt", c.Stop, "stop"),
    "wake": _of_session("prompt", c.Wake, "wake"),
    "fork": _of_session("prompt", c.Fork, "fork"),
    "rewind": _of_session("prompt", c.Rewind, "rewind"),
    "mode": _of_session("prompt", c.SetMode, "set_mode"),
    "model": _of_session("prompt", c.SetModel, "set_model"),
    "thinking": _of_session("prompt", c.SetThinking, "set_thinking"),
    "environment": _of_session("admin", c.SetEnvironment, "set_environment"),
    "change": _of_session("prompt", c.ChangeSession, "change"),
    "control": _of_session("admin", c.Control, "control"),
    "seen": _of_session("watch", c.Seen, "seen"),
    "mute": _of_session("watch", c.Mute, "mute"),
    "answer": Verb("answer", c.Answer, ("question",), lambda hub, who, ids, command: hub.answer(who, ids["question"], command)),
    "add_rule": Verb("admin", c.NewRule, (), lambda hub, who, ids, command: hub.add_rule(who, command)),
    "change_rule": Verb(
        "admin", c.ChangeRule, ("rule",), lambda hub, who, ids, command: hub.change_rule(who, ids["rule"], command)
    ),
    "end_rule": Verb("answer", c.EndRule, ("rule",), lambda hub, who, ids, command: hub.end_rule(who, ids["rule"], command)),
}  # fmt: skip
