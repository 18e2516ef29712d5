"""Hooks that live in your program: registered at initialize, called by the CLI, answered always. Refuses unknown events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..errors import UsageError
from ..protocol.control import HookCallback
from ..protocol.versions import HOOK_EVENTS


class HookInput(Struct, frozen=True):
    """What a hook is told. ``fields`` has all of it: session_id, cwd, tool_name, tool_input, prompt … by event."""

    event: str
    fields: dict[str, Any]
    tool_use_id: str | None

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


class HookAnswer(Struct, frozen=True, kw_only=True):
    """What a hook may say. All empty: go on as usual. ``specific`` is the event's own part, see ``permission``."""

    go_on: bool | None = None
    suppress_output: bool | None = None
    stop_reason: str | None = None
    decision: str | None = None
    reason: str | None = None
    system_message: str | None = None
    specific: Mapping[str, Any] | None = None

    @classmethod
    def permission(
        cls, verdict: str, reason: str | None = None, updated_input: Mapping[str, Any] | None = None, context: str | None = None
    ) -> HookAnswer:
        """For PreToolUse: "allow" (with other input, if given), "deny" or "ask". Raises ``UsageError`` on another word."""
        if verdict not in ("allow", "deny", "ask"):
            raise UsageError(f"a hook's verdict is allow, deny or ask, not {verdict!r}")
        specific: dict[str, Any] = {"hookEventName": "PreToolUse", "permissionDecision": verdict}
        optional = {"permissionDecisionReason": reason, "updatedInput": updated_input, "additionalContext": context}
        return cls(specific=specific | {name: value for name, value in optional.items() if value is not None})

    def payload(self) -> dict[str, Any]:
        """In the wire's spelling, empty parts left out."""
        said = {
            "continue": self.go_on,
            "suppressOutput": self.suppress_output,
            "stopReason": self.stop_reason,
            "decision": self.decision,
            "reason": self.reason,
            "systemMessage": self.system_message,
            "hookSpecificOutput": dict(self.specific) if self.specific is not None else None,
        }
        return {name: value for name, value in said.items() if value is not None}


class Later(Struct, frozen=True):
    """The hook goes on by itself; the CLI does not wait for it longer than ``seconds``."""

    seconds: float

    def payload(self) -> dict[str, Any]:
        return {"async": True, "asyncTimeout": int(self.seconds * 1000)}


HookReply = HookAnswer | Later | Mapping[str, Any] | None
HookFunction = Callable[[HookInput], HookReply | Awaitable[HookReply]]


class Hook(Struct, frozen=True):
    """A function for the tools that ``matcher`` names ("Bash", "Edit|Write"; None: all). ``timeout``: the CLI's patience in s."""

    function: HookFunction
    matcher: str | None = None
    timeout: float | None = None


Hooks = Mapping[str, Sequence[Hook | HookFunction]]


class HookBook:
    """The registered hooks by callback id."""

    __slots__ = ("_functions", "registration")

    def __init__(self, hooks: Hooks) -> None:
        self._functions: dict[str, tuple[str, HookFunction]] = {}
        self.registration: dict[str, list[dict[str, Any]]] = {}
        for event, entries in hooks.items():
            if event not in HOOK_EVENTS:
                raise UsageError(f"no hook event {event!r}; there are {', '.join(HOOK_EVENTS)}")
            self.registration[event] = [self._enter(event, entry) for entry in entries]

    def _enter(self, event: str, entry: Hook | HookFunction) -> dict[str, Any]:
        hook = entry if isinstance(entry, Hook) else Hook(entry)
        callback_id = f"{event}-{len(self._functions)}"
        self._functions[callback_id] = (event, hook.function)
        registered: dict[str, Any] = {"hookCallbackIds": [callback_id]}
        if hook.matcher is not None:
            registered["matcher"] = hook.matcher
        if hook.timeout is not None:
            registered["timeout"] = hook.timeout
        return registered

    def event_of(self, asked: HookCallback) -> str:
        """What the hook was registered for; nothing for an id that is not ours."""
        return self._functions.get(asked.callback_id, ("", None))[0]

    def call(self, asked: HookCallback) -> HookReply | Awaitable[HookReply]:
        """Run the hook. Raises ``UsageError`` for an id that is not ours."""
        found = self._functions.get(asked.callback_id)
        if found is None:
            raise UsageError(f"no hook {asked.callback_id or asked.hook_name!r} is registered here")
        event, function = found
        return function(HookInput(event, asked.input, asked.tool_use_id))


def hook_payload(reply: HookReply) -> dict[str, Any]:
    """What goes back over the wire."""
    if isinstance(reply, HookAnswer | Later):
        return reply.payload()
    return dict(reply or {})
