"""Walking through a scenario: which steps a prompt gets, and which of them make up one reply of the model. Refuses to speak."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from .scenario import Scenario, Step

BLOCKS = frozenset({"text", "thinking", "tool", "ask", "plan", "todos", "structured"})
TOOLS = BLOCKS - {"text", "thinking"}


class Script:
    """The scenario with a memory of which rules were used up."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._used: Counter[int] = Counter()
        self._side_answers = deque(scenario.side_answers)

    def steps_for(self, prompt: str) -> deque[Step]:
        """The steps of the first rule that matches and is not used up; else those of ``otherwise``."""
        for number, rule in enumerate(self.scenario.rules):
            if (rule.times is None or self._used[number] < rule.times) and rule.matches(prompt):
                self._used[number] += 1
                return deque(rule.steps)
        return deque(self.scenario.otherwise or [Step("text", f"You said: {prompt}")])

    def knows(self, prompt: str) -> bool:
        """Is there a rule that names this very prompt?"""
        return any((rule.prompt or rule.regex) and rule.matches(prompt) for rule in self.scenario.rules)

    def side_answer(self) -> str:
        """What the model says outside the conversation (titles, side questions)."""
        return self._side_answers.popleft() if self._side_answers else self.scenario.closing


def take_reply(todo: deque[Step], closing: str) -> list[Step]:
    """The steps of the next model call: texts and waits up to and with the first tool, or one ``together``. Never empty."""
    reply: list[Step] = []
    while todo:
        if todo[0].kind in ("together", "reply") and has_blocks(reply):
            break
        step = todo.popleft()
        if step.kind == "reply":
            continue
        if step.kind == "together":
            return [*reply, *step.value]
        reply.append(step)
        if step.kind in TOOLS:
            break
    return reply if has_blocks(reply) or _ends_itself(reply) else [*reply, Step("text", closing)]


def has_blocks(steps: Iterable[Step]) -> bool:
    return any(step.kind in BLOCKS for step in steps)


def _ends_itself(steps: Iterable[Step]) -> bool:
    """A failing call has no words of its own."""
    return any(step.kind in ("fail", "stop") for step in steps)
