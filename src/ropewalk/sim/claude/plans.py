"""Plan mode: the plan file, and the steps that a ``plan`` stands for. Refuses to approve: the verdict does."""

from __future__ import annotations

import os
import re
import secrets
from collections import deque

from .calls import Call
from .outcomes import Outcome
from .scenario import Step
from .script import TOOLS
from .session import Json, Session

WORDS = ("agile", "calm", "eager", "gentle", "quiet", "steady", "sunny", "warm")
NAMES = ("babbage", "curie", "hopper", "kepler", "lovelace", "noether", "turing", "wirth")
ENTERED = "Entered plan mode. You should now focus on exploring the codebase and designing an implementation approach."


def plan_file(session: Session, prompt: str) -> str:
    """The path of this session's plan, chosen once; 2.1.326 begins it with words of the prompt."""
    if session.plan_file is None:
        name = f"{secrets.choice(WORDS)}-{secrets.choice(NAMES)}"
        if session.traits.rich_results:
            name = "-".join([*re.findall(r"[a-z0-9]+", prompt.lower())[:2], name])
        session.plan_file = os.path.join(session.config_dir, "plans", f"{name}.md")
    return session.plan_file


def expand(todo: deque[Step], session: Session) -> None:
    """A ``plan`` step that is due becomes what a model does: enter plan mode if need be, write the file, ask to leave."""
    place = next((n for n, step in enumerate(todo) if step.kind in TOOLS or step.kind == "together"), None)
    if place is None or todo[place].kind != "plan" or not todo[place].get("write", True):
        return
    step = todo[place]
    write = Step("tool", "Write", {"input": {"file_path": "{plan_file}", "content": step.value}, "run": True})
    todo[place] = Step("plan", step.value, {**step.more, "write": False})
    todo.insert(place, write)
    if session.mode != "plan":
        todo.insert(place, Step("tool", "EnterPlanMode"))


def given(call_input: Json, session: Session) -> Json:
    """The input of ExitPlanMode as the CLI fills it: the file's text; without a file what the model gave (2.1.326: nothing)."""
    text = _text(session)
    if text is None:
        kept = {key: value for key, value in call_input.items() if key != "plan" or not session.traits.edited_plan}
        return kept
    filled = {**{key: value for key, value in call_input.items() if key != "plan"}, "plan": text}
    return filled | {"planFilePath": session.plan_file} if session.traits.edited_plan else filled


def leave(call: Call, session: Session) -> Outcome:
    """What an approved ExitPlanMode says."""
    written = _text(session)
    plan, edited = written, False
    if session.traits.edited_plan and written is not None:
        wanted = call.given.get("plan", written)
        plan, edited = str(wanted), wanted != written
    details: Json = {"plan": plan, "isAgent": False, "filePath": session.plan_file}
    if edited:
        details["planWasEdited"] = True
    if plan is None:
        return Outcome("User has approved exiting plan mode. You can now proceed.", details)
    words = (
        "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\n"
        f"Your plan has been saved to: {session.plan_file}\nYou can refer back to it if needed during implementation.\n\n"
        f"## Approved Plan:\n{plan}"
    )
    return Outcome(words, details)


def _text(session: Session) -> str | None:
    try:
        with open(session.plan_file or "", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None
