"""Answers what the CLI asks of the program: hooks, MCP, questions. Refuses to turn a failure into an allow, or to block."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any

from ..protocol.answers import Answer, Refusal, Reply
from ..protocol.control import ControlRequest, HookCallback, McpMessage
from .eager import Starter
from .hooks import HookAnswer, HookBook, hook_payload
from .mcp import McpDesk
from .options import OnQuestion
from .question import Question

log = logging.getLogger("ropewalk.client")

Say = Callable[[str, Answer], bool]
"""Sends an answer; False when the question is no longer open."""


class Answering:
    """Owns the tasks in which the caller's functions run; ``close`` ends them."""

    __slots__ = ("_desk", "_hooks", "_on_error", "_on_question", "_say", "_starter", "_tasks")

    def __init__(
        self, say: Say, hooks: HookBook, desk: McpDesk, on_question: OnQuestion | None, on_error: Callable[[Exception], None]
    ) -> None:
        self._say, self._hooks, self._desk = say, hooks, desk
        self._on_question, self._on_error = on_question, on_error
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._starter = Starter()

    def asked(self, question: ControlRequest) -> None:
        """Begin to answer; plain functions answer at once, and so do async ones that wait for nothing; else in a task."""
        asked = question.request
        try:
            if isinstance(asked, HookCallback):
                found: Any = self._hooks.call(asked)
            elif isinstance(asked, McpMessage):
                found = self._desk.respond(asked.server_name, asked.message)
            elif self._on_question is None:
                return
            else:
                found = self._on_question(Question(question))
        except BaseException as error:  # noqa: BLE001 - a caller's function may raise anything, and the CLI must not wait
            self._failed(question, error)
            return
        if type(found) is CoroutineType or inspect.isawaitable(found):  # the general test is slow, and hardly ever needed
            task = self._starter.begin(self._wait(question, found))
            if task is not None:
                self._tasks[question.request_id] = task
                task.add_done_callback(lambda _: self._ended(question.request_id, found))
        else:
            self._reply(question, found)

    def withdrawn(self, request_id: str) -> None:
        """The CLI no longer waits: the function that thinks about it is cancelled."""
        task = self._tasks.get(request_id)
        if task is not None:
            task.cancel()

    def cancel(self) -> None:
        """Nobody waits for any answer: the process is gone."""
        for task in self._tasks.values():
            task.cancel()

    async def close(self, within: float) -> None:
        """Cancel, and wait for the functions' own cleaning up, so long and no longer."""
        self.cancel()
        self._starter.close()
        if not self._tasks:
            return
        _, deaf = await asyncio.wait(self._tasks.values(), timeout=within)
        for task in deaf:
            log.error("a function that answers questions or hooks did not end when it was cancelled: %r", task)

    async def _wait(self, question: ControlRequest, found: Awaitable[Any]) -> None:
        try:
            answer = await found
        except (asyncio.CancelledError, GeneratorExit):
            why = "the controller is closing, or the function that decides was cancelled"
            self._say(question.request_id, self._no(question, why))
            raise
        except BaseException as error:  # noqa: BLE001 - a caller's function may raise anything, and the CLI must not wait
            self._failed(question, error)
        else:
            self._reply(question, answer)

    def _ended(self, request_id: str, found: Any) -> None:
        """Also of a task that was cancelled before its first step: then the caller's function was never begun."""
        self._tasks.pop(request_id, None)
        if inspect.iscoroutine(found):
            found.close()

    def _reply(self, question: ControlRequest, answer: Any) -> None:
        if answer is None and not isinstance(question.request, HookCallback):
            return  # left open, for control_response
        try:
            if isinstance(question.request, HookCallback):
                answer = Reply(hook_payload(answer))
            elif isinstance(question.request, McpMessage):
                answer = Reply(answer)
            self._say(question.request_id, answer)
        except BaseException as error:  # noqa: BLE001 - a caller's answer may be anything
            self._failed(question, error)

    def _failed(self, question: ControlRequest, error: BaseException) -> None:
        """The CLI is told no; the caller hears why. What is to end the program does so, after that."""
        words = _words(error)
        self._say(question.request_id, self._no(question, f"the controller could not decide: {words}"))
        log.warning("answering %s failed: %s", question.request_id, words)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error
        self._on_error(error if isinstance(error, Exception) else RuntimeError(words))

    def _no(self, question: ControlRequest, why: str) -> Answer:
        """A guard that breaks still guards: an error from a PreToolUse hook counts as no hook at all on every CLI (measured)."""
        asked = question.request
        if isinstance(asked, HookCallback) and self._hooks.event_of(asked) == "PreToolUse":
            return Reply(HookAnswer.permission("deny", why).payload())
        return Refusal(why)


def _words(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - it is the caller's class
        return type(error).__name__
