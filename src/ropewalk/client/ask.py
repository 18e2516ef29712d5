"""One question, one answer, no async: for scripts and notebooks. Refuses to wait for a person that is not there."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from ..errors import TurnFailed, UsageError
from ..protocol.answers import Deny
from ..protocol.messages import Assistant, Result
from .client import Client
from .options import ClientOptions

NOBODY = "No person is here to answer this. Go on without it, or say what you would need."


def ask(prompt: str, options: ClientOptions | None = None, **more: Any) -> str:
    """The answer to one prompt, as text. ``more``: options by name (``cwd=``, ``model=``, ``allowed_tools=`` …).

    Questions are denied unless ``on_question`` is given. Raises ``TurnFailed`` when the turn fails, ``UsageError`` inside a
    running event loop: use ``Client`` there.
    """
    chosen = replace(options or ClientOptions(), **more)
    if chosen.on_question is None:
        chosen = replace(chosen, on_question=lambda question: Deny(NOBODY))
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_ask(prompt, chosen))
    raise UsageError("ask() can't run inside an event loop; use `async with Client(…)` there")


async def _ask(prompt: str, options: ClientOptions) -> str:
    async with Client(options) as client:
        words = ""
        result: Result | None = None
        async for message in client.query(prompt):
            if isinstance(message, Result):
                result = message
            elif isinstance(message, Assistant) and message.parent_tool_use_id is None:
                words = message.text or words
    if result is None or result.failed:
        raise TurnFailed(result.subtype if result else "no result", result.reasons if result else (), client.session_id)
    return result.result or words
