"""What the CLI says of itself: ``system/init`` of each turn and the answer to ``initialize``. Refuses to vary its keys."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .lines import Lines
from .session import Json
from .versions import Traits

INIT_CAPABILITIES = (
    "interrupt_receipt_v1", "interrupt_cancel_queued_v1", "interrupt_send_now_v1", "interrupt_requeue_taken_v1",
    "msg_lifecycle_v1", "request_marker_lists_v1",
)  # fmt: skip
HOST_CAPABILITIES = (
    "ui_surface_v1",
    "mcp_call_result_not_for_model_v1",
    "mcp_call_check_permissions_v1",
    "reload_plugins_refuse_if_busy_v1",
)
FAST_MODE = {"fast_mode_state": "off", "fast_mode_disabled_reason": "sdk_opt_in_required"}
INTERACTIVE = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")


def init(lines: Lines, tools: Sequence[str], servers: Sequence[Json], prompt_uuids: Sequence[str]) -> Json:
    session, traits = lines.session, lines.traits
    line: Json = {
        "type": "system",
        "subtype": "init",
        "cwd": session.cwd,
        "session_id": session.id,
        "tools": list(tools),
        "mcp_servers": list(servers),
        "model": session.model,
        "permissionMode": session.mode,
        "slash_commands": list(traits.slash_commands),
        "apiKeySource": "ANTHROPIC_API_KEY",
        "claude_code_version": traits.version,
        "output_style": "default",
        "agents": list(traits.agents),
        "skills": list(traits.skills),
        "plugins": [],
        "uuid": session.new_id(),
    }
    if traits.version != "2.1.37":
        line["fast_mode_state"] = "off"
    if traits.on_the_way:
        line |= {"analytics_disabled": True, "memory_paths": _memory(lines)}
    return line | _newer_init(lines, prompt_uuids) if traits.rich_results else line


def _memory(lines: Lines) -> Json:
    return {"auto": f"{lines.session.config_dir}/projects/{lines.session.cwd.replace('/', '-')}/memory/"}


def _newer_init(lines: Lines, prompt_uuids: Sequence[str]) -> Json:
    session = lines.session
    more: Json = {
        "terminal_slash_commands": ["doctor", "color"],
        "plugins": [{"name": "cc-plugin-agents-md", "path": "builtin", "source": "cc-plugin-agents-md@builtin"}],
        "capabilities": list(INIT_CAPABILITIES),
        "analytics_disabled": True,
        "product_feedback_disabled": True,
        "memory_paths": _memory(lines),
        "original_cwd": session.cwd,
        "additional_directories": list(session.directories),
        "messaging_socket_path": f"/tmp/cc-socks/{os.getpid()}.sock",
        **FAST_MODE,
        "per_turn_effort_active": True,
        "ultrathink_available": False,
        "ultrathink_typed_raises": False,
        "view_mode": "default",
    }
    if prompt_uuids:
        more["user_message_uuids"] = list(prompt_uuids)
    return more


def initialize_response(lines: Lines, busy: bool) -> Json:
    session, traits = lines.session, lines.traits
    answer: Json = {"commands": [_command(name, traits) for name in traits.slash_commands]}
    if traits.rich_results or traits.on_the_way:
        answer["agents"] = [{"name": name, "description": f"The {name} agent."} for name in traits.agents]
    answer |= {"output_style": "default", "available_output_styles": list(traits.output_styles)}
    if traits.rich_results:
        answer["user_output_styles_dir"] = f"{session.config_dir}/output-styles"
    answer["models"] = [_model(name, traits) for name in ("default", "opus", "haiku")]
    answer["account"] = {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"}
    if traits.on_the_way:
        answer["account"]["apiProvider"] = "firstParty"
    if traits.version != "2.1.37":
        answer["pid"] = os.getpid()
    return answer | _newer_answer(lines, busy) if traits.rich_results else answer


def _newer_answer(lines: Lines, busy: bool) -> Json:
    return {
        "account": {"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty"},
        "claude_code_version": lines.traits.version,
        "current_permission_mode": lines.session.mode,
        "hook_on_failure_supported": True,
        "hooks_when_unanswered_kept": 0,
        "other_hook_ask_outranks_host": True,
        "feedback_mode": {"kind": "disabled"},
        "analytics_disabled": True,
        "remote_control_auto_enable": False,
        "remote_control_auto_connect_default": False,
        "remote_control_available": False,
        "remote_control_auto_on_by_default": False,
        "ide_rc_auto_enable_gate": False,
        **FAST_MODE,
        "session_state": "running" if busy else "idle",
        "capabilities": list(HOST_CAPABILITIES),
    }


def _command(name: str, traits: Traits) -> Json:
    command: Json = {"name": name, "description": f"The /{name} command.", "argumentHint": ""}
    return command | {"builtin": True} if traits.rich_results else command


def _model(name: str, traits: Traits) -> Json:
    model: Json = {"value": name, "displayName": name.title(), "description": f"The {name} model of the scenario"}
    if traits.rich_results:
        model["resolvedModel"] = traits.model
    if traits.version != "2.1.37":
        model |= {"supportsEffort": True, "supportedEffortLevels": ["low", "medium"], "supportsAdaptiveThinking": True}
    if traits.rich_results:
        model |= {"supportsFastMode": True, "supportsAutoMode": True, "supportsThinkingOff": False}
    return model
