"""What a tool leaves behind: the text for the model and the tool's own object. Refuses to run anything.

Shapes of ``tool_use_result`` as recorded; a scenario step can set both with ``result`` and ``details``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from .calls import Call
from .session import Json, Session

QUIET_COMMANDS = frozenset({"touch", "mkdir", "mv", "cp", "rm", "rmdir", "chmod", "chown", "ln", "cd", "export"})


@dataclass(frozen=True)
class Outcome:
    """``content`` goes to the model, ``details`` to the controller; ``marked`` says that the result carries ``is_error``."""

    content: object
    details: object
    error: bool = False
    marked: bool = False
    source: str | None = None


def scripted(call: Call, session: Session) -> Outcome:
    """The outcome that the scenario wrote, or what a simple run of the tool would say."""
    step = call.step
    if step.get("error"):
        words = str(step.get("result", "the tool failed"))
        return Outcome(words, step.get("details", f"Error: {words}"), error=True, marked=True)
    plain = MAKERS.get(call.name, _plain)(call, session)
    if "result" in step.more:
        plain = Outcome(step.get("result"), plain.details, plain.error, plain.marked)
    return Outcome(plain.content, step.get("details", plain.details), plain.error, plain.marked)


def bash(call: Call, session: Session, stdout: str, stderr: str = "", code: int = 0) -> Outcome:
    if code:
        words = f"Exit code {code}\n{stdout}{stderr}".rstrip("\n")
        return Outcome(words, f"Error: {words}", error=True, marked=True)
    details = bash_details(call, session, stdout.rstrip("\n"), stderr.rstrip("\n"))
    text = stdout.rstrip("\n") + stderr.rstrip("\n")
    if not text and session.traits.rich_results:
        text = "(Bash completed with no output)"
    return Outcome(text, details, marked=True)


def bash_details(call: Call, session: Session, stdout: str, stderr: str) -> Json:
    details: Json = {"stdout": stdout, "stderr": stderr, "interrupted": False, "isImage": False}
    if session.traits.version != "2.1.37":
        details["noOutputExpected"] = str(call.given.get("command", "")).split(" ")[0] in QUIET_COMMANDS
    return details


def _bash(call: Call, session: Session) -> Outcome:
    return bash(call, session, str(call.step.get("result", "")))


def _write(call: Call, session: Session, before: str | None = None) -> Outcome:
    path, content = str(call.given.get("file_path", "")), str(call.given.get("content", ""))
    details: Json = {"type": "create", "filePath": path, "content": content, "structuredPatch": [], "originalFile": before}
    words = f"File created successfully at: {path}"
    if before is not None:
        lines = [f"-{line}" for line in before.splitlines()] + [f"+{line}" for line in content.splitlines()]
        hunk = {
            "oldStart": 1,
            "oldLines": len(before.splitlines()),
            "newStart": 1,
            "newLines": len(content.splitlines()),
            "lines": lines,
        }
        details |= {"type": "update", "structuredPatch": [hunk]}
        words = f"The file {path} has been updated successfully."
    if session.traits.rich_results:
        details["userModified"] = False
        words += " (file state is current in your context — no need to Read it back)"
    return Outcome(words, details)


def _edit(call: Call, session: Session) -> Outcome:
    given = call.given
    path = str(given.get("file_path", ""))
    old, new = str(given.get("old_string", "")), str(given.get("new_string", ""))
    details: Json = {"filePath": path, "oldString": old, "newString": new, "originalFile": old, "structuredPatch": []}
    details |= {"userModified": False, "replaceAll": bool(given.get("replace_all", False))}
    return Outcome(f"The file {path} has been updated successfully.", details)


def _read(call: Call, session: Session) -> Outcome:
    path = str(call.given.get("file_path", ""))
    text = str(call.step.get("result", _file_text(path)))
    lines = text.split("\n")
    shown = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))
    file = {"filePath": path, "content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
    return Outcome(shown, {"type": "text", "file": file})


def _file_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def _todos(call: Call, session: Session) -> Outcome:
    words = (
        "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
        "Please proceed with the current tasks if applicable"
    )
    return Outcome(words, {"oldTodos": [], "newTodos": call.given.get("todos", [])})


def _choice(call: Call, session: Session) -> Outcome:
    answers = call.given.get("answers")
    answers = answers if isinstance(answers, dict) else {}
    pairs = ", ".join(f'"{question}"="{_joined(answer)}"' for question, answer in answers.items())
    words = f"Your questions have been answered: {pairs}. You can now continue with these answers in mind."
    if not session.traits.choice_checked:
        words = f"User has answered your questions: {pairs}. You can now continue with the user's answers in mind."
    kept = ("questions", "answers") if session.traits.version == "2.1.37" else ("questions", "answers", "annotations")
    details = {key: call.given[key] for key in kept if key in call.given}
    return Outcome(words, details)


def _joined(answer: object) -> str:
    return ",".join(str(part) for part in answer) if isinstance(answer, list) else str(answer)


def _plain(call: Call, session: Session) -> Outcome:
    words = call.step.get("result", f"{call.name} completed")
    return Outcome(words, words)


MAKERS: dict[str, Callable[[Call, Session], Outcome]] = {
    "Bash": _bash,
    "Write": _write,
    "Edit": _edit,
    "Read": _read,
    "TodoWrite": _todos,
    "AskUserQuestion": _choice,
}


def perform(call: Call, session: Session) -> Outcome:
    """``run = true`` on Write and Edit: really change the file; on other tools just the scripted outcome."""
    path = os.path.join(session.cwd, str(call.given.get("file_path", "")))
    before = _file_text(path) if os.path.exists(path) else None
    if call.name == "Write":
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _put(path, str(call.given.get("content", "")))
        return _write(call, session, before)
    if call.name == "Edit":
        _put(path, (before or "").replace(str(call.given.get("old_string", "")), str(call.given.get("new_string", "")), 1))
    return scripted(call, session)


def _put(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
