"""Draws the protocol's table of states for docs/protocol.md: `python -m tests.protocol.diagram` writes it there."""

from __future__ import annotations

import re
from pathlib import Path

from ropewalk.protocol.state import OURS, TRANSITIONS, State, Step

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"
BEGIN, END = "<!-- states: drawn from the table -->", "<!-- end of states -->"


def drawing() -> str:
    """The changes as a picture, then every state and step as a table; ``–`` is a step that raises."""
    arrows = [
        f"    {state.value} --> {target.value}: {_steps(state, target)}"
        for state in State
        for target in State
        if target is not state and target in TRANSITIONS[state].values()
    ]
    head = ["| | " + " | ".join(state.value for state in State) + " |", "|---" * (len(State) + 1) + "|"]
    rows = [f"| {_label(step)} | " + " | ".join(_cell(state, step) for state in State) + " |" for step in Step]
    picture = ["```mermaid", "stateDiagram-v2", f"    [*] --> {State.NEW.value}", *arrows, "```"]
    return "\n".join([BEGIN, "", *picture, "", *head, *rows, "", END])


def _steps(state: State, target: State) -> str:
    return ", ".join(step.value for step in Step if TRANSITIONS[state].get(step) is target)


def _label(step: Step) -> str:
    return f"we {step.value}" if step in OURS else f"the CLI {step.value}"


def _cell(state: State, step: Step) -> str:
    target = TRANSITIONS[state].get(step)
    return target.value if target is not None else "–"


def with_drawing(page: str) -> str:
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: drawing(), page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(with_drawing(PAGE.read_text("utf-8")), "utf-8")
