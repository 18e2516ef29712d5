"""When background work is over: each version tells it in its own way."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from ropewalk import Connection


def connection(lazy: bool) -> Connection:
    ids = itertools.count(1)
    return Connection(new_id=lambda: f"id-{next(ids)}", lazy=lazy)


def said(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


STARTED = {"type": "system", "subtype": "task_started", "task_id": "a1", "description": "look", "task_type": "local_agent"}


def result_of(status: str) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}]
    user = {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}
    return {**user, "tool_use_result": {"status": status, "agentId": "a1"}}


@pytest.mark.parametrize("lazy", [False, True])
def test_a_sub_agent_that_was_waited_for_ends_with_its_result(lazy: bool) -> None:
    """measured (2.1.62): task_started, then the result of the call; no line says that the task has ended"""
    conn = connection(lazy)
    conn.receive_data(said(STARTED))
    assert conn.tasks == {"a1": "look"}
    conn.receive_data(said(result_of("completed")))
    assert conn.tasks == {}


@pytest.mark.parametrize("lazy", [False, True])
def test_a_sub_agent_in_the_background_goes_on_after_the_result_of_its_call(lazy: bool) -> None:
    """measured (2.1.62, 2.1.326): the call returns at once; its end is a notification"""
    conn = connection(lazy)
    conn.receive_data(said(STARTED, result_of("async_launched")))
    assert conn.tasks == {"a1": "look"}
    conn.receive_data(said({"type": "system", "subtype": "task_notification", "task_id": "a1", "status": "completed"}))
    assert conn.tasks == {}
