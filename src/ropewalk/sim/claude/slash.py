"""Local slash commands and compaction: what the CLI answers by itself. Refuses the model's part: other commands are prompts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from . import results
from .lines import stamp
from .prompts import Prompt
from .session import Json, Usage

if TYPE_CHECKING:
    from .turn import Turn

SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation.\n\n{summary}"
)
COUNTED = 9
"""num_turns of a local command on 2.1.37 and 2.1.62 counts the whole history: any number is as good."""


def is_local(turn: Turn, prompt: Prompt) -> bool:
    """Does the CLI answer this by itself?"""
    name = command(prompt)
    if not name:
        return False
    if name in ("compact", "cost", "context"):
        return True
    if name in ("clear", "help"):
        return True
    if turn.traits.slash_unknown_to_model or turn.program.script.knows(prompt.text):
        return False
    return not any(
        Path(folder, "commands", f"{name}.md").is_file() for folder in (f"{turn.session.cwd}/.claude", turn.session.config_dir)
    )


def command(prompt: Prompt) -> str:
    words = prompt.text.split()
    return words[0][1:] if words and words[0].startswith("/") and len(words[0]) > 1 else ""


async def run(turn: Turn, prompt: Prompt) -> None:
    name = command(prompt)
    if name == "compact":
        await _compact_command(turn)
    elif name == "clear" and turn.traits.clear_command:
        _clear(turn, prompt)
    else:
        _answer(turn, name)


async def _compact_command(turn: Turn) -> None:
    await compact(turn, turn.program.script.side_answer(), "manual", with_init=True)
    words = "<local-command-stdout>Compacted </local-command-stdout>"
    turn.say(turn.lines.replay(words, None))
    _local_result(turn, "", "compact")


async def compact(
    turn: Turn, summary: str, trigger: str, with_init: bool = False, tokens: int = 120, fails: bool = False
) -> None:
    """Status, boundary, summary. In mid-turn without init (measured, all versions)."""
    rich = turn.traits.rich_results
    turn.say(turn.lines.status("compacting", **({"compact_output_chars": 0} if rich and trigger == "auto" else {})))
    await turn.program.pause(0)
    if fails:
        turn.say(turn.lines.status(None, **({"compact_result": "failed", "compact_error": "too_few_groups"} if rich else {})))
        return
    turn.pay(turn.session.model, Usage(100, 20), main=False)
    turn.say(turn.lines.status(None, **({"compact_result": "success"} if rich else {})))
    if with_init:
        turn.say_init()
    metadata: Json = {"trigger": trigger, "pre_tokens": tokens}
    if rich:
        metadata |= {"post_tokens": 40, "cumulative_dropped_tokens": 0, "duration_ms": 1}
    fields: Json = {"compact_metadata": metadata}
    if rich:
        fields["logical_parent_uuid"] = turn.session.new_id()
    turn.say(turn.lines.system("compact_boundary", fields))
    text = SUMMARY.format(summary=summary)
    if trigger == "auto":
        turn.say_user(turn.lines.user([{"type": "text", "text": text}], isSynthetic=True))
        return
    more: Json = {"isReplay": False, "isSynthetic": True} if rich else {"isReplay": False}
    turn.say(turn.lines.replay(text, None) | more)


def _clear(turn: Turn, prompt: Prompt) -> None:
    session = turn.session
    before = session.id
    session.forget()
    turn.program.begin_transcript()
    line: Json = {"type": "conversation_reset", "new_conversation_id": session.id, "trigger": "clear"}
    line |= {"user_message_uuid": prompt.uuid or session.new_id(), "session_id": before, "uuid": session.new_id()}
    line["timestamp"] = stamp()
    turn.say(line)
    turn.say(turn.lines.system("background_tasks_changed", {"tasks": []}))
    turn.say_init()
    # The new session can be resumed at once (measured): the CLI notes the command in its record.
    turn.program.transcript.keep({"type": "user", "fromCli": True, "uuid": session.new_id(), "session_id": session.id})
    _local_result(turn, "", "clear")


def _answer(turn: Turn, name: str) -> None:
    text, known = _words(turn, name)
    turn.say_init()
    if not known and not turn.traits.rich_results:
        _local_result(turn, text, None)
    elif turn.traits.local_output == "assistant":
        source = f"<local-command-stdout>{text}</local-command-stdout>"
        message = turn.lines.made_up(text, "end_turn", None)
        turn.say(turn.lines.assistant(message, None, local_command_source=source, **_about_run(turn, name, known)))
        _local_result(turn, text, name if known else None)
    else:
        turn.say(turn.lines.replay(f"<local-command-stdout>{text}</local-command-stdout>", None))
        _local_result(turn, "" if turn.traits.version == "2.1.37" else text, name)


def _about_run(turn: Turn, name: str, known: bool) -> Json:
    if not known:
        return {"local_command_outcome": {"kind": "unavailable_headless"}}
    run: Json = {"local_command_run": {"command": "usage" if name == "cost" else name, "args": ""}}
    if name == "context":
        used: Json = {
            "model": turn.session.model,
            "total_tokens": 100,
            "raw_max_tokens": turn.traits.context_window,
            "percentage": 0,
        }
        used |= {"categories": [{"name": "System prompt", "tokens": 90, "kind": "used"}], "mcp_tools": [], "memory_files": []}
        run["context_usage"] = used | {"agents": [], "skills": []}
    return run


def _words(turn: Turn, name: str) -> tuple[str, bool]:
    if name == "cost":
        return f"Total cost:            ${turn.session.purse.total:.4f}\nTotal duration (API):  0s", True
    if name == "context":
        return f"## Context Usage\n\n**Model:** {turn.session.model}  \n**Tokens:** 100 / 200k (0%)", True
    if turn.traits.rich_results:
        return f"/{name} isn't available in this environment.", False
    return f"Unknown skill: {name}", False


def _local_result(turn: Turn, text: str, name: str | None) -> None:
    rich = turn.traits.rich_results
    turn.tally.rounds = 0 if rich else COUNTED
    turn.say(results.local_result(turn.lines, turn.tally, text, name))
