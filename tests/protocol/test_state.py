"""What may be said when: every state and every step."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from ropewalk.errors import LocalProtocolError, SessionGone
from ropewalk.protocol.answers import Allow
from ropewalk.protocol.connection import Connection
from ropewalk.protocol.state import OURS, TRANSITIONS, State, Step, advance
from tests.protocol.diagram import PAGE, drawing
from tests.protocol.wire import ask, connection, init, result, success

THEIRS = [step for step in Step if step not in OURS]


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("step", THEIRS)
def test_whatever_the_cli_does_has_an_entry_in_every_state(state: State, step: Step) -> None:
    """ours: tolerant in what we hear."""
    assert advance(state, step) in State


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("step", [step for step in Step if step in OURS])
def test_a_step_of_ours_without_an_entry_raises(state: State, step: Step) -> None:
    """ours: strict in what we say."""
    if step in TRANSITIONS[state]:
        assert advance(state, step) is TRANSITIONS[state][step]
        return
    with pytest.raises(LocalProtocolError, match=f"cannot {step.value}: the session is {state.value}"):
        advance(state, step)


VERBS: dict[str, Callable[[Connection], object]] = {
    "prompt": lambda conn: conn.send_prompt("hi"),
    "initialize": lambda conn: conn.send_initialize({}),
    "request": lambda conn: conn.send_request("interrupt"),
    "keep_alive": lambda conn: conn.send_keep_alive(),
    "environment": lambda conn: conn.send_environment({"A": "b"}),
    "answer": lambda conn: conn.answer("q1", Allow()),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("end", [Connection.end_input, lambda conn: conn.close(SessionGone("gone"))], ids=["ending", "closed"])
def test_nothing_can_be_said_after_the_end(verb: str, end: Callable[[Connection], None]) -> None:
    """ours: each verb raises, and nothing is queued."""
    conn = connection()
    conn.receive_data(ask("q1"))
    end(conn)
    with pytest.raises(LocalProtocolError):
        VERBS[verb](conn)
    assert conn.data_to_send() == b"" and len(conn.pending) == 0 and conn.turns.waiting == []


def test_a_life_passes_through_the_states_in_order() -> None:
    """ours"""
    conn = connection()
    seen = [conn.state]
    request_id = conn.send_initialize({})
    seen.append(conn.state)
    conn.receive_data(success(request_id, {}))
    seen.append(conn.state)
    conn.send_prompt("hi")
    conn.receive_data(init())
    seen.append(conn.state)
    conn.receive_data(result())
    seen.append(conn.state)
    conn.end_input()
    seen.append(conn.state)
    conn.receive_eof()
    seen.append(conn.state)
    assert seen == [State.NEW, State.STARTING, State.READY, State.RUNNING, State.READY, State.ENDING, State.CLOSED]


def test_a_cli_that_still_speaks_after_its_input_was_closed_is_heard() -> None:
    """measured (all versions): the turn finishes with a result; background work may even begin another."""
    conn = connection()
    uuid = conn.send_prompt("hi")
    conn.receive_data(init())
    conn.end_input()
    conn.receive_data(result() + init() + result())
    assert conn.state is State.ENDING and conn.turns.count == 2
    assert conn.turns.prompts[uuid].value == "done"


def test_only_an_end_leads_to_closed_and_nothing_leads_out() -> None:
    """ours"""
    for state, steps in TRANSITIONS.items():
        for step, target in steps.items():
            assert (target is State.CLOSED) == (step is Step.EOF or state is State.CLOSED)


def test_the_drawing_in_the_docs_is_the_table() -> None:
    """ours: `python -m tests.protocol.diagram` draws it anew."""
    page = PAGE.read_text("utf-8")
    assert drawing() in page
    rows = {
        cells[0]: cells[1:]
        for cells in (re.split(r"\s*\|\s*", row.strip("| ")) for row in drawing().splitlines())
        if len(cells) == 7
    }
    for step in Step:
        label = f"we {step.value}" if step in OURS else f"the CLI {step.value}"
        targets = [TRANSITIONS[state].get(step) for state in State]
        assert rows[label] == [target.value if target else "–" for target in targets]
