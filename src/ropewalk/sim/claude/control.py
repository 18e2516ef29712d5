"""Requests of the controller and their answers: the classic ones. Refuses what the version does not know, in its manner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from . import greeting
from .control_newer import Newer
from .lines import refusal, success
from .session import Json

if TYPE_CHECKING:
    from .program import Program

CHECKED_MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
NOT_LAUNCHED = (
    "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions"
)
Act = Callable[[str, Json], None]


class Control:
    """One method a subtype; each sends its own answer."""

    def __init__(self, program: Program) -> None:
        self.program, self.traits = program, program.traits
        self.greeted = False
        self._pending: set[asyncio.Task[None]] = set()
        self._known: dict[str, Act] = {
            "initialize": self._initialize,
            "interrupt": self._interrupt,
            "set_permission_mode": self._set_mode,
            "set_model": self._set_model,
            "set_max_thinking_tokens": self._nothing,
            "mcp_status": lambda rid, _: self.yes(rid, {"mcpServers": program.mcp.status()}),
            "mcp_set_servers": self._set_servers,
            "mcp_reconnect": self._reconnect,
            "mcp_toggle": self._toggle,
            "mcp_message": self._nothing,
            "rewind_files": self._rewind,
        }
        if self.traits.stop_task:
            self._known["stop_task"] = self._stop_task
        if self.traits.apply_flag_settings:
            self._known["apply_flag_settings"] = self._nothing
        if self.traits.newer_requests:
            self._known |= Newer(self).known

    def handle(self, request_id: str, request: Json) -> None:
        subtype = str(request.get("subtype"))
        act = self._known.get(subtype)
        if act is not None:
            act(request_id, request)
        elif self.traits.unknown_request != "silence":
            code = "unsupported_request" if self.traits.unknown_request == "error_code" else None
            self.no(request_id, f"Unsupported control request subtype: {subtype}", code)

    def yes(self, request_id: str, response: Json | None = None) -> None:
        self.program.say(success(request_id, response))

    def no(self, request_id: str, error: str, code: str | None = None) -> None:
        self.program.say(refusal(request_id, error, code))

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Work that waits for the controller; a turn begins when it is done."""
        task = self.program.group.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def ready(self) -> None:
        if self._pending:
            await asyncio.wait(set(self._pending))

    def stop(self) -> None:
        for task in self._pending:
            task.cancel()

    def _nothing(self, request_id: str, request: Json) -> None:
        self.yes(request_id)

    def _initialize(self, request_id: str, request: Json) -> None:
        again = self.greeted or (self.program.prompted and self.traits.second_initialize == "error")
        first, self.greeted = not self.greeted, True
        if again and self.traits.second_initialize == "error":
            line = refusal(request_id, "Already initialized")
            line["response"]["pending_permission_requests"] = self.program.questions.pending()
            self.program.say(line)
            return
        if first:
            self._take_options(request)
        self.later(self._greet(request_id, again or self.program.prompted))

    def _take_options(self, request: Json) -> None:
        self.program.hooks.register(request.get("hooks"))
        self.program.mcp.register(request.get("sdkMcpServers"))
        if isinstance(request.get("jsonSchema"), dict):
            self.program.schema = request["jsonSchema"]

    async def _greet(self, request_id: str, again: bool) -> None:
        """2.1.326 greets our servers before it answers, the others after (measured)."""
        servers = [server for server in self.program.mcp.servers.values() if server.status == "pending"]
        if self.traits.mcp_first:
            await asyncio.gather(*(self.program.mcp.greet(server) for server in servers))
        line = success(request_id, greeting.initialize_response(self.program.lines, self.program.busy))
        if self.traits.second_initialize == "success":
            line["response"] |= {
                "pending_permission_requests": self.program.questions.pending(),
                "pending_user_dialog_requests": [],
            }
        if self.traits.second_initialize == "success" and self.program.hooks.registered:
            line["response"]["response"]["hooks_applied"] = True
        self.program.say(line)
        if again:
            self.program.say(self.program.lines.system("background_tasks_changed", {"tasks": self.program.tasks.listed()}))
        for server in servers:
            await (self.program.mcp.list_tools(server) if self.traits.mcp_first else self.program.mcp.connect(server))

    def _interrupt(self, request_id: str, request: Json) -> None:
        self.program.interrupt()
        self.yes(request_id, {"still_queued": self.program.prompts.uuids()} if self.traits.interrupt_receipt else None)

    def _set_mode(self, request_id: str, request: Json) -> None:
        mode, session = str(request.get("mode")), self.program.session
        if self.traits.checks_modes and mode not in CHECKED_MODES:
            words = f"Cannot set permission mode: must be one of {', '.join(CHECKED_MODES)}"
            return self.no(request_id, words, "invalid_mode")
        if self.traits.checks_modes and mode == "bypassPermissions" and not session.bypass_launched:
            return self.no(request_id, NOT_LAUNCHED, "bypass_not_launched")
        changed, session.mode = session.mode != mode, mode
        self.yes(request_id, {"mode": mode})
        if self.traits.double_mode_answer:
            self.yes(request_id)
        if self.traits.checks_modes and changed:
            self.program.say(self.program.lines.mode_status())
        return None

    def _set_model(self, request_id: str, request: Json) -> None:
        asked = request.get("model")
        model = self.program.default_model if asked in (None, "default") else str(asked)
        changed, self.program.session.model = self.program.session.model != model, model
        if self.traits.model_told and changed and self.program.prompted:
            words = f"<local-command-stdout>Set model to `{model}`</local-command-stdout>"
            self.program.say(self.program.lines.replay(words, None))
        self.yes(request_id, {"model": model} if self.traits.model_told else None)

    def _set_servers(self, request_id: str, request: Json) -> None:
        table = request.get("servers")
        before = set(self.program.mcp.servers)
        self.yes(request_id, self.program.mcp.replace(table if isinstance(table, dict) else {}))
        for name, server in self.program.mcp.servers.items():
            if name not in before and server.kind == "sdk":
                self.later(self.program.mcp.connect_late(server))

    def _reconnect(self, request_id: str, request: Json) -> None:
        server = self.program.mcp.servers.get(str(request.get("serverName")))
        if server is None or (server.dynamic and not self.traits.knows_dynamic_servers):
            return self.no(request_id, f"Server not found: {request.get('serverName')}")
        return self.no(request_id, server.error) if server.error else self.yes(request_id)

    def _toggle(self, request_id: str, request: Json) -> None:
        server = self.program.mcp.servers.get(str(request.get("serverName")))
        if server is None or (server.dynamic and not self.traits.knows_dynamic_servers):
            return self.no(request_id, f"Server not found: {request.get('serverName')}")
        if request.get("enabled") and server.error:
            server.status = "failed"
            return self.no(request_id, server.error)
        server.status = "connected" if request.get("enabled") else "disabled"
        return self.yes(request_id)

    def _rewind(self, request_id: str, request: Json) -> None:
        checkpoints = self.program.checkpoints
        if not checkpoints.enabled:
            return self.yes(request_id, {"canRewind": False, "error": "File rewinding is not enabled."})
        dry = bool(request.get("dry_run"))
        answer = checkpoints.rewind(str(request.get("user_message_id")), dry)
        if answer is None:
            return self.no(request_id, "No file checkpoint found for this message.")
        return self.yes(request_id, answer | ({"skippedLinks": 0} if self.traits.newer_requests and not dry else {}))

    def _stop_task(self, request_id: str, request: Json) -> None:
        task_id = str(request.get("task_id"))
        if not self.program.tasks.stop(task_id) and not self.traits.stop_task_told:
            return self.no(request_id, f"No task found with ID: {task_id}")
        return self.yes(request_id, {})
