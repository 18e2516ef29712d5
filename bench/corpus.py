"""Realistic lines of a CLI with partial messages on, made from a seed. Refuses to hold recorded words: shapes and sizes only.

Shapes, key order and sizes follow 2.1.326; about nine lines in ten are stream deltas, as in a session with
``--include-partial-messages``. Only types that every contender delivers, so that counts can be compared; what some of them
choke on is ``hard_lines``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

SEED = 7077
LINES = 20_000
SESSION = "5e551000-0000-4000-8000-00000000beac"
MODEL = "claude-opus-5-5"
LINE_CAP = 64 * 1024 * 1024

Line = dict[str, object]
TEXT = """
    the rope is laid from three strands and each strand from many yarns so the walk must be long enough for the whole length
    def return import self async await None True for in if not else raise except with as yield lambda assert class
    src/walk/strand.py tests/test_strand.py README.md build/output.log 42 3.14 0x1f == != -> => … “quoted” naïve größer 繩 🙂
"""
WORDS = TEXT.split()
TOOLS = ["Task", "AskUserQuestion", "Bash", "Edit", "Glob", "Grep", "Read", "Write", "WebFetch", "TodoWrite", "NotebookEdit"]


class Maker:
    """Makes turns. One random source, so the same seed gives the same bytes."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._calls = 0

    def lines(self) -> Iterator[Line]:
        """Turn after turn, without end."""
        while True:
            yield from self._turn()

    def _turn(self) -> Iterator[Line]:
        yield self._init()
        rounds = self._chance.randint(3, 6)
        for number in range(rounds):
            yield self._told("system", subtype="status", status="requesting")
            yield from self._call(with_tool=number < rounds - 1)
        yield self._result(rounds)

    def _call(self, *, with_tool: bool) -> Iterator[Line]:
        self._calls += 1
        start: Line = {"type": "message_start", "message": {**self._message(), "content": []}}
        yield self._event(start, ttft_ms=self._chance.randint(300, 2000))
        if self._chance.random() < 0.3:
            yield from self._thinking(0)
        yield from self._text(0, self._chance.randint(20, 160))
        if with_tool:
            yield from self._tool(1)
        delta = {"stop_reason": "tool_use" if with_tool else "end_turn", "stop_sequence": None}
        yield self._event({"type": "message_delta", "delta": delta, "usage": self._usage()})
        yield self._event({"type": "message_stop"})
        if with_tool:
            yield self._tool_result()

    def _text(self, index: int, deltas: int) -> Iterator[Line]:
        parts = [self._say(self._chance.randint(1, 7)) + " " for _ in range(deltas)]
        yield self._event({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
        yield from self._deltas(index, "text_delta", "text", parts)
        yield self._assistant({"type": "text", "text": "".join(parts)})
        yield self._event({"type": "content_block_stop", "index": index})

    def _thinking(self, index: int) -> Iterator[Line]:
        parts = [self._say(self._chance.randint(2, 9)) + " " for _ in range(self._chance.randint(10, 40))]
        signature = self._hex(320)
        block = {"type": "thinking", "thinking": "", "signature": ""}
        yield self._event({"type": "content_block_start", "index": index, "content_block": block})
        yield from self._deltas(index, "thinking_delta", "thinking", parts)
        yield from self._deltas(index, "signature_delta", "signature", [signature])
        yield self._assistant({"type": "thinking", "thinking": "".join(parts), "signature": signature})
        yield self._event({"type": "content_block_stop", "index": index})

    def _tool(self, index: int) -> Iterator[Line]:
        given = {"file_path": f"/home/user/project/src/{self._hex(6)}.py", "content": self._say(self._chance.randint(10, 120))}
        block: Line = {"type": "tool_use", "id": self._tool_id(), "name": "Write", "input": {}}
        wire, step = json.dumps(given, ensure_ascii=False), self._chance.randint(12, 40)
        yield self._event({"type": "content_block_start", "index": index, "content_block": block})
        parts = [wire[at : at + step] for at in range(0, len(wire), step)]
        yield from self._deltas(index, "input_json_delta", "partial_json", parts)
        yield self._assistant({**block, "input": given})
        yield self._event({"type": "content_block_stop", "index": index})

    def _deltas(self, index: int, kind: str, field: str, parts: list[str]) -> Iterator[Line]:
        for part in parts:
            yield self._event({"type": "content_block_delta", "index": index, "delta": {"type": kind, field: part}})

    def _tool_result(self) -> Line:
        words = self._say(min(2000, int(self._chance.lognormvariate(4.5, 1.2)) + 5))
        block = {"tool_use_id": self._tool_id(), "type": "tool_result", "content": words, "is_error": False}
        shown = {"stdout": words, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
        decision = {"id": self._tool_id(), "permission_decision": {"decision": "accept", "source": "user_temporary"}}
        message = {"role": "user", "content": [block]}
        told = self._told("user", message=message, parent_tool_use_id=None, timestamp=self._time())
        return {**told, "tool_use_result": shown, "tool_result_meta": [decision]}

    def _assistant(self, block: Line) -> Line:
        message = {**self._message(), "content": [block], "context_management": None}
        told = self._told("assistant", message=message, parent_tool_use_id=None)
        return {**told, "timestamp": self._time(), "request_id": f"req_{self._hex(24)}"}

    def _event(self, event: Line, **more: object) -> Line:
        told = self._told("stream_event", event=event)
        return {**told, "parent_tool_use_id": None, "uuid": self._uuid(), **more, "api_message_id": f"msg_{self._calls:024d}"}

    def _init(self) -> Line:
        names = [f"{self._say(1)}-{self._hex(5)}" for _ in range(60)]
        return self._told(
            "system", subtype="init", cwd="/home/user/project", tools=TOOLS + [f"mcp__server__{name}" for name in names[:20]],
            mcp_servers=[{"name": "server", "status": "connected"}], model=MODEL, permissionMode="default", slash_commands=names,
            terminal_slash_commands=["doctor", "color"], apiKeySource="ANTHROPIC_API_KEY", claude_code_version="2.1.326",
            output_style="default", agents=["claude", "Explore", "general-purpose"], skills=names[:30], plugins=[],
            capabilities=["interrupt_receipt_v1", "msg_lifecycle_v1"], analytics_disabled=True, original_cwd="/home/user/project",
            additional_directories=[], fast_mode_state="off", view_mode="default",
        )  # fmt: skip

    def _result(self, rounds: int) -> Line:
        used = {"inputTokens": self._tokens(), "outputTokens": self._tokens(), "costUSD": 0.0123, "contextWindow": 1_000_000}
        facts = {"duration_api_ms": self._tokens(), "stop_reason": "end_turn", "session_id": SESSION, "total_cost_usd": 0.0317}
        tail = {"num_turns": rounds, "subtype": "success", "result": self._say(60), "ttft_ms": 597, "type": "result"}
        return {
            **facts, "usage": self._usage(), "modelUsage": {MODEL: used, "claude-haiku-4-5": used}, "permission_denials": [],
            "terminal_reason": "completed", "fast_mode_state": "off", "is_error": False, "api_error_status": None, **tail,
            "subagent_stats": {"spawned": 0, "max_depth": 0, "by_type": {}}, "duration_ms": self._tokens(), "uuid": self._uuid(),
            "queued_turn_count": 0, "result_index": 0, "model_usage_since_last_result": {MODEL: used},
        }  # fmt: skip

    def _told(self, kind: str, **fields: object) -> Line:
        told: Line = {"type": kind, **fields, "session_id": SESSION}
        return told if kind == "stream_event" else {**told, "uuid": self._uuid()}

    def _message(self) -> Line:
        head = {"id": f"msg_{self._calls:024d}", "type": "message", "role": "assistant", "model": MODEL}
        return {**head, "stop_reason": None, "stop_sequence": None, "usage": self._usage()}

    def _usage(self) -> Line:
        counts = {name: self._tokens() for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")}
        kept = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": self._tokens()}
        return {**counts, "output_tokens": self._tokens(), "cache_creation": kept, "service_tier": "standard"}

    def _say(self, words: int) -> str:
        return " ".join(self._chance.choices(WORDS, k=words))

    def _tokens(self) -> int:
        return self._chance.randint(1, 90_000)

    def _hex(self, length: int) -> str:
        return f"{self._chance.getrandbits(length * 4):0{length}x}"

    def _uuid(self) -> str:
        return f"{self._hex(8)}-{self._hex(4)}-4{self._hex(3)}-8{self._hex(3)}-{self._hex(12)}"

    def _tool_id(self) -> str:
        return f"toolu_{self._calls:024d}"

    def _time(self) -> str:
        return f"2026-11-18T08:{self._chance.randint(10, 59)}:{self._chance.randint(10, 59)}.{self._chance.randint(100, 999)}Z"


def encoded(line: Line) -> bytes:
    """One line as the CLI writes it: no spaces, UTF-8."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def write_corpus(folder: Path, *, lines: int = LINES, seed: int = SEED) -> Path:
    """Write the corpus unless this very one is there already; returns the file."""
    path = folder / f"corpus-{seed}-{lines}.jsonl"
    if not path.exists():
        maker = Maker(seed).lines()
        half = path.with_suffix(".half")
        half.write_bytes(b"".join(encoded(next(maker)) for _ in range(lines)))
        half.replace(path)
    return path


def plain_line(words: str) -> bytes:
    """An assistant line with these words: what stands before and after each hard line."""
    content = [{"type": "text", "text": words}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": content}
    return encoded({"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": SESSION, "uuid": SESSION})


def hard_lines() -> dict[str, bytes]:
    """The lines that the robustness row sends, each by its name."""
    empty = plain_line("")
    unknown = {"type": "hologram", "shape": "cube"}
    holed = json.loads(empty)
    del holed["message"]["model"]
    strange = json.loads(empty)
    strange["message"]["content"] = [unknown]
    return {
        "64 MiB line": plain_line("x" * (LINE_CAP - len(empty))),
        "lone surrogate": empty.replace(b'"text":""', b'"text":"half \\ud83d of a pair"'),
        "bytes that are no UTF-8": empty.replace(b'"text":""', b'"text":"half \xf0\x9f of a letter"'),
        "missing field": encoded(holed),
        "unknown block": encoded(strange),
    }
