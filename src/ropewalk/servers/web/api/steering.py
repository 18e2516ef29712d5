"""Steering: what is done to a running session."""

from __future__ import annotations

from litestar.params import JSONBody

from ....events import commands as c
from ....events import views as v
from ..verbs import VERBS
from .route import Hub, Name, Who, post, put
from .sessions import SESSION


@post(f"{SESSION}/interrupt", role=VERBS["interrupt"].role)
async def interrupt(hub: Hub, who: Who, session: Name, data: JSONBody[c.Interrupt]) -> v.Receipt:
    """End the running turn; the session stays."""
    return await hub.interrupt(who, session, data)


@post(f"{SESSION}/stop", role=VERBS["stop"].role)
async def stop(hub: Hub, who: Who, session: Name, data: JSONBody[c.Stop]) -> v.Receipt:
    """End the process, rung by rung. It wakes on the next prompt."""
    return await hub.stop(who, session, data)


@post(f"{SESSION}/wake", role=VERBS["wake"].role)
async def wake(hub: Hub, who: Who, session: Name, data: JSONBody[c.Wake]) -> v.SessionView:
    """Start its process again, without a prompt."""
    return await hub.wake(who, session, data)


@post(f"{SESSION}/fork", role=VERBS["fork"].role, status=201)
async def fork(hub: Hub, who: Who, session: Name, data: JSONBody[c.Fork]) -> v.SessionView:
    """Another session that knows what this one knew, at its end or at a message."""
    return await hub.fork(who, session, data)


@post(f"{SESSION}/rewind", role=VERBS["rewind"].role)
async def rewind(hub: Hub, who: Who, session: Name, data: JSONBody[c.Rewind]) -> v.Receipt:
    """Back to before a prompt. ``dry_run`` tells what would change."""
    return await hub.rewind(who, session, data)


@post(f"{SESSION}/mode", role=VERBS["mode"].role)
async def set_mode(hub: Hub, who: Who, session: Name, data: JSONBody[c.SetMode]) -> v.Receipt:
    return await hub.set_mode(who, session, data)


@post(f"{SESSION}/model", role=VERBS["model"].role)
async def set_model(hub: Hub, who: Who, session: Name, data: JSONBody[c.SetModel]) -> v.Receipt:
    return await hub.set_model(who, session, data)


@post(f"{SESSION}/thinking", role=VERBS["thinking"].role)
async def set_thinking(hub: Hub, who: Who, session: Name, data: JSONBody[c.SetThinking]) -> v.Receipt:
    return await hub.set_thinking(who, session, data)


@post(f"{SESSION}/environment", role=VERBS["environment"].role)
async def set_environment(hub: Hub, who: Who, session: Name, data: JSONBody[c.SetEnvironment]) -> v.Receipt:
    """Variables for its next process. Refused unless the configuration allows it."""
    return await hub.set_environment(who, session, data)


@post(f"{SESSION}/control", role=VERBS["control"].role)
async def control(hub: Hub, who: Who, session: Name, data: JSONBody[c.Control]) -> v.Receipt:
    """Any control request of the protocol; its fields stand beside ``subtype``. Answered with the CLI's response."""
    return await hub.control(who, session, data)


@put(f"{SESSION}/seen", role=VERBS["seen"].role)
async def mark_seen(hub: Hub, who: Who, session: Name, data: JSONBody[c.Seen]) -> v.Receipt:
    return await hub.seen(who, session, data)


@put(f"{SESSION}/mute", role=VERBS["mute"].role)
async def mute(hub: Hub, who: Who, session: Name, data: JSONBody[c.Mute]) -> v.Receipt:
    return await hub.mute(who, session, data)


STEERING = [
    interrupt, stop, wake, fork, rewind, set_mode, set_model, set_thinking, set_environment, control, mark_seen, mute,
]  # fmt: skip
