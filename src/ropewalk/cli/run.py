"""``ropewalk run``: from what was asked to an exit code. Refuses to ask where nobody can see or answer."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ..client.question import Question
from ..errors import RopewalkError
from ..protocol.answers import Deny
from ..protocol.lazy import LazyMessage
from ..protocol.messages import Message
from ..sessions.figures import seconds
from ..sessions.tools import title_of
from .asked import Asked
from .card import Card
from .codes import INTERRUPTED, READER_GONE, TIMED_OUT, UNANSWERED, Complaint, complaint_of
from .desk import Desk
from .drive import Answers, Drive, NobodyAnswers
from .hand import Decision
from .home import home
from .interrupts import Interrupts
from .keys import Keyboard, PersonGone
from .report import Ending, as_object, closing, ending_of
from .safe import cut, one_line
from .screen import Screen
from .story import Story, Telling
from .work import Work

NOBODY = "No person is here to answer this. Go on without it, or say what you would need."
TICK = 1.0


def keyboard_here(no_input: bool) -> Keyboard | None:
    """A person can be asked: stdin, stdout and stderr are terminals, and nobody said otherwise."""
    if no_input or not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return None
    try:
        return Keyboard(sys.stdin.fileno())
    except termios.error:
        return None


class Absent:
    """Nobody is at this terminal: the policy of ``--on-question`` answers."""

    def __init__(self, policy: str, screen: Screen, folder: str) -> None:
        self.policy, self.screen, self.folder = policy, screen, folder

    async def decide(self, question: Question, waiting: int = 0) -> Decision | None:
        if self.policy == "fail":
            raise NobodyAnswers(question)
        self.screen.talk(f"{Card(self.screen, question, self.folder).head()}   {about(question, self.folder)}")
        if self.policy == "deny":
            return Decision(Deny(NOBODY), "denied: nobody is here to answer")
        return None


def about(question: Question, folder: str) -> str:
    return one_line(title_of(question.tool_name, question.input, folder, home()))


class Run:
    """One ``ropewalk run``."""

    def __init__(self, asked: Asked, screen: Screen, keyboard: Keyboard | None) -> None:
        self.asked, self.screen = asked, screen
        self.work = Work()
        stand_in = "stand-in for claude" if asked.sim is not None else ""
        telling = Telling(asked.prompt, asked.folder, stand_in, asked.thinking, speaks=asked.output == "text")
        self.story = Story(screen, self.work, telling, time.monotonic)
        self.interrupts = Interrupts(screen, keyboard, time.monotonic)
        self._reader_gone = False
        on_line = self._verbatim if asked.output == "stream-json" else None
        self.drive = Drive(asked, screen, self.story, self.work, self._answers(keyboard), self.interrupts, on_line)

    def _answers(self, keyboard: Keyboard | None) -> Answers:
        if keyboard is None:
            return Absent(self.asked.on_question, self.screen, self.asked.folder)
        return Desk(self.screen, keyboard, self.asked.folder, lambda: self.drive.version, self.work.agents)

    async def go(self) -> int:
        """Everything, to the exit code."""
        began = time.monotonic()
        async with self.interrupts:
            ending = await self._ending()
        if ending.code == READER_GONE:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            self._close(ending, time.monotonic() - began)
        return ending.code

    async def _ending(self) -> Ending:
        try:
            async with asyncio.timeout(self.asked.timeout), self._ticking():
                await self.drive.run()
        except asyncio.CancelledError:
            if not self.interrupts.stopping:
                raise
            return self._stopped()
        except TimeoutError:
            limit = seconds(self.asked.timeout or 0)
            return _ending(
                TIMED_OUT, f"timed out after {limit} (--timeout). The turn was stopped; give it longer, or go on with --resume."
            )
        except NobodyAnswers as nobody:
            return self._unanswered(nobody.question)
        except PersonGone:
            return _ending(UNANSWERED, "the terminal was closed while a question was open. Nothing was allowed.")
        except BrokenPipeError:
            return Ending(READER_GONE)
        except RopewalkError as error:
            complaint = complaint_of(error)
            return Ending(complaint.code, complaint)
        return ending_of(self.drive.log, self.story, self.asked)

    def _stopped(self) -> Ending:
        if self._reader_gone:
            return Ending(READER_GONE)
        return Ending(INTERRUPTED if self.interrupts.signal is None else 128 + self.interrupts.signal)

    def _unanswered(self, question: Question) -> Ending:
        head = cut(about(question, self.asked.folder), 200)
        what = f"{one_line(question.tool_name)} {head}".strip()
        return _ending(
            UNANSWERED,
            f"a question is open and nobody may answer it here: {what} (question {question.request_id}). "
            "Run it in a terminal, allow it beforehand with --allow, or have it denied with --on-question deny.",
        )

    def _close(self, ending: Ending, spent: float) -> None:
        if self.asked.output == "text":
            self.screen.end_answer()
            if self.drive.log.result is not None and not self.drive.log.result.failed and not self.work.answer:
                self.screen.answer(self.drive.log.result.result or "")
                self.screen.end_answer()
        if self.drive.log.session_id is not None:
            closing(self.screen, self.drive.log, self.work, ending, spent)
        if ending.complaint is not None:
            complain(self.screen, ending.complaint)
        if self.asked.output == "json":
            self.screen.object(as_object(self.drive.log, self.work, ending, spent, self.asked.sim is not None))

    def _verbatim(self, message: Message | LazyMessage) -> None:
        try:
            self.screen.bytes(message.raw)
        except BrokenPipeError:
            self._reader_gone = True
            self.interrupts.stop()

    @asynccontextmanager
    async def _ticking(self) -> AsyncIterator[None]:
        """Redraws the line that passes; ends with what it surrounds."""

        async def tick() -> None:
            while True:
                if not self.drive.asking:
                    self.story.tick()
                await asyncio.sleep(TICK)

        ticking = asyncio.get_running_loop().create_task(tick())
        try:
            yield
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking


def complain(screen: Screen, complaint: Complaint) -> None:
    """``ropewalk: what happened. What to do.`` One line; the details with ``-v``."""
    screen.say(f"{screen.paint('red', 'ropewalk:')} {one_line(complaint.words, ascii_only=screen.look.ascii)}")
    if screen.look.verbose:
        screen.lines(f"  {screen.harmless(line)}" for detail in complaint.details for line in detail.splitlines())


def _ending(code: int, words: str) -> Ending:
    return Ending(code, Complaint(code, words))
