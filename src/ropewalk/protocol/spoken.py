"""Answers and tools' results, read with no more fields than are told: two thirds of the cost of the whole line (measured).

Refuses what could change anything a connection knows, and what only the tolerant reader takes: such lines go the long way.
"""

from __future__ import annotations

from typing import Any

from msgspec import DecodeError, Struct, field
from msgspec.json import Decoder

from .content import KnownBlock, UserContent

SYNTHETIC = "<synthetic>"
"""The model of words that the CLI put in itself."""
_ANSWER, _RESULT = b'{"type":"assistant"', b'{"type":"user"'
SPOKEN = (_ANSWER, _RESULT)
"""How such lines begin."""


class _Tokens(Struct, gc=False):
    input_tokens: int = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0

    @property
    def context_tokens(self) -> int:
        return self.input_tokens + (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)


class _Answer(Struct, gc=False):
    id: str = ""
    model: str = ""
    content: list[KnownBlock] = field(default_factory=list)
    usage: _Tokens | None = None


class Spoken(Struct, tag_field="type", tag="assistant", gc=False, kw_only=True):
    """``messages.Assistant``, as much of it as is told. All its texts are whole characters."""

    raw: bytes = field(name=" raw", default=b"")
    message: _Answer = field(default_factory=_Answer)
    parent_tool_use_id: str | None = None
    error: str | None = None
    aborted: bool | None = None
    thinking_duration_ms: float | None = None

    @property
    def tells_context(self) -> bool:
        """Whether its usage says how much the model read at its last call of the main thread."""
        message = self.message
        return self.parent_tool_use_id is None and message.usage is not None and message.model != SYNTHETIC


class Returned(Struct, tag_field="type", tag="user", gc=False, kw_only=True):
    """``messages.User``, as much of it as is told. All its texts are whole characters."""

    raw: bytes = field(name=" raw", default=b"")
    message: UserContent = field(default_factory=UserContent)
    parent_tool_use_id: str | None = None
    tool_use_result: Any = None
    tool_result_meta: list[dict[str, Any]] | None = None
    isReplay: bool = False

    @property
    def only_told(self) -> bool:
        """Not when it is the receipt of a prompt, or may be the end of a sub-agent."""
        details = self.tool_use_result
        return not self.isReplay and (type(details) is not dict or "agentId" not in details)


_answer, _result = Decoder(Spoken).decode, Decoder(Returned).decode


def spoken(line: bytes) -> Spoken | Returned | None:
    """The line, if it is only to be told; None: read it the long way."""
    message: Spoken | Returned
    try:
        if line.startswith(_ANSWER):
            message = _answer(line)
        elif not line.startswith(_RESULT) or not (message := _result(line)).only_told:
            return None
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return None
    message.raw = line
    return message
