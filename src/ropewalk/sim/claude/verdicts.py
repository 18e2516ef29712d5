"""What an answer to a permission question means to each version. Refuses shapes that the real one refuses, in its manner."""

from __future__ import annotations

from dataclasses import dataclass, field

from .questions import Answer
from .session import Json, Session
from .versions import Traits

FIXED_STOP = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string "
    "was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
INVALID_NEW = (
    "The canUseTool callback returned an invalid permission result. Expected {behavior: 'allow', updatedInput?: object} or "
    "{behavior: 'deny', message: string}. updatedPermissions may hold at most 4096 updates, rules and directories in all."
)
INVALID_OLD = 'Tool permission request failed: ZodError: [\n  {\n    "code": "invalid_union",\n    "errors": []\n  }\n]'
STREAM_CLOSED = "Tool permission request failed: Error: Tool permission stream closed before response received"
UPDATE_KINDS = frozenset({"addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"})


@dataclass(frozen=True)
class Verdict:
    """``source`` is 2.1.326's word for who decided."""

    allowed: bool
    given: Json = field(default_factory=dict)
    message: str = ""
    stop: bool = False
    updates: list[Json] = field(default_factory=list)
    source: str = "user_temporary"


def read(answer: Answer, asked: Json, traits: Traits) -> Verdict:
    """The verdict on a call whose input was ``asked``."""
    if answer.closed:
        return Verdict(False, message=STREAM_CLOSED, source="config")
    if answer.error is not None:
        return Verdict(False, message=f"Tool permission request failed: Error: {answer.error}", source="config")
    reply = answer.response
    if not isinstance(reply, dict) or reply.get("behavior") not in ("allow", "deny"):
        return _invalid(traits)
    return _allow(reply, asked, traits) if reply["behavior"] == "allow" else _deny(reply, traits)


def _allow(reply: Json, asked: Json, traits: Traits) -> Verdict:
    given, updates = reply.get("updatedInput"), reply.get("updatedPermissions") or []
    good = [update for update in updates if isinstance(update, dict) and update.get("type") in UPDATE_KINDS]
    if traits.lenient_answers:
        given = given if isinstance(given, dict) and given else asked
    elif not isinstance(given, dict) or len(good) < len(updates):
        return _invalid(traits)
    return Verdict(True, given, updates=good)


def _deny(reply: Json, traits: Traits) -> Verdict:
    message = reply.get("message")
    if not isinstance(message, str):
        return _invalid(traits)
    return Verdict(False, message=message, stop=bool(reply.get("interrupt")), source="user_reject")


def _invalid(traits: Traits) -> Verdict:
    return Verdict(False, message=INVALID_NEW if traits.lenient_answers else INVALID_OLD, source="config")


def apply(updates: list[Json], session: Session) -> bool:
    """Carry out permission updates; True when the mode was set."""
    mode_set = False
    for update in updates:
        kind = update["type"]
        if kind == "setMode":
            session.mode, mode_set = str(update.get("mode")), True
        elif kind == "addDirectories":
            session.directories += [str(folder) for folder in update.get("directories", []) if folder not in session.directories]
        elif kind == "removeDirectories":
            session.directories = [folder for folder in session.directories if folder not in update.get("directories", [])]
        else:
            _apply_rules(kind, update, session)
    return mode_set


def _apply_rules(kind: str, update: Json, session: Session) -> None:
    tables = {"allow": session.allow_rules, "deny": session.deny_rules, "ask": session.ask_rules}
    table = tables.get(str(update.get("behavior")), session.allow_rules)
    named = [rule_text(rule) for rule in update.get("rules", []) if isinstance(rule, dict)]
    if kind == "replaceRules":
        table.clear()
    if kind == "removeRules":
        table[:] = [rule for rule in table if rule not in named]
    else:
        table.extend(rule for rule in named if rule not in table)
        session.lasting_rules += named if update.get("destination") != "session" else []


def rule_text(rule: Json) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))
