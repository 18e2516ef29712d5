"""A reply in the words of the Messages API: one JSON message, or server-sent events. Pure; knows no socket, no clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ropewalk.sim.model.script import Block, Reply

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
DELTAS_A_BLOCK = 40
SHORTEST_DELTA = 16


@dataclass(frozen=True, slots=True)
class Said:
    """One server-sent event. ``delta`` marks those that faults and gates count."""

    words: bytes
    delta: bool = False


def message(reply: Reply, model: str, message_id: str, new_tool_id: Callable[[], str]) -> dict[str, Any]:
    """The whole answer, as a call without streaming gets it."""
    blocks = [{"id": new_tool_id(), **b} if b["type"] == "tool_use" else dict(b) for b in reply.blocks]
    stop = reply.stop or ("tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn")
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage_of(reply, blocks),
    }


def usage_of(reply: Reply, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    spoken = max(1, len(json.dumps(blocks)) // 16) if blocks else 1
    counted = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": spoken}
    return {**counted, **reply.usage}


def events(whole: Mapping[str, Any], chunk: int | None) -> Iterator[Said]:
    """The same answer as a stream. Output tokens are 1 at the start and right at the end, as the real service counts."""
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield event("message_start", message=start)
    yield event("ping")
    for index, block in enumerate(whole["content"]):
        yield from block_events(index, block, chunk)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage=whole["usage"])
    yield event("message_stop")


def block_events(index: int, block: Block, chunk: int | None) -> Iterator[Said]:
    match block["type"]:
        case "text":
            empty, deltas = {"text": ""}, [{"type": "text_delta", "text": part} for part in pieces(block["text"], chunk)]
        case "thinking":
            empty = {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"], chunk)]
            deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
        case "tool_use":
            empty = {"input": {}}  # type: ignore[dict-item]
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(json.dumps(block["input"]), chunk)]
        case _:
            empty, deltas = {}, []
    yield event("content_block_start", index=index, content_block={**block, **empty})
    for delta in deltas:
        yield event("content_block_delta", index=index, delta=delta, counts=True)
    yield event("content_block_stop", index=index)


def pieces(words: str, chunk: int | None) -> list[str]:
    size = chunk or max(SHORTEST_DELTA, -(-len(words) // DELTAS_A_BLOCK))
    return [words[at : at + size] for at in range(0, len(words), size)]


def event(kind: str, counts: bool = False, **fields: Any) -> Said:
    return Said(b"event: %b\ndata: %b\n\n" % (kind.encode(), json.dumps({"type": kind, **fields}).encode()), counts)


def error_body(status: int, kind: str | None, words: str) -> dict[str, Any]:
    kind = kind or ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_scripted"}


def error_event(kind: str | None, words: str) -> Said:
    return event("error", error={"type": kind or "overloaded_error", "message": words})
