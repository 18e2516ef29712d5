"""The ``result`` line: how a turn ended and what it cost. Refuses to decide how it ended."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from .greeting import FAST_MODE
from .lines import Lines
from .session import Json, Usage


@dataclass
class Ending:
    """How a turn ended, in the words of 2.1.326; older versions leave out what they do not say."""

    subtype: str = "success"
    is_error: bool = False
    text: str = ""
    reason: str | None = "completed"
    stop_reason: str | None = "end_turn"
    errors: list[str] = field(default_factory=list)
    api_status: int | None = None
    counts_usage: bool = True
    timed: bool = True
    more: Json = field(default_factory=dict)


@dataclass
class Tally:
    """What is counted while a turn runs."""

    began: float = field(default_factory=time.monotonic)
    calls: int = 0
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    since_last: dict[str, Usage] = field(default_factory=dict)
    denials: list[Json] = field(default_factory=list)
    prompt_uuids: list[str] = field(default_factory=list)
    first_call: Usage | None = None
    began_with_uuid: bool = False


def result(lines: Lines, tally: Tally, ending: Ending, **more: object) -> Json:
    """Key order as recorded: 2.1.326 begins with ``duration_api_ms``, the older ones with ``type``."""
    spent = int((time.monotonic() - tally.began) * 1000)
    line = _newer(lines, tally, ending, spent) if lines.traits.rich_results else _older(lines, tally, ending, spent)
    lines.session.results += 1
    return line | ending.more | more


def _older(lines: Lines, tally: Tally, ending: Ending, spent: int) -> Json:
    session = lines.session
    line: Json = {"type": "result", "subtype": ending.subtype, "is_error": ending.is_error, "duration_ms": spent}
    line |= {"duration_api_ms": spent, "num_turns": tally.rounds}
    if ending.subtype == "success":
        line["result"] = ending.text
    line |= {"stop_reason": ending.stop_reason, "session_id": session.id, "total_cost_usd": session.purse.total}
    line |= {"usage": turn_usage(lines, tally.usage if ending.counts_usage else Usage()), "modelUsage": model_usage(lines)}
    line |= {"permission_denials": tally.denials, "uuid": session.new_id()}
    if ending.subtype != "success":
        line["errors"] = ending.errors
    if lines.traits.on_the_way and ending.reason is not None:
        line |= {"api_error_status": ending.api_status, "fast_mode_state": "off", "terminal_reason": ending.reason}
    return line


def _newer(lines: Lines, tally: Tally, ending: Ending, spent: int) -> Json:
    session = lines.session
    line: Json = {
        "duration_api_ms": spent,
        "stop_reason": ending.stop_reason,
        "session_id": session.id,
        "total_cost_usd": session.purse.total,
        "usage": turn_usage(lines, tally.usage if ending.counts_usage else Usage()),
        "modelUsage": model_usage(lines),
        "permission_denials": tally.denials,
        "terminal_reason": ending.reason,
        **FAST_MODE,
        "subagent_stats": lines.session.agents or agent_stats(),
        "safety_stops": 0,
        "is_error": ending.is_error,
        "num_turns": tally.rounds,
        "subtype": ending.subtype,
    }
    if ending.reason is None:
        del line["terminal_reason"]
    timed = ending.timed and ending.subtype == "success"
    if ending.subtype == "success":
        line |= {"api_error_status": ending.api_status, "result": ending.text}
    else:
        line["errors"] = ending.errors
    if timed:
        line["ttft_ms"] = min(spent, 1)
    line |= {"type": "result", "duration_ms": spent, "uuid": session.new_id()}
    if timed:
        line |= {"ttft_stream_ms": 1, "time_to_request_ms": 1, "first_content_frame_ms": 1}
    if tally.prompt_uuids:
        line |= {"user_message_uuid": tally.prompt_uuids[-1], "user_message_uuids": list(tally.prompt_uuids)}
    if tally.began_with_uuid and timed and tally.first_call:
        line |= {"request_sent_wall_ms": int(time.time() * 1000), "first_request_input_tokens": tally.first_call.tokens_in}
        line["first_request_cache_read_input_tokens"] = tally.first_call.cache_read
    line |= {"queued_turn_count": 0, "result_index": session.results}
    return line | {"model_usage_since_last_result": {name: _of_model(lines, usage) for name, usage in tally.since_last.items()}}


def local_result(lines: Lines, tally: Tally, text: str, name: str | None) -> Json:
    """What ends a local slash command: 2.1.326 leaves out what no model call brought."""
    line = result(lines, tally, Ending(text=text, stop_reason=None, timed=False, counts_usage=False))
    if lines.traits.rich_results:
        line = {key: value for key, value in line.items() if key not in ("terminal_reason", "api_error_status")}
        line |= {"local_command": name} if name else {}
    return line


def launch_failure(lines: Lines, words: str) -> Json:
    """The result of a launch that found no session: all versions spell it the old way, 2.1.326 adds its number."""
    line = _older(lines, Tally(), Ending("error_during_execution", True, stop_reason=None, errors=[words]), 0)
    return line | {"result_index": 0} if lines.traits.rich_results else line


def turn_usage(lines: Lines, usage: Usage) -> Json:
    table: Json = {
        "input_tokens": usage.tokens_in,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.tokens_out,
    }
    if lines.traits.rich_results:
        table["output_tokens_details"] = {"thinking_tokens": usage.thinking}
    table |= {"server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": "standard"}
    table["cache_creation"] = {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0}
    if lines.traits.version != "2.1.37":
        table |= {"inference_geo": "", "iterations": [], "speed": "standard"}
    return table | {"fallback_credit": None} if lines.traits.rich_results else table


def model_usage(lines: Lines) -> Json:
    return {name: _of_model(lines, usage) for name, usage in lines.session.purse.by_model.items()}


def _of_model(lines: Lines, usage: Usage) -> Json:
    traits = lines.traits
    table: Json = {
        "inputTokens": usage.tokens_in,
        "outputTokens": usage.tokens_out,
        "cacheReadInputTokens": usage.cache_read,
        "cacheCreationInputTokens": usage.cache_write,
        "webSearchRequests": 0,
        "costUSD": usage.cost(traits.price),
        "contextWindow": traits.context_window,
        "maxOutputTokens": traits.max_output,
    }
    if not traits.rich_results:
        return table
    return table | {
        "thinkingTokens": usage.thinking,
        "cacheCreationEphemeral5mInputTokens": 0,
        "cacheCreationEphemeral1hInputTokens": 0,
        "canonicalModel": lines.session.model,
        "provider": "firstParty",
        "costBasis": "list",
    }


def agent_stats() -> Json:
    return {
        "spawned": 0,
        "requested": {"background": 0, "foreground": 0, "unset": 0},
        "started_in_background": 0,
        "max_depth": 0,
        "spawned_by_subagents": 0,
        "completed": 0,
        "failed": 0,
        "killed": {"parent": 0, "user": 0, "system": 0},
        "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
        "by_type": {},
    }
