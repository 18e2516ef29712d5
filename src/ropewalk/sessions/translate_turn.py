"""The beginning and the end of a turn, and what init tells besides. Pure; refuses to count turns against prompts."""

from __future__ import annotations

from typing import Any

import msgspec

from ..events import events as e
from ..events.events import TEXT_LIMIT
from ..protocol.content import Usage
from ..protocol.messages import Result
from ..protocol.system import Init
from ..protocol.words import STOPS, advice, why_it_ended
from .clean import cut, harmless
from .memory import Memory
from .translate_tasks import never_begun

CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded"})


def on_init(memory: Memory, message: Init) -> list[e.Event]:
    """A second init before the result goes on with the same turn (2.1.62 with sub-agents in the background)."""
    known, events = memory.known, list[e.Event]()
    if not known.running:
        known.turn, known.running = known.turn + 1, True
        memory.begin_turn()
        events.append(
            e.TurnStarted(
                turn=known.turn,
                model=message.model,
                mode=message.permissionMode,
                tools=message.tool_names,
                cwd=message.cwd,
                version=message.claude_code_version,
            )
        )
    known.cli_session = message.session_id or known.cli_session
    memory.folder = message.cwd or memory.folder
    events += mode_told(memory, message.permissionMode)
    if message.model:
        if known.model is not None and known.model != message.model:
            events.append(e.ModelChanged(model=message.model))
        known.model = message.model
    servers: list[dict[str, Any]] = [{"name": one.name, "status": one.status} for one in message.mcp_servers]
    if servers != known.servers:
        known.servers = servers
        events.append(e.McpChanged(servers=servers))
    return events


def mode_told(memory: Memory, mode: str | None) -> list[e.Event]:
    known = memory.known
    before, known.mode = known.mode, mode or known.mode
    return [e.ModeChanged(mode=mode)] if mode and before is not None and before != mode else []


def on_result(memory: Memory, message: Result) -> list[e.Event]:
    known = memory.known
    if not known.running:  # a resume of nothing, or a command that no init announced
        known.turn += 1
    known.running = False
    known.cost_usd += message.cost_usd
    text, long = cut(message.result or ("" if message.failed else memory.words))
    stop = message.stop_reason or memory.stop
    structured = _structured(message.structured_output)
    ended = e.TurnEnded(
        turn=known.turn,
        prompts=list(message.prompts),
        failed=message.failed,
        interrupted=message.interrupted,
        subtype=message.subtype,
        text=text,
        cut=long,
        reasons=[cut(reason)[0] for reason in message.reasons[:50]],
        cost_usd=message.cost_usd,
        duration_ms=message.duration_ms,
        tokens=_tokens(message.usage),
        empty=_said_nothing(memory, message, text),
        cut_off=stop in CUT_OFF or memory.error == "max_output_tokens",
        denials=len(message.permission_denials),
        structured=structured,
        error=memory.error if message.failed else "",
        advice=_advice(memory, message, stop),
    )
    memory.begin_turn()
    return [ended, _usage(memory, message), *never_begun(memory)]


def _said_nothing(memory: Memory, message: Result, text: str) -> bool:
    """No round of the model, no word, and nothing else either: after a resume, a silent failure."""
    quiet = not (message.failed or message.interrupted or message.num_turns or text or memory.happened)
    return quiet and message.local_command is None and message.structured_output is None


def _advice(memory: Memory, message: Result, stop: str | None) -> str:
    if message.failed and not message.interrupted and memory.error:
        return advice(memory.error)
    if message.failed or message.interrupted:
        return why_it_ended(message)
    return STOPS.get(stop or "", "")


def _tokens(usage: Usage | None) -> e.Tokens | None:
    if usage is None:
        return None
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return e.Tokens(input=usage.input_tokens, output=usage.output_tokens, cache_read=read, cache_write=written)


def _usage(memory: Memory, message: Result) -> e.Event:
    known = memory.known
    told = message.modelUsage.get(known.model or "") or next(iter(message.modelUsage.values()), None)
    if told is not None and told.contextWindow:
        known.context_window = told.contextWindow
    models = {
        name: e.Tokens(
            input=one.inputTokens,
            output=one.outputTokens,
            cache_read=one.cacheReadInputTokens,
            cache_write=one.cacheCreationInputTokens,
        )
        for name, one in message.modelUsage.items()
    }
    return e.UsageReported(
        cost_usd=known.cost_usd,
        context_tokens=known.context_tokens,
        context_window=known.context_window,
        models=models,
    )


def _structured(value: Any) -> Any:
    """As it came; nothing when it is longer than an event may be: the line has it."""
    if value is None:
        return None
    kept = harmless(value)
    return kept if len(msgspec.json.encode(kept)) <= TEXT_LIMIT else None
