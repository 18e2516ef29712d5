"""Requests of the controller and their answers. Refuses what the version does not know, in the version's manner."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import greeting
from .lines import refusal, success
from .session import Json

if TYPE_CHECKING:
    from .program import Program

CHECKED_MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")


class Control:
    """One method a subtype; each sends its own answer."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.traits = program.traits
        self.greeted = False
        self._known: dict[str, Callable[[str, Json], None]] = {
            "initialize": self._initialize,
            "interrupt": self._interrupt,
            "set_permission_mode": self._set_mode,
            "set_model": self._set_model,
            "set_max_thinking_tokens": lambda rid, request: self._yes(rid),
        }

    def handle(self, request_id: str, request: Json) -> None:
        subtype = str(request.get("subtype"))
        act = self._known.get(subtype)
        if act is not None:
            act(request_id, request)
        elif self.traits.unknown_request != "silence":
            code = "unsupported_request" if self.traits.unknown_request == "error_code" else None
            self.program.say(refusal(request_id, f"Unsupported control request subtype: {subtype}", code))

    def _yes(self, request_id: str, response: Json | None = None) -> None:
        self.program.say(success(request_id, response))

    def _initialize(self, request_id: str, request: Json) -> None:
        again = self.greeted or (self.program.prompted and self.traits.second_initialize == "error")
        self.greeted = True
        pending = self.program.questions.pending()
        if again and self.traits.second_initialize == "error":
            line = refusal(request_id, "Already initialized")
            line["response"]["pending_permission_requests"] = pending
        else:
            line = success(request_id, greeting.initialize_response(self.program.lines, self.program.busy))
            if self.traits.second_initialize == "success":
                line["response"] |= {"pending_permission_requests": pending, "pending_user_dialog_requests": []}
        self.program.say(line)

    def _interrupt(self, request_id: str, request: Json) -> None:
        self.program.interrupt()
        self._yes(request_id, {"still_queued": self.program.prompts.uuids()} if self.traits.interrupt_receipt else None)

    def _set_mode(self, request_id: str, request: Json) -> None:
        mode, session = str(request.get("mode")), self.program.session
        if self.traits.checks_modes and mode not in CHECKED_MODES:
            words = f"Cannot set permission mode: must be one of {', '.join(CHECKED_MODES)}"
            self.program.say(refusal(request_id, words, "invalid_mode"))
            return
        if self.traits.checks_modes and mode == "bypassPermissions" and not session.bypass_launched:
            words = (
                "Cannot set permission mode to bypassPermissions because the session was not launched with "
                "--dangerously-skip-permissions"
            )
            self.program.say(refusal(request_id, words, "bypass_not_launched"))
            return
        changed, session.mode = session.mode != mode, mode
        self._yes(request_id, {"mode": mode})
        if self.traits.double_mode_answer:
            self._yes(request_id)
        if self.traits.checks_modes and changed:
            self.program.say(self.program.lines.mode_status())

    def _set_model(self, request_id: str, request: Json) -> None:
        asked = request.get("model")
        model = self.program.default_model if asked in (None, "default") else str(asked)
        changed, self.program.session.model = self.program.session.model != model, model
        if self.traits.model_told and changed:
            words = f"<local-command-stdout>Set model to `{model}`</local-command-stdout>"
            self.program.say(self.program.lines.replay(words, None))
        self._yes(request_id, {"model": model} if self.traits.model_told else None)
