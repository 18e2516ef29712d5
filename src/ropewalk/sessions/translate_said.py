"""What is said and done in a turn: assistant and user lines → text, thinking, tools, to-dos. Pure; refuses to raise."""

from __future__ import annotations

from typing import Any

from ..events import events as e
from ..events.events import TEXT_LIMIT
from ..protocol.content import (
    RedactedThinkingBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from ..protocol.messages import Assistant, User
from ..protocol.spoken import SYNTHETIC, Returned, Spoken
from .clean import cut, harmless, is_flat, readable, shortened
from .memory import Call, Memory
from .tools import EDITS, MOVES, TODOS, does, file_of, outcome_of, title_of, tool_label
from .translate_tasks import ended_with_its_call

LOCAL = "<local-command-"
"""How the output of a command of the CLI's own (/cost) begins, on a line that otherwise looks like the echo of a prompt."""

UNSAID: tuple[str | None, bool, str] = (None, False, "")


def on_assistant(memory: Memory, message: Assistant | Spoken) -> list[e.Event]:
    said, parent = message.message, message.parent_tool_use_id
    memory.compacted = False
    if parent is None:
        memory.happened = True
        memory.error = message.error or memory.error
        if said.usage is not None and said.model != SYNTHETIC:
            memory.known.context_tokens = said.usage.context_tokens
    events: list[e.Event] = []
    for block in said.content:
        kind = type(block)
        if kind is TextBlock:
            events.append(_text(memory, message, block.text))  # type: ignore[union-attr]
        elif kind is ToolUseBlock or kind is ServerToolUseBlock:
            events.append(_tool(memory, message, block))
        elif kind is ThinkingBlock:
            text, long = cut(block.thinking)  # type: ignore[union-attr]
            name = memory.finished_block(parent, said.id, "thinking")
            events.append(e.Thinking(text=text, cut=long, block=name, duration_ms=message.thinking_duration_ms))
        elif kind is RedactedThinkingBlock:
            name = memory.finished_block(parent, said.id, "redacted")
            events.append(e.Thinking(text="", block=name, duration_ms=message.thinking_duration_ms, redacted=True))
        else:
            memory.finished_block(parent, said.id, "other")
            events.append(unrecognised(f"assistant/{_name_of(block)}", message.raw))
    return events or [unrecognised("assistant", message.raw)]


def _text(memory: Memory, message: Assistant | Spoken, words: str) -> e.Event:
    parent = message.parent_tool_use_id
    if parent is None and words:
        memory.words = words
    text, long = cut(words)
    return e.Text(
        text=text,
        cut=long,
        block=memory.finished_block(parent, message.message.id, "text"),
        aborted=bool(message.aborted),
        error=message.error,
        synthetic=message.message.model == SYNTHETIC,
    )


def _tool(memory: Memory, message: Assistant | Spoken, block: Any) -> e.Event:
    parent, name = message.parent_tool_use_id, block.name
    title = title_of(name, block.input, memory.cwd) or tool_label(name)
    memory.called(block.id, Call(name, block.input, parent, title))
    if "isolation" in block.input:
        memory.apart = True
    given, long = _kept(block.input, len(message.raw))
    return e.ToolStarted(
        tool_use=block.id,
        tool=name,
        does=does(name),
        title=title,
        input=given,
        cut=long,
        block=memory.finished_block(parent, message.message.id, "tool_use", block.id),
    )


def _kept(given: dict[str, Any], size: int) -> tuple[dict[str, Any], bool]:
    """The input as the event has it: whole, unless the line is longer than an event may be or nested past reading."""
    if size > TEXT_LIMIT:
        small = shortened(given)
        return small, small != given
    if is_flat(given):
        return given, False
    kept = harmless(given)
    return kept, kept != given


def _todos(memory: Memory, listed: object, parent: str | None) -> list[e.Event]:
    if not isinstance(listed, list):
        return []
    todos = [shortened(one) for one in listed if isinstance(one, dict)]
    if parent is None:  # a sub-agent's list is its own
        memory.known.todos = todos
    return [e.TodosChanged(todos=todos)]


def on_user(memory: Memory, message: User | Returned) -> list[e.Event]:
    content = message.message.content
    if isinstance(content, str):
        return _words(memory, message, content)
    events: list[e.Event] = []
    words: list[str] = []
    for block in content:
        kind = type(block)
        if kind is ToolResultBlock:
            events += _finished(memory, message, block)  # type: ignore[arg-type]
        elif kind is TextBlock:
            words.append(block.text)  # type: ignore[union-attr]
        elif isinstance(block, UnknownBlock):
            events.append(unrecognised(f"user/{block.type}", message.raw))
    if words:
        events += _words(memory, message, "\n".join(words))
    return events


def _finished(memory: Memory, message: User | Returned, block: ToolResultBlock) -> list[e.Event]:
    call = memory.calls.pop(block.tool_use_id, None)
    details = message.tool_use_result
    failed = bool(block.is_error)
    source, refused, why = _decided(message.tool_result_meta, block.tool_use_id) if message.tool_result_meta else UNSAID
    text, long = cut(block.content if type(block.content) is str else block.text)
    finished = e.ToolFinished(
        tool_use=block.tool_use_id,
        tool=call.tool if call else "",
        failed=failed,
        title=call.title if call else "",
        output=text,
        cut=long,
        summary=("refused" if refused else "") if failed or call is None else outcome_of(call.tool, call.given, details),
        by=source,
        why=call.refused or why if call is not None else why,
        images=_images(block.content),
    )
    events: list[e.Event] = [finished]
    if call is not None and not failed:
        if call.tool in TODOS:
            events += _todos_after(memory, call, details)
        elif call.tool in MOVES:
            memory.folder = ""  # the next init says where
        elif call.tool in EDITS and call.parent is None and memory.known.mode == "plan":
            memory.known.plan_file = file_of(call.given) or memory.known.plan_file
    if memory.known.tasks:
        events += ended_with_its_call(memory, block.tool_use_id, details, failed)
    return events


def _decided(meta: list[dict[str, Any]], tool_use: str) -> tuple[str | None, bool, str]:
    """Who let it run, whether it was refused, and why; only newer CLIs say so."""
    for one in meta:
        decision = one.get("permission_decision")
        if one.get("id") == tool_use and isinstance(decision, dict):
            source = decision.get("source")
            why = decision.get("reason_type")
            refused = decision.get("decision") == "reject"
            return source if isinstance(source, str) else None, refused, why if isinstance(why, str) else ""
    return UNSAID


def _images(content: object) -> int:
    return sum(isinstance(part, dict) and part.get("type") == "image" for part in content) if isinstance(content, list) else 0


def _todos_after(memory: Memory, call: Call, details: Any) -> list[e.Event]:
    """The list as a call that went well left it: whole, or entry by entry (2.1.326, where that is switched on)."""
    if call.tool == "TodoWrite":
        return _todos(memory, call.given.get("todos"), call.parent)
    if call.parent is not None or not isinstance(details, dict):
        return []
    todos = [dict(one) for one in memory.known.todos]
    made = details.get("task")
    if call.tool == "TaskCreate" and isinstance(made, dict):
        todos.append({"id": str(made.get("id")), "content": str(made.get("subject") or ""), "status": "pending"})
    elif call.tool == "TaskUpdate":
        status = call.given.get("status")
        changed = [one for one in todos if one.get("id") == str(call.given.get("taskId"))]
        if not changed or not isinstance(status, str):
            return []
        changed[0]["status"] = status
        todos = [one for one in todos if one.get("status") != "deleted"]
    else:
        return []
    return _todos(memory, todos, None)


def _words(memory: Memory, message: User | Returned, words: str) -> list[e.Event]:
    """Words that nobody of ours sent. The echo of a prompt is a receipt, and the session's to tell."""
    after_compaction, memory.compacted = memory.compacted, False
    local = words.startswith(LOCAL)
    if message.isReplay and not local:
        return []
    if message.parent_tool_use_id is not None:
        what = "agent_prompt"
    elif local:
        what, words = "local_command", _untagged(words)
    else:
        what = "compact_summary" if after_compaction else "added"
    if message.parent_tool_use_id is None:
        memory.happened = True
    text, long = cut(words)
    return [e.Noted(what=what, text=text, cut=long)]


def _untagged(words: str) -> str:
    """What stands between the tags that the CLI puts around the output of its own commands."""
    inside = words.partition(">")[2]
    return inside.rpartition("</")[0] or inside


def unrecognised(what: str, raw: bytes) -> e.Unrecognised:
    text, long = cut(readable(raw))
    return e.Unrecognised(what=what, raw=text, cut=long)


def _name_of(block: Any) -> str:
    return str(block.type if isinstance(block, UnknownBlock) else type(block).__struct_config__.tag)
