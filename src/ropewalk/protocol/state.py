"""What may be said when: one table. Refuses what we may not say; whatever the CLI says has an entry in every state."""

from __future__ import annotations

from enum import Enum

from ..errors import LocalProtocolError


class State(Enum):
    __hash__ = object.__hash__  # members are single objects; Enum's own hash is a call in Python for each look-up

    NEW = "new"  # nothing said yet
    STARTING = "starting"  # our initialize is not answered yet
    READY = "ready"  # no turn runs
    RUNNING = "running"  # a turn runs
    ENDING = "ending"  # we closed its input; it may still speak
    CLOSED = "closed"


class Step(Enum):
    __hash__ = object.__hash__  # as above

    INITIALIZE = "initialize"  # ours
    PROMPT = "send a prompt"
    REQUEST = "send a request"
    ANSWER = "answer"
    END_INPUT = "close the input"
    INITIALIZED = "answers initialize"  # the CLI's
    TURN = "begins a turn"
    RESULT = "ends a turn"
    EOF = "ends"


OURS = frozenset({Step.INITIALIZE, Step.PROMPT, Step.REQUEST, Step.ANSWER, Step.END_INPUT})

_SPEAK = (Step.PROMPT, Step.REQUEST, Step.ANSWER)

TRANSITIONS: dict[State, dict[Step, State]] = {
    State.NEW: {
        **dict.fromkeys(_SPEAK, State.NEW),
        Step.INITIALIZE: State.STARTING,
        Step.END_INPUT: State.ENDING,
        Step.INITIALIZED: State.READY,
        Step.TURN: State.RUNNING,
        Step.RESULT: State.READY,
        Step.EOF: State.CLOSED,
    },
    State.STARTING: {
        **dict.fromkeys(_SPEAK, State.STARTING),
        Step.INITIALIZE: State.STARTING,
        Step.END_INPUT: State.ENDING,
        Step.INITIALIZED: State.READY,
        Step.TURN: State.RUNNING,
        Step.RESULT: State.READY,
        Step.EOF: State.CLOSED,
    },
    State.READY: {
        **dict.fromkeys(_SPEAK, State.READY),
        Step.INITIALIZE: State.READY,  # a second one: recovery after a broken link
        Step.END_INPUT: State.ENDING,
        Step.INITIALIZED: State.READY,
        Step.TURN: State.RUNNING,
        Step.RESULT: State.READY,  # a result without init: a local command, a failed resume
        Step.EOF: State.CLOSED,
    },
    State.RUNNING: {
        **dict.fromkeys(_SPEAK, State.RUNNING),
        Step.INITIALIZE: State.RUNNING,
        Step.END_INPUT: State.ENDING,
        Step.INITIALIZED: State.RUNNING,
        Step.TURN: State.RUNNING,  # 2.1.62 begins a second turn without a result for the first (background sub-agent)
        Step.RESULT: State.READY,
        Step.EOF: State.CLOSED,
    },
    State.ENDING: {
        Step.END_INPUT: State.ENDING,
        Step.INITIALIZED: State.ENDING,
        Step.TURN: State.ENDING,
        Step.RESULT: State.ENDING,
        Step.EOF: State.CLOSED,
    },
    State.CLOSED: {
        Step.END_INPUT: State.CLOSED,
        Step.INITIALIZED: State.CLOSED,
        Step.TURN: State.CLOSED,
        Step.RESULT: State.CLOSED,
        Step.EOF: State.CLOSED,
    },
}


def advance(state: State, step: Step) -> State:
    """The state after ``step``. Raises ``LocalProtocolError`` for a step of ours that has no entry."""
    try:
        return TRANSITIONS[state][step]
    except KeyError:
        raise LocalProtocolError(f"cannot {step.value}: the session is {state.value}") from None
