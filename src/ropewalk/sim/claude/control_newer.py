"""Requests that only 2.1.326 knows, with the answers that were measured. Refuses the names that were only read in the program."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import greeting, results
from .session import Json

if TYPE_CHECKING:
    from .control import Control

APPLIED = {
    "effort": "medium", "advisor": None, "ultracode": False, "ultracodeRequested": False, "ultracodeAvailable": True,
    "ultrathinkAvailable": False, "outsideFileToolReadsBlocked": False, "outsideFileToolWritesBlocked": False,
    "outsideBlocksCountLaunchFoldersOnly": False, "launchEnvLeftOwnFilesInPlace": True,
}  # fmt: skip
BREAKDOWN: Json = {
    "toolCallTokens": 0, "toolResultTokens": 0, "attachmentTokens": 0, "assistantMessageTokens": 0, "userMessageTokens": 0,
    "redirectedContextTokens": 0, "unattributedTokens": 0, "toolCallsByType": [], "attachmentsByType": [],
}  # fmt: skip
RATED = (
    'message_rated: messageUuid must be a string, sentiment "positive" or "negative", surface "tool_use" or "assistant_text", '
    "and cleared a boolean"
)


class Newer:
    """One method a subtype, as in control.py."""

    def __init__(self, control: Control) -> None:
        self.control, self.program = control, control.program
        self.known: dict[str, Callable[[str, Json], None]] = {
            "get_context_usage": self._context,
            "get_settings": lambda rid, _: self._yes(
                rid, {"effective": {}, "sources": [], "applied": {"model": self._model, **APPLIED}}
            ),
            "get_usage": self._usage,
            "get_session_cost": lambda rid, _: self._yes(
                rid, {"text": f"Estimated cost:        ${self.program.session.purse.total:.4f}"}
            ),
            "get_binary_version": self._version,
            "get_plan": self._plan,
            "file_suggestions": self._files,
            "reload_plugins": self._plugins,
            "reload_skills": lambda rid, _: self._yes(rid, {"skills": self._commands()}),
            "rename_session": self._rename,
            "generate_session_title": lambda rid, _: self._yes(rid, {"title": None}),
            "side_question": self._side_question,
            "cancel_async_message": self._cancel,
            "seed_read_state": lambda rid, _: self._yes(rid),
            "background_tasks": lambda rid, _: self._yes(rid, {}),
            "mcp_call": lambda rid, request: self.control.no(rid, f"Not a fully-qualified MCP tool name: {request.get('tool')}"),
            "end_session": self._end,
            "message_rated": self._rated,
        }

    def _yes(self, request_id: str, response: Json | None = None) -> None:
        self.control.yes(request_id, response)

    @property
    def _model(self) -> str:
        return self.program.session.model

    def _commands(self) -> list[Json]:
        commands: list[Json] = greeting.initialize_response(self.program.lines, False)["commands"]
        return commands

    def _context(self, request_id: str, request: Json) -> None:
        window = self.program.traits.context_window
        prompt = {"id": "system_prompt", "name": "System prompt", "tokens": 90, "color": "promptBorder", "kind": "used"}
        answer: Json = {"categories": [prompt], "totalTokens": 2154, "maxTokens": window, "rawMaxTokens": window}
        answer |= {"autocompactSource": "model-default", "percentage": 0, "gridRows": [], "model": self._model}
        answer |= {name: [] for name in ("memoryFiles", "mcpTools", "mcpInstructions", "agents")}
        answer["slashCommands"] = {"totalCommands": 9, "includedCommands": 9, "tokens": 0}
        answer["skills"] = {"totalSkills": 3, "includedSkills": 3, "tokens": 0, "skillFrontmatter": []}
        answer |= {"autoCompactThreshold": window - 33_000, "isAutoCompactEnabled": True, "messageBreakdown": dict(BREAKDOWN)}
        answer["apiUsage"] = {f"{name}_tokens": 0 for name in ("input", "output", "cache_creation_input", "cache_read_input")}
        self._yes(request_id, answer)

    def _usage(self, request_id: str, request: Json) -> None:
        spent: Json = {"total_cost_usd": self.program.session.purse.total, "total_api_duration_ms": 1, "total_duration_ms": 1}
        spent |= {"total_lines_added": 0, "total_lines_removed": 0, "model_usage": results.model_usage(self.program.lines)}
        limits = {"subscription_type": None, "rate_limits_available": False, "rate_limits": None, "behaviors": None}
        self._yes(request_id, {"session": spent, **limits})

    def _version(self, request_id: str, request: Json) -> None:
        answer = {"version": self.program.traits.version, "buildTime": "2026-11-16T17:02:27Z", "oldestDesktopSdk": "0.3.280"}
        self._yes(request_id, answer)

    def _plan(self, request_id: str, request: Json) -> None:
        path = self.program.session.plan_file
        if path is None or not os.path.exists(path):
            return self._yes(request_id, {"exists": False})
        with open(path, encoding="utf-8") as file:
            return self._yes(request_id, {"exists": True, "plan": file.read(), "filePath": path})

    def _files(self, request_id: str, request: Json) -> None:
        query, cwd = str(request.get("query", "")), self.program.session.cwd
        names = sorted(name for name in os.listdir(cwd) if query and query in name)
        self._yes(request_id, {"suggestions": [{"path": name} for name in names], "cwd": cwd})

    def _plugins(self, request_id: str, request: Json) -> None:
        agents = [{"name": name, "description": f"The {name} agent."} for name in self.program.traits.agents]
        self._yes(request_id, {"commands": self._commands(), "agents": agents, "plugins": [], "mcpServers": [], "error_count": 0})

    def _rename(self, request_id: str, request: Json) -> None:
        self.program.session.title = str(request.get("title"))
        self.program.say(self.program.lines.system("session_title_changed", {"title": self.program.session.title}))
        self._yes(request_id)

    def _side_question(self, request_id: str, request: Json) -> None:
        fields = {"request_id": request_id, "status": "started"}
        self.program.say(self.program.lines.system("control_request_progress", fields))
        self._yes(request_id, {"response": self.program.script.side_answer(), "synthetic": False})

    def _cancel(self, request_id: str, request: Json) -> None:
        prompt_uuid = str(request.get("message_uuid"))
        cancelled = self.program.prompts.drop(prompt_uuid)
        if cancelled:
            self.program.say(self.program.lines.lifecycle(prompt_uuid, "cancelled"))
        self._yes(request_id, {"cancelled": cancelled} | ({"message_uuid": prompt_uuid} if cancelled else {}))

    def _end(self, request_id: str, request: Json) -> None:
        self._yes(request_id)
        self.program.end_input()

    def _rated(self, request_id: str, request: Json) -> None:
        good = isinstance(request.get("messageUuid"), str) and request.get("sentiment") in ("positive", "negative")
        return self._yes(request_id) if good else self.control.no(request_id, RATED)
