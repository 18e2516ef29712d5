"""What a Translator remembers from line to line of one process: open calls, blocks under way, the turn. Refuses to tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from .known import Known

MOST_CALLS = 4096
"""Open calls that are remembered; each leaves with its result, which a broken conversation may never bring."""
MOST_STREAMS = 256
"""Threads of conversation: the main one, and one for each sub-agent that speaks."""


class Call(Struct):
    """A tool call without a result yet."""

    tool: str
    given: Mapping[str, Any]
    parent: str | None
    title: str = ""
    refused: str = ""
    """Why the CLI did not run it, in its own words."""


class OpenBlock(Struct):
    """A block under way. ``name`` is what its deltas and its finished event are told under."""

    name: str
    kind: str
    tool: str = ""
    tool_use: str = ""
    begins: int = 0
    finished: bool = False


class Stream(Struct):
    """The message that one thread says now: ``next`` is the index of the next block that comes without deltas."""

    message: str
    next: int = 0
    blocks: dict[int, OpenBlock] = field(default_factory=dict)


class Memory:
    """Rebuilt by feeding the same lines again."""

    __slots__ = (
        "apart", "calls", "compacted", "cwd", "error", "folder", "happened", "known", "listed", "stop", "strange", "streams",
        "words",
    )  # fmt: skip

    def __init__(self, cwd: str, known: Known) -> None:
        self.cwd, self.known = cwd, known
        self.folder = cwd
        """Where the CLI works now; empty: it went elsewhere and has not said where."""
        self.apart = False
        """A sub-agent was sent to a copy of the folder."""
        self.calls: dict[str, Call] = {}
        self.streams: dict[str | None, Stream] = {}
        self.listed: dict[str, dict[str, Any]] = {}
        """Background tasks that were listed and not begun: 2.1.326 says ``task_started`` right after the list."""
        self.strange: set[str] = set()
        """Kinds of stream events that we have no word for: each is told once."""
        self.compacted = False
        """A compaction was the last thing that happened: its summary follows."""
        self.begin_turn()

    def begin_turn(self) -> None:
        self.words = ""
        self.error = ""
        self.stop: str | None = None
        self.happened = False

    def called(self, tool_use: str, call: Call) -> None:
        if len(self.calls) >= MOST_CALLS:
            del self.calls[next(iter(self.calls))]
        self.calls[tool_use] = call

    def stream(self, parent: str | None, message: str) -> Stream:
        """The stream of this message; another message of the same thread takes the place of the one before."""
        stream = self.streams.get(parent)
        if stream is None or (message and stream.message != message):
            if stream is None and len(self.streams) >= MOST_STREAMS:
                del self.streams[next(iter(self.streams))]
            stream = self.streams[parent] = Stream(message)
        return stream

    def finished_block(self, parent: str | None, message: str, kind: str, tool_use: str = "") -> str:
        """The name of the block that an assistant line brings whole: the one whose deltas were told, or the next in order."""
        stream = self.streams.get(parent)
        if stream is None or (message and stream.message != message):
            stream = self.stream(parent, message)
        for index, block in stream.blocks.items():
            if not block.finished and block.kind == kind and block.tool_use == tool_use:
                block.finished = True
                stream.next = max(stream.next, index + 1)
                return block.name
        stream.next += 1
        return f"{stream.message}:{stream.next - 1}"
