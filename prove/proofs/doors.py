"""Listeners and strangers at the door: slow ones, storms of them, broken frames, no token. Nobody else is disturbed."""

from __future__ import annotations

import asyncio
import json
import random
import struct
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import websockets

from ..book import rows
from ..house import GUARD, House
from ..listeners import Socket
from ..load import Load
from ..processes import cpu_seconds, descriptors, memory
from ..proof import Order, Proof
from ..raw import Peer, frame, head, upgrade
from ..rounds import Round

FLOODED = f"""
[[rule]]
regex = "^heap"
steps = [ {{ text = "Much." }}, {", ".join(["{ fault = 'long_line', size = 60000 }"] * 120)}, {{ text = "Full." }} ]
[[rule]]
regex = "^fill"
steps = [ {{ fault = "flood", count = 4000 }}, {{ text = "Full." }} ]
[[rule]]
regex = "^drip"
steps = [ {{ pace = 0.03, text = "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m" }} ]
[[rule]]
regex = "."
steps = [ {{ text = "Yes." }} ]
"""
SESSION = "/api/v1/sessions/{}/stream"


@asynccontextmanager
async def opened(order: Order, number: int, *, sessions: int = 1) -> AsyncIterator[Round]:
    """A house for one blow, checked at its end."""
    rng, seed = random.Random(f"{order.seed}/{number}"), order.name(number)
    house = House(scenario=FLOODED)
    try:
        await house.start()
        async with Load(house, rng, sessions=sessions, kinds=("drip",)) as load:
            yield Round(load, rng, order.tally, number, seed)
            if still := await load.quiet():
                order.tally.fail("I12", f"not quiet: {still}", seed)
            order.tally.add(await load.check(), seed)
        order.tally.blows += 1
    finally:
        for words in await house.close():
            order.tally.fail("I8", words, seed)
        order.saved()


async def filled(one: Round, how: str = "fill") -> str:
    """The first session has many events, or large ones: more than the system's buffers hold for a peer."""
    session = one.load.sessions[0]
    await one.load.people.prompt(session, how)
    until = time.monotonic() + GUARD
    while rows(one.house.database, "SELECT 1 FROM prompt WHERE state != 'done'") and time.monotonic() < until:
        await asyncio.sleep(0.05)
    return session


# -- slow listeners

CUT_WITHIN = 30.0


async def f20(order: Order) -> None:
    """Sockets and streams that take nothing, beside ones that do."""
    for number in range(order.first, order.first + order.count):
        async with opened(order, number, sessions=2) as one:
            await _slow(one, 1000 if order.full else 300)


async def _slow(one: Round, count: int) -> None:
    session = await filled(one, "heap")
    pid = one.house.hub.pid  # type: ignore[union-attr]
    before, fds = memory(pid), descriptors(pid)
    peers = [await _stalled(one.house, session, at % 2 == 0) for at in range(count)]
    one.tally.counts["slow"] += count
    began = time.monotonic()
    late = one.load.begin(_drips(one, one.load.sessions[1]))
    most = 0
    while descriptors(pid) > fds + 4 and time.monotonic() - began < 45.0:
        most = max(most, memory(pid))
        await asyncio.sleep(0.2)
    seconds = time.monotonic() - began
    one.tally.measure("G12 cut off after", seconds)
    if seconds > CUT_WITHIN:
        one.fail("G12", f"{descriptors(pid) - fds} slow listeners are there after {seconds:.0f} s")
    each = (most - before) / 1024 / count
    one.tally.measure("G12 a slow listener costs at most KiB", max(0.0, each))
    if each > 2048:
        one.fail("G12", f"a slow listener costs {each:.0f} KiB")
    one.tally.measure("G12 others hear p99 after", await late)
    if late.result() > 0.25:
        one.fail("G12", f"others heard p99 {late.result() * 1000:.0f} ms late")
    for peer in peers:
        peer.close()
    again = Socket(one.house, name="resumed")
    again.sessions = [session]
    listening = one.load.begin(again.run())
    last = rows(one.house.database, "SELECT last_seq FROM session_now WHERE id = ?", session)[0]["last_seq"]
    until = time.monotonic() + GUARD
    while again.told.last.get(session, 0) < last and time.monotonic() < until:
        await asyncio.sleep(0.02)
    listening.cancel()
    one.load.side.told.append(again.told)
    if again.told.last.get(session, 0) < last:
        one.fail("G12", "one who comes back does not hear the rest")


async def _stalled(house: House, session: str, socket: bool) -> Peer:
    """It asks for everything and reads nothing."""
    if socket:
        peer = await Peer(house, small=True).open(upgrade(house, house.token))
        await peer.answered()
        await peer.send(frame(json.dumps({"subscribe": session, "after": 0}).encode()))
        return peer
    return await Peer(house, small=True).open(head(house, SESSION.format(session), house.token))


async def _drip(one: Round, session: str) -> None:
    while True:
        await one.load.people.prompt(session, "drip")
        await asyncio.sleep(0.5)


async def _drips(one: Round, session: str) -> float:
    """The 99th hundredth of how late a listener that reads is answered, and hears what happens in its session."""
    delays: list[float] = []
    url = f"ws{one.house.url.removeprefix('http')}/api/v1/live"
    headers = {"Authorization": f"Bearer {one.house.token}"}
    async with websockets.connect(url, additional_headers=headers, max_size=None, compression=None, proxy=None) as link:
        await link.send(json.dumps({"subscribe": session, "after": 0}))
        until = time.monotonic() + 8.0
        asking = one.load.begin(_drip(one, session))
        begun = time.time()
        while time.monotonic() < until:
            began = time.monotonic()
            await link.send(json.dumps({"ping": 1}))
            async with asyncio.timeout(GUARD):
                async for message in link:
                    if message == '{"pong":1}':
                        break
                    told = [event["at"] for event in json.loads(message).get("events", ())]
                    delays += [time.time() - at for at in told if at > begun]
            delays.append(time.monotonic() - began)
            await asyncio.sleep(0.02)
        asking.cancel()
    delays.sort()
    return delays[int(len(delays) * 0.99)] if delays else 0.0


# -- storms


CALM_WITHIN = 30.0


async def f21(order: Order) -> None:
    """Very many listeners, and the hub dies under them: all are back and whole within ten seconds."""
    for number in range(order.first, order.first + order.count):
        async with opened(order, number, sessions=2) as one:
            await _storm(one, 1000)


async def _storm(one: Round, count: int) -> None:
    session = one.load.sessions[0]
    await one.load.people.prompt(session, "drip")
    crowd = [Socket(one.house, name=f"crowd {at}") for at in range(count)]
    for socket in crowd:
        socket.sessions = [session]
    tasks = [one.load.begin(socket.run()) for socket in crowd]
    await _all_there(one, crowd, session, 30.0)
    one.house.kill_hub()
    one.struck()
    await one.house.start()
    began = time.monotonic()
    await one.load.people.prompt(session, "yes")
    behind = await _all_there(one, crowd, session, 30.0)
    seconds = time.monotonic() - began
    one.tally.measure("G11 all caught up after", seconds)
    one.tally.counts["reconnects"] += sum(socket.told.connects for socket in crowd)
    if behind or seconds > 10.0:
        one.fail("F21", f"{behind} of {count} listeners are behind after {seconds:.1f} s")
    pid = one.house.hub.pid  # type: ignore[union-attr]
    calm = await _calm(pid)
    one.tally.measure("F21 processor calm after", calm)
    if calm > CALM_WITHIN:
        one.fail("F21", f"the hub is busy {calm:.0f} s after the storm")
    for socket, task in zip(crowd, tasks, strict=True):
        task.cancel()
        one.load.side.told.append(socket.told)


async def _calm(pid: int) -> float:
    """Seconds until the hub used less than a tenth of a core, for one second."""
    began = time.monotonic()
    while time.monotonic() - began <= CALM_WITHIN:
        used = cpu_seconds(pid)
        await asyncio.sleep(1.0)
        if cpu_seconds(pid) - used < 0.1:
            break
    return time.monotonic() - began


async def _all_there(one: Round, crowd: list[Socket], session: str, within: float) -> int:
    until = time.monotonic() + within
    while True:
        under_way = rows(one.house.database, "SELECT 1 FROM prompt WHERE state IN ('queued', 'sent', 'taken')")
        last = int(rows(one.house.database, "SELECT last_seq FROM session_now WHERE id = ?", session)[0]["last_seq"])
        behind = sum(socket.told.last.get(session, 0) < last for socket in crowd)
        if (not behind and not under_way) or time.monotonic() > until:
            return behind
        await asyncio.sleep(0.05)


# -- resume


async def g11(order: Order) -> None:
    """A listener that leaves and comes back at random: ``count`` rounds of a thousand reconnects."""
    for number in range(order.first, order.first + order.count):
        async with opened(order, number) as one:
            session = await filled(one)
            writing = one.load.begin(_writes(one, session))
            await asyncio.gather(*(_comes_and_goes(one, session, 50) for _ in range(20)))
            writing.cancel()


async def _writes(one: Round, session: str) -> None:
    for number in range(10_000):
        await one.load.people.act("rename", f"/sessions/{session}/rename", session, {"title": f"name {number}"})
        await asyncio.sleep(0.01)


async def _comes_and_goes(one: Round, session: str, times: int) -> None:
    """Each time from a random number that it has: exactly what follows must come."""
    url = f"ws{one.house.url.removeprefix('http')}/api/v1/live"
    headers = {"Authorization": f"Bearer {one.house.token}"}
    rng = random.Random(one.rng.random())
    for _ in range(times):
        last = int(rows(one.house.database, "SELECT last_seq FROM session_now WHERE id = ?", session)[0]["last_seq"])
        after, wanted = max(0, last - rng.randrange(300)), rng.randrange(1, 200)
        heard: list[int] = []
        async with websockets.connect(url, additional_headers=headers, max_size=None, compression=None, proxy=None) as link:
            await link.send(json.dumps({"subscribe": session, "after": after}))
            with suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    while len(heard) < min(wanted, last - after):
                        heard += [event["seq"] for event in json.loads(await link.recv()).get("events", ())]
        one.tally.counts["reconnects"] += 1
        if heard != list(range(after + 1, after + 1 + len(heard))) or len(heard) < min(wanted, last - after):
            one.fail("G11", f"after {after}: heard {heard[:3]}…{heard[-2:]}, {len(heard)} of {last - after}")


# -- frames that break the rules


def malformed(rng: random.Random) -> dict[str, tuple[bytes, set[int]]]:
    """What is sent, and the close codes that are right for it."""
    return {
        "unmasked": (frame(b"{}", masked=False), {1002}),
        "reserved bits": (frame(b"{}", reserved=0x40), {1002}),
        "unknown opcode": (frame(b"{}", opcode=3), {1002}),
        "no UTF-8": (frame(b"\xff\xfe{}"), {1007}),
        "long ping": (frame(b"x" * 126, opcode=9), {1002}),
        "fragmented ping": (frame(b"x", opcode=9, fin=False), {1002}),
        "continuation of nothing": (frame(b"x", opcode=0), {1002}),
        "too large": (frame(b"x", size=1 << 40), {1009, 1002}),
        "compressed though not agreed": (frame(bytes(rng.randrange(256) for _ in range(50)), reserved=0x40), {1002}),
        "bad close code": (frame(struct.pack("!H", 1005), opcode=8), {1002}),
        "fragments for ever": (frame(b"x", fin=False) + frame(b"y" * (1 << 20), opcode=0, fin=False) * 80, {1009}),
        "compressed very small": (frame(zlib.compress(bytes(1 << 26))[2:-4], reserved=0x40), {1002}),
        "left in its midst": (frame(b"x", fin=False) + frame(b"y" * 1000, opcode=0, fin=False) * 40, set()),
    }


async def f22(order: Order) -> None:
    """Every kind in one house, beside a listener that must hear everything."""
    for number in range(order.first, order.first + order.count):
        async with opened(order, number) as one:
            await one.load.people.prompt(one.load.sessions[0], "drip")
            for name, (sent, codes) in malformed(one.rng).items():
                await _broken(one, name, sent, codes)


async def _broken(one: Round, name: str, sent: bytes, codes: set[int]) -> None:
    peer = await Peer(one.house).open(upgrade(one.house, one.house.token))
    try:
        await peer.answered()
        with suppress(ConnectionError):
            await peer.send(sent)
        if not codes:
            return  # it leaves in the midst of its message
        said = await peer.ended(10.0)
        if said is None:
            one.fail("F22", f"{name}: the connection was not closed within 10 s")
        elif (code := _close_code(said)) not in codes:
            one.fail("F22", f"{name}: closed with {code}")
    finally:
        peer.close()
        one.tally.counts["broken frames"] += 1


def _close_code(said: bytes) -> int | None:
    at = said.rfind(b"\x88")
    return int(struct.unpack("!H", said[at + 2 : at + 4])[0]) if at >= 0 and len(said) >= at + 4 else None


# -- streams


async def f24(order: Order) -> None:
    garbage = ("x", "-1", "1.5", "9" * 30, "\u00e9", "1 2", "0x10", " 5", "", "18446744073709551616", "null")
    for number in range(order.first, order.first + order.count):
        async with opened(order, number) as one:
            session = await filled(one)
            for value in garbage:
                await _position(one, session, value)
            peer = await _stalled(one.house, session, socket=False)
            await asyncio.sleep(0.5)
            began = time.monotonic()
            await one.load.people.get("/health")
            one.tally.measure("F24 health answered after", time.monotonic() - began)
            peer.close()


async def _position(one: Round, session: str, value: str) -> None:
    """400 in words, or from the start; never 500."""
    wire = head(one.house, SESSION.format(session), one.house.token, Last_Event_ID=value)
    peer = await Peer(one.house).open(wire)
    try:
        status = (await peer.answered())[9:12]
        if status not in (b"200", b"400"):
            one.fail("F24", f"Last-Event-ID {value!r} was answered {status!r}")
        one.tally.counts["odd positions"] += 1
    finally:
        peer.close()


# -- strangers


async def g23(order: Order) -> None:
    """Connections without a token: idle, half a head, wrong tokens, sockets. They cost little and change nothing. Counted from
    before the first until three seconds after the last: their coming, their refusal and their standing there."""
    for number in range(order.first, order.first + order.count):
        async with opened(order, number) as one:
            await _strangers(one, 1000)


async def _strangers(one: Round, count: int) -> None:
    house, pid = one.house, one.house.hub.pid  # type: ignore[union-attr]
    await asyncio.sleep(1.0)
    before = memory(pid)
    log = len(rows(house.database, "SELECT id FROM event"))
    alone, _ = await _asked_for_a_while(one, pid)
    used, began = cpu_seconds(pid), time.monotonic()
    ways = [
        b"", b"GET /api/v1/sessions HTTP/1.1\r\nHost: ", head(house, "/api/v1/sessions", None),
        head(house, "/api/v1/health", "rw_wrong"),
        upgrade(house, None), b"POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n",
    ]  # fmt: skip
    peers = []
    for at in range(count):
        with suppress(ConnectionError):
            peers.append(await Peer(house).open(ways[at % len(ways)]))
    one.tally.counts["strangers"] += count
    _, most = await _asked_for_a_while(one, pid)
    cpu = max(0.0, 100 * (cpu_seconds(pid) - used) / (time.monotonic() - began) - alone)
    each = max(0.0, (most - before) / 1024 / count)
    one.tally.measure("G23 each costs KiB", each)
    one.tally.measure("G23 processor %", cpu)
    if each > 64:
        one.fail("G23", f"a stranger costs {each:.0f} KiB")
    if cpu > 5.0:
        one.fail("G23", f"{count} strangers cost {cpu:.1f} % of a core")
    if len(rows(house.database, "SELECT id FROM event")) != log:
        one.fail("G23", "strangers changed the log")
    for peer in peers:
        peer.close()


async def _asked_for_a_while(one: Round, pid: int) -> tuple[float, int]:
    """Ten questions a second for three seconds: hundredths of a core that the hub used, and the most memory that it had."""
    used, began, most = cpu_seconds(pid), time.monotonic(), 0
    while time.monotonic() - began < 3.0:
        asked = time.monotonic()
        await one.load.people.get("/health")
        one.tally.measure("G23 others answered after", time.monotonic() - asked)
        most = max(most, memory(pid))
        await asyncio.sleep(0.1)
    return 100 * (cpu_seconds(pid) - used) / (time.monotonic() - began), most


DOORS = [
    Proof(
        "F20",
        "listeners that read nothing, sockets and streams (300 a blow, full: 1,000)",
        (10, 20),
        f20,
        ("G11", "G12"),
        0,
        alone=True,
    ),
    Proof("F21", "a storm of listeners after the death of the hub (1,000 a blow)", (10, 20), f21, ("G1", "G11"), 0, alone=True),
    Proof("G11", "listeners that leave and come back, a thousand times a blow", (10, 100), g11, ("G11",), 0),
    Proof("F22", "frames that break the rules of WebSocket, thirteen kinds a blow", (20, 20), f22, ("G1",), 1),
    Proof("F24", "streams that are not read; positions that are none", (10, 20), f24, ("G1",), 1),
    Proof("G23", "a thousand connections without a token", (10, 20), g23, ("G23",), 0, alone=True),
]
