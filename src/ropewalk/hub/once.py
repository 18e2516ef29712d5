"""A repeated command is one command: by the asker's own id for it, over retries, restarts and doors. Refuses another body."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from ..errors import CommandReused, Conflict
from ..events.commands import Principal
from ..sessions.tasks import Tasks
from ..store.base import Change, Entry, Put, Store, put
from ..store.rows import CommandRow

T = TypeVar("T")
Ref = dict[str, str]
Row = Callable[[Ref], list[Put]]
"""What to store with the effect: names of what it made, from which the reply can be given again."""


NOTED_WITHIN = 2.0
"""Seconds in which what became of a command is noted before its asker hears it; on a sick disk it is noted later."""


class Once:
    """What was begun is carried out, also when whoever asked is cut off in the midst: a half-done verb would be nobody's."""

    def __init__(self, store: Store, clock: Callable[[], float], tasks: Tasks) -> None:
        self._store, self._clock, self._tasks = store, clock, tasks
        self._under_way: dict[tuple[str, str], tuple[str, asyncio.Future[object]]] = {}

    async def made(
        self,
        who: Principal,
        kind: str,
        session: str | None,
        command: msgspec.Struct,
        do: Callable[[Row], Awaitable[T]],
        again: Callable[[Ref], Awaitable[T]],
    ) -> T:
        """For what leaves a row behind: ``do`` stores the command with its effect, ``again`` finds what it made."""
        client_id = getattr(command, "client_id", None)
        if client_id is None:
            return await self._tasks.to_its_end(_coroutine(do(lambda ref: [])))
        row = CommandRow(
            principal=who.token or who.name, client_id=client_id, kind=kind, session=session,
            body_hash=hash_of(kind, session, command), state="done", at=self._clock(),
        )  # fmt: skip

        def kept(ref: Ref) -> list[Put]:
            row.reply = msgspec.json.encode(ref)
            return [put(row)]

        async def first() -> T:
            return await do(kept)

        async def repeated(before: CommandRow) -> T:
            return await again(msgspec.json.decode(before.reply or b"{}", type=Ref))

        return await self._tasks.to_its_end(self._once(row, first, repeated))

    async def carried_out(
        self,
        who: Principal,
        kind: str,
        session: str | None,
        command: msgspec.Struct,
        do: Callable[[], Awaitable[T]],
        reply: type[T],
    ) -> T:
        """For what acts on a process: accepted before, done or failed after; a hub that dies in between leaves it unknown."""
        client_id = getattr(command, "client_id", None)
        if client_id is None:
            return await self._tasks.to_its_end(_coroutine(do()))
        row = CommandRow(
            principal=who.token or who.name, client_id=client_id, kind=kind, session=session,
            body_hash=hash_of(kind, session, command), at=self._clock(),
        )  # fmt: skip

        async def first() -> T:
            await self._store.append(Entry(rows=[put(row)]))
            try:
                answer = await do()
            except Exception:
                await self._ended(row, "failed", None)
                raise
            await self._ended(row, "done", msgspec.json.encode(answer))
            return answer

        async def repeated(before: CommandRow) -> T:
            if before.state == "done" and before.reply is not None:
                return msgspec.json.decode(before.reply, type=reply)
            raise Conflict(f"this command was given before and {WORDS[before.state]}; look at the session, then give a new id")

        return await self._tasks.to_its_end(self._once(row, first, repeated))

    async def _once(self, row: CommandRow, first: Callable[[], Awaitable[T]], again: Callable[[CommandRow], Awaitable[T]]) -> T:
        key = (row.principal, row.client_id)
        if under_way := self._under_way.get(key):
            _same(under_way[0], row.body_hash)
            return await asyncio.shield(under_way[1])  # type: ignore[arg-type]
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._under_way[key] = (row.body_hash, done)
        try:
            before = await self._store.get(CommandRow, *key)
            if before is not None:
                _same(before.body_hash, row.body_hash)
                answer = await again(before)
            else:
                answer = await first()
        except BaseException as error:
            done.set_exception(error if isinstance(error, Exception) else Conflict("the first of these was given up"))
            done.exception()  # nobody else may have asked
            raise
        else:
            done.set_result(answer)
            return answer
        finally:
            del self._under_way[key]

    async def _ended(self, row: CommandRow, state: str, reply: bytes | None) -> None:
        key = {"principal": row.principal, "client_id": row.client_id}
        await self.noted(Entry(rows=[Change("command", key, {"state": state, "reply": reply}, must=False)], keep=True))

    async def noted(self, fact: Entry) -> None:
        """It holds already: waited for no longer than its asker should, also where the disk is sick."""
        noted = self._store.append(fact)
        noted.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait for it any more
        await asyncio.wait({noted}, timeout=NOTED_WITHIN)

    async def forget_unfinished(self) -> None:
        """At start: what an earlier life accepted and did not finish is not known to have happened."""
        changed = Change("command", {"state": "accepted"}, {"state": "unknown"}, must=False)
        await self._store.append(Entry(rows=[changed]))


async def _coroutine(work: Awaitable[T]) -> T:
    return await work


WORDS = {"accepted": "is under way", "failed": "failed", "unknown": "may or may not have been carried out"}


def hash_of(kind: str, session: str | None, command: msgspec.Struct) -> str:
    body = {name: value for name, value in msgspec.to_builtins(command).items() if name != "client_id"}
    return hashlib.sha256(msgspec.json.encode([kind, session, body], order="sorted")).hexdigest()


def _same(one: str, other: str) -> None:
    if one != other:
        raise CommandReused("this client id was used for another command; take a new one for each action")
