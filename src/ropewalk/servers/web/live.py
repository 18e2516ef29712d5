"""The live socket: one for each page, any number of sessions on it, commands acknowledged. Plain ASGI; it owns no buffer.

In:  {"subscribe": session, "after": seq}  {"unsubscribe": session}  {"subscribe_all": true}  {"ping": anything}
     {"id": …, "do": verb, "session"?, "prompt"?, "question"?, "body"?}
Out: {"session": …, "events": […]}  {"session": …, "live": […]}  the same with "all": true  {"subscribed": session}  {"pong": …}
     {"ack": id, "ok": true, "result": …}  {"ack": id, "ok": false, "problem": …}  {"problem": …}  {"goodbye": why}

Events are joined as the bytes that were stored; what many sockets hear is put into a frame once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...events.commands import Principal
from ...events.views import Problem
from ...hub.calls import HubCalls, Subscription
from .body import decoded
from .gate import Receive, Scope, Send
from .problems import Refusal, problem_from, wrong_body
from .verbs import VERBS
from .wire import EXTENSION, SocketWire, text_frame

RESUME = 4008
"""Close code: it did not keep up. Come back with the last seq; nothing is missed."""
SIGNED_OUT = 4401
RESTARTING = 1012
AT_ONCE = 32
"""Commands of one socket under way at the same time."""
SUBSCRIPTIONS = 1000

encoder = msgspec.json.Encoder()
ALL = b'{"all":true,"session":"'
ONE = b'{"session":"'


class Frame(Struct):
    """What a page may say."""

    subscribe: str | UnsetType = UNSET
    after: int = 0
    unsubscribe: str | UnsetType = UNSET
    subscribe_all: bool | UnsetType = UNSET
    ping: Any = UNSET
    id: str | int | UnsetType = UNSET
    do: str = ""
    session: str = ""
    prompt: str = ""
    question: str = ""
    body: msgspec.Raw = msgspec.Raw(b"{}")


reading = msgspec.json.Decoder(Frame)
BODIES = {name: msgspec.json.Decoder(verb.body) for name, verb in VERBS.items()}


class Frames:
    """Makes each frame once, however many listen: the feed hands all of them the same list."""

    def __init__(self) -> None:
        self._made_of: Any = None
        self._head = b""
        self._frame = b""

    def told(self, head: bytes, session: str, events: list[tuple[int, bytes]]) -> bytes:
        if events is not self._made_of or head is not self._head:
            self._frame = _frame(head, session, b'","events":[', [body for _, body in events])
            self._made_of, self._head = events, head
        return self._frame

    def live(self, head: bytes, session: str, events: list[bytes]) -> bytes:
        if events is not self._made_of or head is not self._head:
            self._frame = _frame(head, session, b'","live":[', events)
            self._made_of, self._head = events, head
        return self._frame

    def forget(self) -> None:
        self._made_of = None
        self._frame = b""


def _frame(head: bytes, session: str, middle: bytes, bodies: list[bytes]) -> bytes:
    return text_frame(b"".join((head, session.encode(), middle, b",".join(bodies), b"]}")))


class Ear:
    """What the feed calls for one socket: the events of sessions it asked for, or (with another head) of all."""

    __slots__ = ("_frames", "_head", "_wire")

    def __init__(self, wire: SocketWire, frames: Frames, head: bytes) -> None:
        self._wire, self._frames, self._head = wire, frames, head

    @property
    def backlog(self) -> int:
        return self._wire.backlog

    def told(self, session: str, events: list[tuple[int, bytes]]) -> None:
        self._wire.push(self._frames.told(self._head, session, events))

    def live(self, session: str, events: list[bytes]) -> None:
        self._wire.push(self._frames.live(self._head, session, events))

    def cut(self, why: str) -> None:
        self._wire.part(RESUME, "behind: resume")


class Page:
    """One socket: who it is and what it listens to."""

    __slots__ = ("ear", "running", "subscriptions", "who", "wire")

    def __init__(self, wire: SocketWire, who: Principal, ear: Ear) -> None:
        self.wire, self.who, self.ear = wire, who, ear
        self.subscriptions: dict[str, Subscription | None] = {}
        self.running = 0

    def say(self, message: Any) -> None:
        self.wire.push(text_frame(encoder.encode(message)))

    def close(self) -> None:
        for subscription in self.subscriptions.values():
            if subscription is not None:
                subscription.close()
        self.subscriptions.clear()


class Live:
    """The door of all live sockets. ``stop`` it when the hub goes."""

    def __init__(self, hub: HubCalls) -> None:
        self._hub = hub
        self._frames = Frames()
        self._pages: set[Page] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._parting = False

    def __len__(self) -> int:
        return len(self._pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wire: SocketWire = scope["extensions"][EXTENSION]
        await receive()
        await send({"type": "websocket.accept"})
        page = Page(wire, scope["user"], Ear(wire, self._frames, ONE))
        scope.clear()  # headers and all: a page may stay for days
        self._pages.add(page)
        if self._parting:
            self._part(page)
        try:
            while (message := await receive())["type"] == "websocket.receive":
                await self._hear(page, message)
        finally:
            self._pages.discard(page)
            page.close()

    def cut_without(self, holds: Callable[[str], bool]) -> None:
        """Those whose token has ended."""
        for page in [page for page in self._pages if not holds(page.who.token)]:
            page.wire.part(SIGNED_OUT, "signed out")

    async def stop(self) -> None:
        """Tell every page that the hub restarts; end what is under way."""
        self._parting = True
        for page in list(self._pages):
            self._part(page)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _part(self, page: Page) -> None:
        page.say({"goodbye": "hub restarting"})
        page.wire.part(RESTARTING, "hub restarting")

    # -- what a page says

    async def _hear(self, page: Page, message: Any) -> None:
        try:
            said = reading.decode(message.get("text") or message.get("bytes") or b"")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            page.say({"problem": wrong_body(error).problem})
            return
        if said.ping is not UNSET:
            page.say({"pong": said.ping})
        elif said.id is not UNSET:
            self._start(page, said)
        else:
            await self._listen(page, said)

    async def _listen(self, page: Page, said: Frame) -> None:
        """In the order of asking: a page's subscriptions wait for each other, its commands do not."""
        try:
            if said.subscribe is not UNSET:
                await self._subscribe(page, said.subscribe, max(0, said.after))
            elif said.unsubscribe is not UNSET:
                self._drop(page, said.unsubscribe)
            elif said.subscribe_all is not UNSET:
                await self._subscribe_all(page, said.subscribe_all)
            else:
                raise Refusal(400, "no_verb", "Say subscribe, unsubscribe, subscribe_all, ping, or an id and what to do.")
        except Exception as error:  # noqa: BLE001 - a door's request is a named boundary
            page.say({"problem": problem_from(error), "about": msgspec.to_builtins(said.subscribe) if said.subscribe else None})

    async def _subscribe(self, page: Page, session: str, after: int) -> None:
        self._drop(page, session)
        if len(page.subscriptions) >= SUBSCRIPTIONS:
            raise Refusal(429, "too_many_subscriptions", "This socket listens to too many sessions. Unsubscribe from some.")
        page.subscriptions[session] = await self._hub.subscribe(page.who, session, after, page.ear)
        page.say({"subscribed": session})

    async def _subscribe_all(self, page: Page, wanted: bool) -> None:
        self._drop(page, "")
        if wanted:
            page.subscriptions[""] = await self._hub.subscribe_all(page.who, Ear(page.wire, self._frames, ALL))
            page.say({"subscribed_all": True})

    def _drop(self, page: Page, session: str) -> None:
        if (subscription := page.subscriptions.pop(session, None)) is not None:
            subscription.close()

    # -- commands: acknowledged each on its own, so that none waits behind a slow one

    def _start(self, page: Page, said: Frame) -> None:
        if page.running >= AT_ONCE:
            page.say(_refused(said.id, Refusal(429, "too_many_commands", "Too many commands at once on this socket.").problem))
            return
        page.running += 1
        task = asyncio.get_running_loop().create_task(self._carry_out(page, said))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, page: Page, said: Frame) -> None:
        try:
            result = await self._called(page.who, said)
            page.say({"ack": said.id, "ok": True, "result": result})
        except Exception as error:  # noqa: BLE001 - a door's request is a named boundary
            page.say(_refused(said.id, problem_from(error)))
        finally:
            page.running -= 1

    async def _called(self, who: Principal, said: Frame) -> Any:
        verb = VERBS.get(said.do)
        if verb is None:
            raise Refusal(404, "no_verb", f"There is no such verb. The verbs are {', '.join(VERBS)}.")
        if not who.may(verb.role):
            raise Refusal(403, "not_allowed", f"This needs the role {verb.role}. Ask whoever owns the hub for another token.")
        ids = {name: getattr(said, name) for name in verb.needs}
        if missing := [name for name, value in ids.items() if not value]:
            raise Refusal(422, "wrong_field", f"Name the {' and the '.join(missing)} beside the body.", fields=missing)
        return await verb.call(self._hub, who, ids, decoded(bytes(said.body), BODIES[said.do]))


def _refused(name: Any, found: Problem) -> dict[str, Any]:
    return {"ack": name, "ok": False, "problem": found}
