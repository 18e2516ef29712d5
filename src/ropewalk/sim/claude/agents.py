"""Sub-agents: an actor of its own inside a tool call, in the foreground or beside the turn. Refuses to invent its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .background import Task
from .calls import Call
from .endings import StopTurn
from .outcomes import Outcome
from .results import turn_usage
from .session import Json, Usage

if TYPE_CHECKING:
    from .turn import Turn

REPORT_TAIL = (
    "agentId: {id} (for resuming to continue this agent's work if needed)\n<usage>total_tokens: 120\ntool_uses: {uses}</usage>"
)


def in_background(turn: Turn, call: Call) -> bool:
    """2.1.326 runs them beside the turn unless told otherwise, the older ones only when told to."""
    asked = call.given.get("run_in_background")
    return bool(asked) if asked is not None else turn.traits.agents_in_background


async def run(turn: Turn, call: Call) -> Outcome:
    """The outcome of the call: the report, or the note that the agent was launched."""
    background = in_background(turn, call)
    kind = str(call.given.get("subagent_type", "general-purpose"))
    task = turn.program.tasks.new(
        "local_agent", call.id, str(call.given.get("description", "")), agent_type=kind, prompt=str(call.given.get("prompt", "")),
        background=background,
    )  # fmt: skip
    turn.program.tasks.begin(task)
    turn.count_agent(kind, call.given.get("run_in_background"), background)
    if not background:
        report = await _work(turn, call, task)
        turn.program.tasks.end(task, "completed", report)
        return _reported(turn, call, task, report)
    task.handle = turn.program.group.create_task(_beside(turn, call, task))
    return _launched(turn, call, task)


async def _work(turn: Turn, call: Call, task: Task) -> str:
    actor = turn.agent_actor(call, task)
    await turn.program.pause(0)
    if not task.background:
        turn.say(turn.lines.user([{"type": "text", "text": task.prompt}], call.id, **actor.agent_marks()))
    try:
        await turn.converse(actor)
    except StopTurn as stop:
        return stop.ending.text
    return actor.text or str(call.step.get("result", ""))


async def _beside(turn: Turn, call: Call, task: Task) -> None:
    await turn.program.pause(float(call.step.get("lasts", 0)))
    report = await _work(turn, call, task)
    summary = report if turn.traits.task_lines == "all" else f'Agent "{task.description}" completed'
    turn.program.tasks.end(task, "completed", summary, call.step.get("then"))


def _reported(turn: Turn, call: Call, task: Task, report: str) -> Outcome:
    text = [{"type": "text", "text": report}]
    details: Json = {"status": "completed", "prompt": task.prompt, "agentId": task.id}
    if turn.traits.task_lines == "all":
        tools = ["Bash"] * min(1, task.tool_uses)
        details |= {
            "agentType": task.agent_type,
            "toolsUsed": tools,
            "harnessNoteCount": 1,
            "harnessTailCount": 0,
            "harnessSectionHash": "7b2d584d9e5bdb81",
            "resolvedModel": turn.session.model,
        }
    note = [{"type": "text", "text": "(a note of the CLI)"}] if turn.traits.task_lines == "all" else []
    details |= {
        "content": [*note, *text],
        "totalDurationMs": task.usage()["duration_ms"],
        "totalTokens": 120,
        "totalToolUseCount": task.tool_uses,
    }
    details["usage"] = turn_usage(turn.lines, Usage(100, 20))
    if turn.traits.task_lines == "all":
        counts = ("readCount", "searchCount", "editFileCount", "linesAdded", "linesRemoved", "otherToolCount")
        details |= {"toolStats": {**dict.fromkeys(counts, 0), "bashCount": task.tool_uses}, "canContinueAgent": True}
        return Outcome([{"type": "text", "text": f"[Subagent hand-back]\n{report}"}], details)
    return Outcome([*text, {"type": "text", "text": REPORT_TAIL.format(id=task.id, uses=task.tool_uses)}], details)


def _launched(turn: Turn, call: Call, task: Task) -> Outcome:
    words = f"Async agent launched successfully.\nagentId: {task.id}\nThe agent is working in the background."
    details: Json = {"isAsync": True, "status": "async_launched", "agentId": task.id, "description": task.description}
    if turn.traits.task_lines == "all":
        details["resolvedModel"] = turn.session.model
    details |= {"prompt": task.prompt, "outputFile": turn.program.tasks.output_file(task)}
    if turn.traits.task_lines != "none":
        details["canReadOutputFile"] = True
    if turn.traits.task_lines == "all":
        details["canContinueAgent"] = True
    return Outcome([{"type": "text", "text": words}], details)
