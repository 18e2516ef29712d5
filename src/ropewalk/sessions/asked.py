"""A question of the CLI as faces show it. Pure: no rules, no files; refuses to leave anything out of its input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct

from ..events.events import QuestionKind
from ..events.views import QuestionView
from ..permissions.request import Request
from ..protocol.answers import choices_of
from ..protocol.control import CanUseTool, ControlRequest, Elicitation, RequestUserDialog
from ..protocol.hearing import subtype_of
from .clean import harmless, is_clean
from .figures import count
from .plan_replies import Fresh
from .plans import Found, rule_for, ways
from .replies import answer_from
from .tools import EDITS, READS, does, file_of, title_of, tool_label

LINE = 300
"""Characters of a line for lists; the card has the whole input."""


def question_view(
    request: ControlRequest, *, session: str, question_id: str, cwd: str, at: float, origin: str | None = None,
    session_title: str = "", exists: bool | None = None,
) -> QuestionView:  # fmt: skip
    """``origin``: the sub-agent in words (``Translator.agent_words``). ``exists``: whether the file to be written is there."""
    asked = request.request
    view = QuestionView(
        id=question_id, session=session, asks="dialog", cwd=cwd, opened_at=at, origin=origin, session_title=session_title,
        only_people=True,
    )  # fmt: skip
    view.input = _whole_input(request)
    if isinstance(asked, CanUseTool):
        _permission(view, asked, cwd, exists)
    elif isinstance(asked, Elicitation):
        view.tool, view.description = "elicitation", asked.message or ""
        view.title_words = f"Answer {_one(asked.mcp_server_name) or 'an MCP server'}?"
        view.line = _line(f"{asked.mcp_server_name or 'An MCP server'} asks: {asked.message or ''}")
    else:
        kind = asked.dialog_kind if isinstance(asked, RequestUserDialog) else ""
        view.tool = subtype_of(request)
        view.title_words = f"Answer a dialog: {_one(kind)}?" if kind else "Answer a dialog?"
        view.line = _line(f"Dialog: {kind or view.tool}")
    if not is_clean(request.raw):
        _scrub(view)
    return view


def _permission(view: QuestionView, asked: CanUseTool, cwd: str, exists: bool | None) -> None:
    name, given = asked.tool_name, asked.input
    view.asks = kind_of(name)
    view.tool, view.does, view.tool_use = name, does(name), asked.tool_use_id
    view.title_words = asked.title or title_words(name, given, cwd, blocked=asked.blocked_path, exists=exists)
    view.line = _line(line_of(name, given, cwd, exists=exists))
    view.description = _description(asked)
    view.reason, view.blocked_path = asked.decision_reason or "", asked.blocked_path
    view.suggestions = asked.permission_suggestions
    view.only_people = view.asks != "permission" or name == "EnterPlanMode" or bool(asked.requires_user_interaction)
    view.default_to_no = bool(asked.default_to_no)
    view.no_always = bool(asked.suppress_always_allow_rule)
    if view.asks == "plan":
        view.plan = plan_of(given)
    elif view.asks == "choice":
        view.choices = _choices(given)


def file_before(request: Request) -> str | None:
    """The file that an edit would change, by its full name."""
    if request.tool not in EDITS:
        return None
    path = file_of(request.input)
    return path if path.startswith("/") else f"{request.cwd}/{path}" if path else None


def kind_of(tool: str) -> QuestionKind:
    if tool == "ExitPlanMode":
        return "plan"
    return "choice" if tool == "AskUserQuestion" else "permission"


def _description(asked: CanUseTool) -> str:
    """The words that came with it, unless they only say again what would run."""
    own = asked.input.get("description") if asked.tool_name == "Bash" else None
    words = own if isinstance(own, str) and own else asked.description or ""
    return "" if words in (asked.input.get("command"), asked.input.get("file_path")) else words


def title_words(name: str, given: Mapping[str, Any], cwd: str, *, blocked: str | None = None, exists: bool | None = None) -> str:
    """What is asked, as a question."""
    if name == "Bash":
        return "Run a command in the background?" if given.get("run_in_background") else "Run a command?"
    if name in EDITS:
        return f"{_verb(name, exists)} {_one(file_of(given).rstrip('/').rpartition('/')[2]) or 'a file'}?"
    if name == "WebFetch":
        return f"Fetch a page from {_host(given)}?"
    if name in READS or name in ("Glob", "Grep"):
        where = " outside the folder" if blocked or _outside(given, cwd) else ""
        return f"{'Search' if name in ('Glob', 'Grep') else 'Read a file' if name == 'Read' else 'Read'}{where}?"
    if name.startswith("mcp__"):
        server, _, tool = tool_label(name).partition(" ")
        return f"Use {_one(tool)} of {_one(server)}?"
    if name == "AskUserQuestion":
        questions = choices_of(given)
        return _line(questions[0].question) if len(questions) == 1 else f"Answer {count(len(questions), 'question')}?"
    return FIXED.get(name) or f"Use {_one(name) or 'a tool without a name'}?"


FIXED = {"WebSearch": "Search the web?", "ExitPlanMode": "Plan to review", "EnterPlanMode": "Plan first?"}


def line_of(name: str, given: Mapping[str, Any], cwd: str, *, exists: bool | None = None) -> str:
    """One line for lists: ``Run: npm run migrate``."""
    if name == "ExitPlanMode":
        steps = steps_of(_plan_text(given) or "")
        return f"Plan to review, {count(steps, 'step')}" if steps else "Plan to review"
    if name == "AskUserQuestion":
        questions = choices_of(given)
        more = f" (and {len(questions) - 1} more)" if len(questions) > 1 else ""
        return f"Asks: {questions[0].question if questions else 'a question without words'}{more}"
    if name == "EnterPlanMode":
        return "Plan first?"
    title = title_of(name, given, cwd)
    if name in EDITS:
        return f"{_verb(name, exists)}: {title}"
    verb = VERBS.get(name) or f"Use {tool_label(name) or 'a tool without a name'}"
    return f"{verb}: {title}" if title else verb


VERBS = {
    "Bash": "Run", "Read": "Read", "LS": "Read", "NotebookRead": "Read", "Glob": "Search", "Grep": "Search", "WebFetch": "Fetch",
    "WebSearch": "Search the web",
}  # fmt: skip


def _verb(name: str, exists: bool | None) -> str:
    if name != "Write":
        return "Change"
    return {True: "Overwrite", False: "Create", None: "Write"}[exists]


def plan_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """``text`` None: Claude gave none. ``requested``: what it wishes to be allowed; what is not ticked is not granted.

    ``rule`` None in there: mere words, for which a person must give the rule.
    """
    text, file = _plan_text(given), given.get("planFilePath")
    wishes = given.get("allowedPrompts")
    requested = [{**one, "rule": rule_for(one)} for one in wishes if isinstance(one, dict)] if isinstance(wishes, list) else []
    file = file if isinstance(file, str) else None
    return {"text": text, "file": file, "requested": requested, "steps": steps_of(text or "")}


def show_plan(view: QuestionView, found: Found | None, *, bypass: bool) -> None:
    """What the question itself lacks: the text from the plan's file, and how the plan can be answered here."""
    if view.plan is None:
        return
    view.plan["ways"] = ways(bypass)
    if found is not None:
        view.plan |= {"text": found.text, "file": found.file, "steps": steps_of(found.text or ""), "why": found.why}
        view.line = _line(line_of(view.tool, {"plan": found.text}, view.cwd))


def _plan_text(given: Mapping[str, Any]) -> str | None:
    plan = given.get("plan")
    return plan if isinstance(plan, str) and plan.strip() else None


def steps_of(plan: str) -> int:
    """How many steps a plan has: its numbered points; without any, its bullets; without those, its headings below the first."""
    for pattern in (r"\d+[.)]\s", r"[-*+]\s", r"##+\s"):
        found = len(re.findall(rf"^{pattern}", plan, re.MULTILINE))
        if found:
            return found
    return 0


def _choices(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = given.get("questions")
    raw = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return [
        {
            "question": choice.question,
            "header": choice.header,
            "multiple": choice.multiple,
            "options": [_option(option.label, option.description, one) for option, one in _with_raw(choice.options, fields)],
        }
        for choice, fields in zip(choices_of(given), raw, strict=True)
    ]


def _with_raw(options: Any, fields: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    listed = fields.get("options")
    return list(zip(options, listed if isinstance(listed, list) else [], strict=True))


def _option(label: str, description: str | None, entry: Any) -> dict[str, Any]:
    told = {"label": label, "description": description}
    preview = entry.get("preview") if isinstance(entry, Mapping) else None
    return told | {"preview": preview} if isinstance(preview, str) else told


class _Request(Struct, gc=False):
    input: Raw = Raw(b"{}")
    payload: Raw = Raw(b"")
    requested_schema: Raw = Raw(b"")


class _Line(Struct, gc=False):
    request: _Request


_line_of = msgspec.json.Decoder(_Line)


def _whole_input(request: ControlRequest) -> Raw | dict[str, Any]:
    """The input's own bytes; made of whole characters where they are not. Dialogs: what they bring instead."""
    asked = request.request
    if is_clean(request.raw):
        try:
            found = _line_of.decode(request.raw).request
        except (msgspec.DecodeError, RecursionError):
            found = None
        if found is not None:
            own = found.input if isinstance(asked, CanUseTool) else found.requested_schema or found.payload or found.input
            if _can_be_read(own):
                return own if bytes(own)[:1] == b"{" else {"value": own}
    kept = harmless(asked.input) if isinstance(asked, CanUseTool) else {}
    if not kept and request.input_raw:
        return {"unread": request.input_raw.decode("utf-8", "replace")}
    return kept if isinstance(kept, dict) else {}


def _can_be_read(own: Raw) -> bool:
    """By every reader of JSON: numbers beyond all bounds are legal, and refused by most."""
    try:
        msgspec.json.decode(own)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _scrub(view: QuestionView) -> None:
    for name in view.__struct_fields__:
        value = getattr(view, name)
        if isinstance(value, str | list | dict):
            setattr(view, name, harmless(value))


def _host(given: Mapping[str, Any]) -> str:
    try:
        host = urlsplit(str(given.get("url", ""))).hostname
    except ValueError:
        host = None
    return _one(host or "") or "an address that can't be read"


def _outside(given: Mapping[str, Any], cwd: str) -> bool:
    path = given.get("file_path") or given.get("path")
    return isinstance(path, str) and path.startswith("/") and not f"{path}/".startswith(f"{cwd.rstrip('/')}/")


def _one(text: str) -> str:
    return " ".join(text.split())


def _line(text: str) -> str:
    line = _one(text)
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


__all__ = ["Fresh", "answer_from", "kind_of", "line_of", "plan_of", "question_view", "show_plan", "steps_of", "title_words"]
