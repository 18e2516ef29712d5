"""What the scripted model says to whom: rules in, the next reply out. Refuses to speak HTTP and to guess what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ropewalk.errors import UsageError

Block = Mapping[str, Any]
"""A content block of the Messages API. ``text``, ``thinking`` and ``tool_use`` are streamed in pieces, others whole."""

KINDS = ("main", "agent", "helper", "summary")
"""Who asks: the conversation, a sub-agent, a small side call (titles, quota, file names), a compaction."""


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str = "c2ltIG1vZGVs") -> Block:
    return {"type": "thinking", "thinking": words, "signature": signature}


def tool(name: str, /, **given: Any) -> Block:
    """``tool("Bash", command="ls")``. The id is counted up by the model (``toolu_0001`` …)."""
    return {"type": "tool_use", "name": name, "input": given}


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer to one call. Without anything else it is a good one; the other fields make it slow, broken or an error."""

    blocks: tuple[Block, ...] = ()
    stop: str | None = None
    """``stop_reason``; None = ``tool_use`` when a tool is called, else ``end_turn``."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    error: int | None = None
    """An HTTP status instead of an answer: 400, 401, 429, 500, 529 …"""
    error_type: str | None = None
    """The error's own word; None = the usual one of that status. With ``error_after`` it is sent inside the stream."""
    message: str = "said by the scripted model"
    error_after: int | None = None
    """An SSE ``error`` event after so many deltas."""
    cut_after: int | None = None
    """The connection is cut after so many deltas."""
    wait: float = 0.0
    """Seconds before the first byte."""
    pause: float = 0.0
    """Seconds between two deltas."""
    hold: str | None = None
    """A gate's name: the reply waits at it until ``SimModel.release(name)``."""
    hold_after: int = 0
    """Deltas that are sent before the gate; 0 = not even the status line."""
    chunk: int | None = None
    """Characters a delta; None = about forty deltas a block, at least 16 characters each."""
    down: float | None = None
    """No answer: the server goes away (connections closed, new ones refused) for so many seconds."""


def reply(*blocks: Block | str, **more: Any) -> Reply:
    """``reply("hello")``, ``reply(thinking("hm"), tool("Bash", command="ls"), pause=0.1)``."""
    return Reply(tuple(text(b) if isinstance(b, str) else b for b in blocks), **more)


@dataclass(slots=True)
class Rule:
    """Replies for the calls that it matches, one a call, in order."""

    replies: list[Reply]
    when: str | None = None
    """A regular expression searched for in the prompt that the call answers; None = any."""
    kind: str = "main"
    then: str = "pass"
    """After the last reply: ``pass`` to the next rule that matches, ``repeat`` from the first, or stay at the ``last``."""
    used: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"a rule is for one of {', '.join(KINDS)}, not for {self.kind!r}")
        if self.then not in ("pass", "repeat", "last"):
            raise UsageError(f"after its replies a rule can pass, repeat or stay at the last; not {self.then!r}")
        if self.when is not None:
            try:
                re.compile(self.when)
            except re.error as why:
                raise UsageError(f"`when` is not a regular expression: {self.when!r}: {why}") from None

    def take(self, kind: str, prompt: str) -> Reply | None:
        """The next reply for such a call; None when this rule has nothing to say to it."""
        if kind != self.kind or not self.replies or (self.when is not None and not re.search(self.when, prompt)):
            return None
        if self.used >= len(self.replies) and self.then == "pass":
            return None
        at = self.used % len(self.replies) if self.then == "repeat" else min(self.used, len(self.replies) - 1)
        self.used += 1
        return self.replies[at]


DEFAULTS = {
    "main": reply("Nothing is scripted for this."),
    "agent": reply("The agent has nothing to report."),
    "helper": reply("ok"),
    "summary": reply("<summary>The conversation so far, in short.</summary>"),
}


@dataclass(slots=True)
class Script:
    """The rules, asked in order; what no rule answers gets the default of its kind."""

    rules: list[Rule] = field(default_factory=list)

    def take(self, kind: str, prompt: str) -> Reply:
        for rule in self.rules:
            if (answer := rule.take(kind, prompt)) is not None:
                return answer
        return DEFAULTS[kind]


def as_script(given: Script | Iterable[Rule | Reply | Block | str] | None) -> Script:
    """A Script as it is; a list of rules; or a list of replies: one rule for the main thread, by turn."""
    if given is None or isinstance(given, Script):
        return given or Script()
    script = Script()
    for item in given:
        if isinstance(item, Rule):
            script.rules.append(item)
            continue
        one = item if isinstance(item, Reply) else reply(item)
        if script.rules and script.rules[-1].kind == "main" and script.rules[-1].when is None:
            script.rules[-1].replies.append(one)
        else:
            script.rules.append(Rule([one]))
    return script
