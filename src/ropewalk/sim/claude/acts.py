"""What each tool does when it is allowed: its name, its input as the CLI shows it, its outcome. Refuses to ask."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
from typing import TYPE_CHECKING

from . import agents, outcomes, plans, structured
from .background import Task
from .calls import Call
from .outcomes import Outcome
from .scenario import Step
from .session import Json, Usage

if TYPE_CHECKING:
    from .actor import Actor
    from .program import Program
    from .turn import Turn

TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskList", "TaskGet"})
LONG_RUN = 3.0
"""Seconds after which 2.1.326 tells of a foreground command as a task (measured: about 3)."""


def call_of(turn: Turn, step: Step) -> Call:
    """The call that a step stands for; ``ask``, ``plan``, ``todos`` and ``structured`` are short forms."""
    name, given = _short_form(turn, step)
    call = Call(str(step.get("id") or f"toolu_{secrets.token_hex(12)}"), name, given, step)
    if name == "ExitPlanMode":
        call.given = plans.given(given, turn.session)
        call.shown = call.given | ({"plan": given["plan"]} if "plan" in given and "plan" not in call.given else {})
    return call


def _short_form(turn: Turn, step: Step) -> tuple[str, Json]:
    match step.kind:
        case "ask":
            return "AskUserQuestion", {"questions": [_question(each) for each in step.value]}
        case "plan":
            return "ExitPlanMode", {"allowedPrompts": step.get("allowed_prompts")} if step.get("allowed_prompts") else {}
        case "todos":
            return "TodoWrite", {"todos": step.value}
        case "structured":
            return "StructuredOutput", dict(step.value)
    return step.value, {key: turn.filled(value) for key, value in dict(step.get("input", {})).items()}


def _question(each: Json) -> Json:
    """A question of an ``ask`` step with its short forms filled in: options may be plain texts."""
    options = [
        option if isinstance(option, dict) else {"label": str(option), "description": ""} for option in each.get("options", [])
    ]
    header = each.get("header") or str(each.get("question", ""))[:12]
    return {
        "question": each.get("question", ""),
        "header": header,
        "options": options,
        "multiSelect": bool(each.get("multi", False)),
    }


def unavailable(program: Program, name: str) -> Outcome | None:
    """The outcome for a tool that this CLI does not have in headless mode."""
    rich = program.traits.rich_results
    needed = ("TASKS", "TODO_TOOLS") if rich else ("TASKS",)
    switched_on = all(os.environ.get(f"CLAUDE_CODE_ENABLE_{word}") for word in needed)
    missing = (name in TASK_TOOLS and not switched_on) or (name == "TodoWrite" and (rich or switched_on))
    if not missing:
        return None
    words = f"No such tool available: {name}"
    if rich:
        words += f". {name} is disabled for this session, in subagents as well as here."
    return Outcome(f"<tool_use_error>Error: {words}</tool_use_error>", f"Error: {words}", error=True)


async def carry_out(turn: Turn, actor: Actor, call: Call) -> Outcome:
    """Do it, or pretend to."""
    if call.name in ("Task", "Agent"):
        return await agents.run(turn, call)
    if call.name.startswith("mcp__"):
        return await turn.program.mcp.call_tool(call) or outcomes.scripted(call, turn.session)
    if call.name == "EnterPlanMode":
        return _enter_plan_mode(turn)
    if call.name == "ExitPlanMode":
        return await _exit_plan_mode(turn, call)
    if call.name in TASK_TOOLS:
        return turn.program.todo_list.act(call, turn.session)
    if call.name == "AskUserQuestion" and turn.traits.choice_checked and "questions" not in call.given:
        words = "<tool_use_error>InputValidationError: the required parameter `questions` is missing</tool_use_error>"
        return Outcome(words, words, error=True, source="permission_updated_input_invalid")
    if call.name == "StructuredOutput" and turn.program.schema is not None:
        return _structured(turn, call)
    if call.name == "Bash" and not call.given.get("command"):
        words = "Cannot read properties of undefined (reading 'includes')"
        return Outcome(words, f"Error: {words}", error=True)
    if call.name == "Bash" and call.given.get("run_in_background"):
        return _bash_beside(turn, call)
    if call.name == "Bash":
        return await _bash(turn, call)
    await turn.program.pause(float(call.step.get("lasts", 0)))
    if call.step.get("run") or call.given.get("file_path") == turn.session.plan_file:
        turn.program.checkpoints.note(turn.prompts, call, turn.session)
        return outcomes.perform(call, turn.session)
    return outcomes.scripted(call, turn.session)


def _enter_plan_mode(turn: Turn) -> Outcome:
    turn.session.mode_before_plan, turn.session.mode = turn.session.mode, "plan"
    plans.plan_file(turn.session, turn.facts["prompt"])
    turn.say(turn.lines.mode_status())
    return Outcome(f"{plans.ENTERED}\n\nIn plan mode, you should explore and then present a plan.", {"message": plans.ENTERED})


async def _exit_plan_mode(turn: Turn, call: Call) -> Outcome:
    """The mode goes back unless the answer, or a request, has already set another."""
    if turn.session.mode == "plan":
        turn.session.mode = turn.session.mode_before_plan
        turn.say(turn.lines.mode_status())
    await turn.program.pause(0)
    await turn.program.pause(0)
    plans.plan_file(turn.session, turn.facts["prompt"])
    return plans.leave(call, turn.session)


def _structured(turn: Turn, call: Call) -> Outcome:
    words = structured.complaint(turn.program.schema or {}, call.given)
    if words is not None:
        turn.bad_output(words)
        return Outcome(words, f"Error: {words}", error=True)
    turn.structured = call.given
    text = "Structured output provided successfully"
    return Outcome(text, text)


async def _bash(turn: Turn, call: Call) -> Outcome:
    call.running = True
    lasts = float(call.step.get("lasts", 0))
    task = turn.program.tasks.new("local_bash", call.id, str(call.given.get("description", "")), background=False)
    told = lasts >= LONG_RUN and turn.traits.task_lines == "all"
    if told:
        await turn.program.pause(LONG_RUN)
        turn.program.tasks.begin(task)
        lasts -= LONG_RUN
    try:
        outcome = await _shell(turn, call, None) if call.step.get("run") else await _pretend(turn, call, lasts)
    except asyncio.CancelledError:
        if told:
            turn.program.tasks.notify_quietly(task, "stopped")
        raise
    if told:
        turn.program.tasks.notify_quietly(task, "completed")
    if turn.traits.small_calls and not outcome.error:
        turn.pay(turn.traits.small_model, Usage(100, 20), main=False)
    return outcome


async def _pretend(turn: Turn, call: Call, lasts: float) -> Outcome:
    """In three parts: a look at the loop (a command is never the first of several tools to end), the progress line, the rest."""
    await turn.program.pause(0)
    await turn.program.pause(0)
    told_after = 30.0 - LONG_RUN if turn.traits.task_lines == "all" else 2.0
    if turn.program.remote and lasts >= told_after:
        await turn.program.pause(told_after)
        turn.say(_progress(turn, call))
        lasts -= told_after
    await turn.program.pause(lasts)
    return outcomes.scripted(call, turn.session)


def _progress(turn: Turn, call: Call) -> Json:
    """Only with the variables of a remote container; the real id is in the parent's field (measured, all versions)."""
    rich = turn.traits.rich_results
    line: Json = {
        "type": "tool_progress",
        "tool_use_id": f"{call.id}-heartbeat-0" if rich else "bash-progress-0",
        "tool_name": "Bash",
    }
    line |= {"parent_tool_use_id": call.id, "elapsed_time_seconds": 30 if rich else 2}
    if turn.traits.task_lines == "some":
        line["task_id"] = f"b{secrets.token_hex(4)}"
    if rich:
        line["heartbeat"] = True
    return line | {"session_id": turn.session.id, "uuid": turn.session.new_id()}


def _bash_beside(turn: Turn, call: Call) -> Outcome:
    task = turn.program.tasks.new("local_bash", call.id, str(call.given.get("description") or call.given["command"]))
    turn.program.tasks.begin(task)
    task.handle = turn.program.group.create_task(_work_beside(turn, call, task))
    words = (
        f"Command running in background with ID: {task.id}. Output is being written to: {turn.program.tasks.output_file(task)}"
    )
    if turn.traits.rich_results:
        words += ". You will be notified when it completes. To check interim output, use Read on that file path."
    elif turn.traits.small_calls:
        turn.pay(turn.traits.small_model, Usage(100, 20), main=False)
    details = outcomes.bash_details(call, turn.session, "", "") | {"backgroundTaskId": task.id}
    return Outcome(words, details, marked=True)


async def _work_beside(turn: Turn, call: Call, task: Task) -> None:
    if call.step.get("run"):
        await _shell(turn, call, task)
    else:
        await turn.program.pause(float(call.step.get("lasts", 0)))
    turn.program.tasks.end(
        task, "completed", f'Background command "{task.description}" completed (exit code 0)', call.step.get("then")
    )


async def _shell(turn: Turn, call: Call, task: Task | None) -> Outcome:
    """A real command, as a child in a session of its own; an interrupt ends it, the end of this process need not.

    Started in one step, so that a signal never finds a command that is not in the list yet.
    """
    shell = ["/bin/sh", "-c", str(call.given["command"])]
    environment = {**os.environ, **turn.session.environment}
    child = subprocess.Popen(  # noqa: ASYNC220 - starting it takes a millisecond; waiting for it is the thread's affair
        shell, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=turn.session.cwd, env=environment,
        start_new_session=True,
    )  # fmt: skip
    turn.program.commands.add(child.pid)
    if task is not None:
        task.command = child.pid
    try:
        out, err = await asyncio.to_thread(child.communicate)
    except asyncio.CancelledError:
        turn.program.end_command(child.pid)
        raise
    turn.program.commands.discard(child.pid)
    return outcomes.bash(call, turn.session, out.decode(errors="replace"), err.decode(errors="replace"), child.returncode)
