"""Everything beside the conversation: status, compaction, hooks, retries, limits, notices, links. Pure; refuses to raise."""

from __future__ import annotations

from typing import Any

from ..events import events as e
from ..protocol import messages as m
from ..protocol import system as s
from ..protocol.control import ControlRequest, UnknownQuestion
from .clean import cut, readable, shortened
from .memory import Memory
from .translate_said import unrecognised
from .translate_turn import mode_told

Events = list[e.Event]
WHY = 500
"""Characters of a reason that go with the call that it is about."""


def on_status(memory: Memory, message: s.Status) -> Events:
    events = mode_told(memory, message.permissionMode)
    if message.status == "compacting":
        events.append(e.ContextCompacting(before=memory.known.context_tokens or None))
    if message.compact_result is not None and message.compact_result != "success":
        events.append(e.ContextCompacted(error=message.compact_error or message.compact_result))
    return events


def on_boundary(memory: Memory, message: s.CompactBoundary) -> Events:
    told = message.compact_metadata
    memory.happened = memory.compacted = True
    if told.post_tokens is not None:
        memory.known.context_tokens = told.post_tokens
    return [e.ContextCompacted(trigger=told.trigger or "", before=told.pre_tokens, after=told.post_tokens)]


def on_reset(memory: Memory, message: m.ConversationReset) -> Events:
    """The id that it names is not the one that the CLI goes on under (measured 2.1.326): that one comes with the next init."""
    memory.happened = True
    memory.known.context_tokens = 0
    return [e.ContextCleared(why=message.trigger or "")]


def on_hook(memory: Memory, message: s.HookStarted | s.HookProgress | s.HookResponse) -> Events:
    hook = e.HookRan(name=message.hook_name, on=message.hook_event)
    if isinstance(message, s.HookStarted):
        hook.started = True
        return [hook]
    hook.output = cut(message.output or message.stdout or "")[0]
    hook.stderr = cut(message.stderr or "")[0]
    if isinstance(message, s.HookResponse):
        hook.outcome, hook.exit_code = message.outcome or "", message.exit_code
    else:
        hook.started = True
    return [hook]


def on_retry(memory: Memory, message: s.ApiRetry) -> Events:
    return [
        e.ApiRetried(
            attempt=message.attempt,
            of=message.max_retries or 0,
            delay_ms=message.retry_delay_ms or 0.0,
            status=message.error_status,
            error=message.error or "",
        )
    ]


def on_denied(memory: Memory, message: s.PermissionDenied) -> Events:
    words = message.decision_reason or message.message or message.decision_reason_type or ""
    if (call := memory.calls.get(message.tool_use_id or "")) is not None:
        call.refused = words[:WHY]  # its result says less
    text, long = cut(f"{message.tool_name} was refused by Claude Code: {words}" if words else message.tool_name)
    return [e.Noted(what="permission_denied", text=text, level="warning", cut=long, tool_use=message.tool_use_id)]


def on_informational(memory: Memory, message: s.Informational) -> Events:
    text, long = cut(message.content or "")
    return [e.Noted(what=message.tag or "informational", text=text, level=message.level or "", cut=long)]


def on_title(memory: Memory, message: s.SessionTitleChanged) -> Events:
    return [e.SessionChanged(title=message.title[:400], by="claude")] if message.title else []


def on_files(memory: Memory, message: s.FilesPersisted) -> Events:
    failed = [one if isinstance(one, dict) else {"file": _file(one)} for one in message.failed]
    return [e.FilesSaved(files=[_file(one) for one in message.files], failed=shortened(failed))]


def _file(entry: Any) -> str:
    if isinstance(entry, dict):
        entry = next((entry[name] for name in ("filename", "file_name", "path", "file") if entry.get(name)), "")
    return str(entry)


def on_limit(memory: Memory, message: m.RateLimitEvent) -> Events:
    told = message.rate_limit_info
    return [
        e.RateLimitChanged(
            status=told.status,
            resets_at=told.resetsAt,
            limit=told.rateLimitType,
            utilization=told.utilization,
            using_overage=told.isUsingOverage,
            overage_status=told.overageStatus,
            overage_reason=told.overageDisabledReason,
        )
    ]


def on_tool_progress(memory: Memory, message: m.ToolProgress) -> Events:
    """The CLI makes up the id and has the real one in ``parent_tool_use_id`` (measured); both are looked for."""
    ids = (message.tool_use_id, message.parent_tool_use_id or "")
    tool_use = next((one for one in ids if one in memory.calls), message.parent_tool_use_id or message.tool_use_id)
    call = memory.calls.get(tool_use)
    tool = call.tool if call else message.tool_name
    parent = call.parent if call else None
    return [e.ToolProgressed(tool_use=tool_use, tool=tool, seconds=message.elapsed_time_seconds, parent=parent)]


def on_summary(memory: Memory, message: m.ToolUseSummary) -> Events:
    return [e.ToolsSummarised(text=cut(message.summary)[0], tool_uses=message.preceding_tool_use_ids)]


def on_auth(memory: Memory, message: m.AuthStatus) -> Events:
    output = [cut(line)[0] for line in message.output[-200:]]
    return [e.SignInChanged(under_way=bool(message.isAuthenticating), output=output, error=message.error)]


def on_error(memory: Memory, message: m.ErrorLine) -> Events:
    """Described in documents, never seen from a real CLI: shown with its type, and the session lives on."""
    told = message.error
    fields = told if isinstance(told, dict) else {}
    words = fields.get("message") or fields.get("type") or (told if isinstance(told, str) else "an error without words")
    return [e.Warned(text=cut(str(words))[0], code=str(fields.get("type") or "error")[:200])]


def on_suggestion(memory: Memory, message: m.PromptSuggestion) -> Events:
    return [e.Noted(what="prompt_suggestion", text=cut(message.suggestion)[0])]


WORDS = ("content", "message", "summary", "text", "title", "reason")


def on_tidings(memory: Memory, message: m.Tidings | s.OtherSystem) -> Events:
    """A name that we know with fields that nobody needs typed: shown with its words, if it has any, and whole."""
    what = f"system/{message.subtype}" if isinstance(message, s.OtherSystem) else message.type
    fields = message.fields()
    words = next((fields[name] for name in WORDS if isinstance(fields.get(name), str)), "")
    raw, long = cut(readable(message.raw))
    return [e.Noted(what=what, text=cut(words)[0], raw=raw, cut=long)]


def on_question(memory: Memory, message: ControlRequest) -> Events:
    """Questions are opened by the session. One that we don't know is answered with an error at once, and shown."""
    asked = message.request
    if isinstance(asked, UnknownQuestion):
        return [unrecognised(f"control_request/{asked.subtype}", message.raw)]
    return []


def on_unknown(memory: Memory, message: m.Message) -> Events:
    if isinstance(message, s.UnknownSystem):
        return [unrecognised(f"system/{message.subtype}", message.raw)]
    if isinstance(message, m.Unknown):
        return [unrecognised(message.type or "no type", message.raw)]
    return [unrecognised("not JSON" if isinstance(message, m.Garbage) else type(message).__name__, message.raw)]


def on_dropped(memory: Memory, message: m.Dropped) -> Events:
    return [e.LineDropped(size=message.size, head=readable(message.raw))]


def on_link_lost(memory: Memory, message: m.LinkLost) -> Events:
    return [e.LinkLost()]


def on_link_restored(memory: Memory, message: m.LinkRestored) -> Events:
    return [e.LinkRestored(may_lack_lines=message.may_lack_lines)]
