"""Sessions at work: prompts of every kind, questions answered soon or late, listeners on two kinds of doors; then all quiet."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress
from typing import Any, Self

import httpx

from .answers import compare_with_api
from .book import rows
from .check import Findings, Side, check
from .house import GUARD, House
from .listeners import Socket, Stream
from .noted import Noted
from .people import People
from .processes import Found, descriptors, files, start_time
from .script import KINDS

UNDER_WAY = "SELECT id, session, state FROM prompt WHERE state IN ('queued', 'sent', 'taken')"
READERS = 16
"""Files that a hub's connections for reading may have open, which are made as they are needed."""
ASLEEP = ("asleep", "stopped", "failed")


class Load:
    """Use it as a context. ``sessions`` are there when it is entered; the last one of them sleeps as soon as it can."""

    def __init__(self, house: House, rng: random.Random, *, sessions: int = 5, kinds: tuple[str, ...] = KINDS) -> None:
        self.house, self.rng, self.kinds = house, rng, kinds
        self.people = People(house, rng)
        self.noted = Noted(house.ledger, house.runner_log)
        self.socket = Socket(house, self._heard)
        self.streams: list[Stream] = []
        self.sessions: list[str] = []
        self.side = Side(house, self.people, [self.socket.told], self.noted)
        self.late = asyncio.Event()
        """Set after a blow: questions that were held back are answered now."""
        self.open: dict[str, dict[str, Any]] = {}
        """Questions that were opened, and that nobody has begun to answer."""
        self.left_open: set[str] = set()
        """Those of them that were open when the hub died."""
        self.runner_at_first: tuple[Found, int] | None = None
        self.hands_off = False
        """Nobody answers by themselves."""
        self.keeps_up = False
        """Whether a hub that dies now is started again at once."""
        self._wanted = sessions
        self._tasks: set[asyncio.Task[Any]] = set()
        self.waiting: float = GUARD

    async def __aenter__(self) -> Self:
        if self.house.runner is not None:
            self.runner_at_first = self.house.runner, descriptors(self.house.runner.pid)
        self.begin(self.socket.run())
        self.begin(self._keep_up())
        for number in range(self._wanted):
            options: dict[str, Any] = {"keep_stream_events": number == 0}
            if number == self._wanted - 1:
                options["idle_after"] = 0.3
            await self.add(f"s{number}", options=options)
        for session in self.sessions[:2]:
            stream = Stream(self.house, session)
            self.streams.append(stream)
            self.side.told.append(stream.told)
            self.begin(stream.run())
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.people.close()

    async def add(self, name: str, **more: Any) -> str:
        session = await self.people.create(name, **more)
        self.sessions.append(session)
        await self.socket.listen_to(session)
        return session

    def begin(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.people.hangs.append(f"the rig failed: {error!r}")

    async def _keep_up(self) -> None:
        """A hub that was told a point may reach it after its round's blow: that is a blow more."""
        while True:
            if self.keeps_up and not self.house.up:
                self.side.blows.append(time.time())
                self.house.kill_hub()
                await self.house.start()
            await asyncio.sleep(0.02)

    # -- questions

    def _heard(self, session: str, event: dict[str, Any]) -> None:
        if event["kind"] == "question_opened":
            self.open[event["question"]] = event["asked"]
            if not self.hands_off:
                self.begin(self._answer(event["question"], event["asked"]))
        elif event["kind"] == "question_closed":
            self.open.pop(event["question"], None)

    async def _answer(self, name: str, asked: dict[str, Any]) -> None:
        if self.rng.random() < 0.5:
            await asyncio.sleep(self.rng.uniform(0.0, 0.5))
        else:
            await self.late.wait()
            await asyncio.sleep(self.rng.uniform(0.0, 0.3))
        if self.open.pop(name, None) is not None:
            behavior = "allow" if asked.get("asks") == "choice" or self.rng.random() < 0.7 else "deny"
            await self.people.answer({**asked, "id": name}, behavior, self._remember(asked) if behavior == "allow" else None)

    def _remember(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Now and then an answer grants the same command once or twice more, in this session."""
        if asked.get("tool") != "Bash" or asked.get("once_only_because") or self.rng.random() > 0.3:
            return None
        return {"rules": [f"Bash({asked['input']['command']})"], "scope": "session", "uses": self.rng.randint(1, 2)}

    # -- one round

    def prompts(self, most: int = 2) -> list[asyncio.Task[Any]]:
        """Each session gets one or two, at moments of the first half second."""
        tasks = []
        for session in self.sessions:
            for _ in range(self.rng.randint(1, most)):
                tasks.append(self.begin(self._prompt(session, self.rng.choice(self.kinds), self.rng.uniform(0.0, 0.5))))
        return tasks

    async def _prompt(self, session: str, kind: str, after: float) -> None:
        await asyncio.sleep(after)
        await self.people.prompt(session, f"{kind} about it", again=self.rng.choice((0, 0, 0, 1)))

    async def quiet(self) -> str:
        """Until nothing is under way, as a person who wakes what sleeps with a prompt waiting. Returns what still moves."""
        self.late.set()
        until, waked = time.monotonic() + self.waiting, 0.0
        while True:
            with suppress(httpx.HTTPError):
                under_way = rows(self.house.database, UNDER_WAY)
                asked = rows(self.house.database, "SELECT id FROM question WHERE state = 'open'")
                if not under_way and not asked and self._caught_up() and not self.dead():
                    return ""
                if time.monotonic() > until:
                    behind = "there" if self._caught_up() else "behind"
                    return f"prompts {under_way[:4]}, questions {asked[:4]}, listeners {behind}, dead {self.dead()}"
                if under_way and time.monotonic() - waked > 1.0:
                    waked = time.monotonic()
                    await self._wake({row["session"] for row in under_way if row["state"] == "queued"})
            await asyncio.sleep(0.05)

    async def _wake(self, sessions: set[str]) -> None:
        for session in sessions:
            row = (await self.people.get(f"/sessions/{session}"))["session"]
            if row["status"] in ASLEEP:
                await self.people.act("wake", f"/sessions/{session}/wake", session, {})

    def dead(self) -> list[int]:
        """Processes that are gone and of whose end the log does not know yet."""
        alive = rows(self.house.database, "SELECT pid FROM process WHERE ended_at IS NULL AND pid IS NOT NULL")
        return [row["pid"] for row in alive if start_time(row["pid"]) is None]

    def _caught_up(self) -> bool:
        last = {row["id"]: row["last_seq"] for row in rows(self.house.database, "SELECT id, last_seq FROM session_now")}
        told = self.socket.told.last
        return all(told.get(session, 0) >= last.get(session, 0) for session in self.sessions) and all(
            stream.told.last.get(stream.session, 0) >= last.get(stream.session, 0) for stream in self.streams
        )

    async def questions_shown(self, expected: set[str], within: float = 2.0) -> set[str]:
        """Which of the questions that were open are not in the inbox in time; a hub that dies meanwhile has its time anew."""
        until, life = time.monotonic() + within, self.house.hub
        missing = expected
        while missing and time.monotonic() < until:
            if not self.house.up or self.house.hub is not life:
                until, life = time.monotonic() + within + self.house.served_in, self.house.hub
            with suppress(httpx.HTTPError):
                shown = {item["id"] for item in (await self.people.get("/questions"))["items"]}
                missing = {name for name in expected if name not in shown and name in self.open}
            await asyncio.sleep(0.02)
        return missing

    async def check(self, *, thorough: bool = False) -> Findings:
        """``thorough``: what the API answers is compared with the file, too, and everything is put to rest and counted."""
        findings = await check(self.side)
        if thorough and self.house.up:
            await compare_with_api(self.people, self.sessions, findings)
            await self._rest(findings)
        return findings

    async def _rest(self, findings: Findings) -> None:
        """I9: with every session stopped the runner has no more descriptors than at its start, and the hub no more files."""
        runner = self.house.runner
        for session in self.sessions:
            await self.people.ask("POST", f"/sessions/{session}/stop", json={"patience": 5})
        await self._files(findings)
        if runner is None or self.runner_at_first is None or self.runner_at_first[0] != runner:
            return
        until, before = time.monotonic() + 5.0, self.runner_at_first[1]
        while (now := descriptors(runner.pid)) > before + 1 and time.monotonic() < until:
            await asyncio.sleep(0.1)
        if now > before + 1:
            findings.lose("I9", f"the runner has {now} descriptors, {before} at its start")

    async def _files(self, findings: Findings) -> None:
        """Beside the connections of its readers."""
        if self.house.hub is None or self.house.wrap:
            return
        until, most = time.monotonic() + 5.0, self.house.files_at_first + READERS
        while (now := files(self.house.hub.pid)) > most and time.monotonic() < until:
            await asyncio.sleep(0.1)
        if now > most:
            findings.lose("I9", f"the hub has {now} files open, {self.house.files_at_first} at its start")
