"""Verdicts: many who answer at once, answers in flight when something dies, very many open questions."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import websockets

from ropewalk import Remote
from ropewalk.errors import AlreadyAnswered, RopewalkError
from ropewalk.store.base import Entry, put
from ropewalk.store.rows import TokenRow
from ropewalk.store.sqlite import open_store

from ..book import rows
from ..house import GUARD, House
from ..load import Load
from ..processes import memory, send
from ..proof import Order, Proof
from ..rounds import Round, Way, struck
from ..serve import POINTS
from .kills import drawn, restart
from .once import until

# -- F28: who answers at once

AT_WORK, ASKED = 4, 5
RACES = AT_WORK * ASKED
"""Of each blow: so many sessions ask so much each."""
RACE = f"""
pace = 0.005
[[rule]]
regex = "^race"
steps = [ {{ together = [ {
    ", ".join(f'{{ tool = "Bash", input = {{ command = "touch {at}" }}, result = "", ask = true }}' for at in range(ASKED))
} ] }},
  {{ text = "All are answered." }} ]
[[rule]]
regex = "."
steps = [ {{ text = "Yes." }} ]
"""
NAMES = tuple(f"person {at}" for at in range(8))


@dataclass
class Race:
    """``ends`` by answerer: what each of their requests was told."""

    question: str
    wanted: dict[str, str] = field(default_factory=dict)
    ends: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


class Person:
    """One who answers over any of three doors; every way gives ("won", who) or ("lost", who was first)."""

    def __init__(self, name: str, http: httpx.AsyncClient, remote: Remote, live: websockets.ClientConnection) -> None:
        self.name = name
        self._http, self._remote, self._live = http, remote, live
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0

    async def hear(self) -> None:
        async for message in self._live:
            told = json.loads(message)
            waiting = self._waiting.pop(told.get("ack", -1), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(told)

    async def answer(self, door: str, question: str, body: dict[str, Any]) -> tuple[str, str]:
        if door == "library":
            return await self._by_library(question, body)
        if door == "live":
            return await self._by_socket(question, body)
        answer = await self._http.post(f"/questions/{question}/answer", json=body)
        return _end(answer.status_code, answer.json())

    async def _by_library(self, question: str, body: dict[str, Any]) -> tuple[str, str]:
        try:
            return "won", (await self._remote.answer(question, **body)).by
        except AlreadyAnswered as error:
            return "lost", error.by
        except RopewalkError as error:
            return "odd", repr(error)

    async def _by_socket(self, question: str, body: dict[str, Any]) -> tuple[str, str]:
        self._last += 1
        waiting = self._waiting[self._last] = asyncio.get_running_loop().create_future()
        await self._live.send(json.dumps({"id": self._last, "do": "answer", "question": question, "body": body}))
        told = await waiting
        return ("won", told["result"]["by"]) if told.get("ok") else _end(told["problem"].get("status", 0), told["problem"])


def _end(status: int, body: dict[str, Any]) -> tuple[str, str]:
    if status < 300:
        return "won", body["by"]
    return (
        ("lost", body.get("by", "")) if status == 409 and body.get("code") == "already_answered" else ("odd", f"{status} {body}")
    )


def token_of(name: str) -> str:
    return f"rw_{hashlib.sha256(name.encode()).hexdigest()}"


async def let_in(house: House) -> None:
    """Each person has a token of their own, as if they had signed in before."""
    async with open_store(house.database) as store:
        for name in NAMES:
            digest = hashlib.sha256(token_of(name).encode()).hexdigest()
            row = TokenRow(id=name.replace(" ", ""), hash=digest, name=name, roles=["prompt", "answer"], created_at=time.time())
            await store.append(Entry(rows=[put(row)]))


@asynccontextmanager
async def people_at(house: House) -> AsyncIterator[list[Person]]:
    async with AsyncExitStack() as stack:
        found, hearing = [], []
        for name in NAMES:
            head = {"Authorization": f"Bearer {token_of(name)}"}
            http = await stack.enter_async_context(httpx.AsyncClient(base_url=f"{house.url}/api/v1", headers=head, timeout=GUARD))
            remote = await stack.enter_async_context(Remote(house.url, token_of(name)))
            url = f"ws{house.url.removeprefix('http')}/api/v1/live"
            live = await stack.enter_async_context(websockets.connect(url, additional_headers=head, proxy=None))
            found.append(Person(name, http, remote, live))
            hearing.append(asyncio.get_running_loop().create_task(found[-1].hear()))
        yield found
        for task in hearing:
            task.cancel()
        await asyncio.gather(*hearing, return_exceptions=True)


async def f28(order: Order) -> None:
    """Each blow: as many races, in the same house as those before."""
    house, rng = House(scenario=RACE), random.Random(f"{order.seed}/{order.first}")
    await let_in(house)
    try:
        await house.start()
        async with Load(house, rng, sessions=AT_WORK, kinds=("race",)) as load, people_at(house) as persons:
            load.hands_off = True
            races: list[Race] = []
            for number in range(order.first, order.first + order.count):
                one = Round(load, rng, order.tally, number, order.name(number))
                rng.seed(f"{order.seed}/{number}")
                races += await _races(one, persons)
                order.tally.blows += 1
                order.saved()
            if still := await load.quiet():
                order.tally.fail("I12", f"not quiet: {still}", order.name(order.first))
            _one_winner_each(one, races)
            order.tally.add(await load.check(), order.name(order.first))
    finally:
        for words in await house.close(keep=order.keep and bool(order.tally.wrong)):
            order.tally.fail("I8", words, order.name(order.first))
        order.saved()


async def _races(one: Round, persons: list[Person]) -> list[Race]:
    load, run = one.load, list[Race]()
    await asyncio.gather(*[load.people.prompt(session, "race") for session in load.sessions])
    while len(run) < RACES:
        if not await until(one, lambda: load.open, "questions to race for"):
            break
        names = list(load.open)
        for name in names:
            load.open.pop(name)
        found = [Race(name) for name in names]
        for at in range(0, len(found), 4):  # some at the same time, too
            await asyncio.gather(*[_race(one, race, persons) for race in found[at : at + 4]])
        run += found
    return run


async def _race(one: Round, race: Race, persons: list[Person]) -> None:
    rng = one.rng
    runners = rng.sample(persons, rng.randint(2, len(persons)))
    repeated = rng.choice(runners)
    spread = rng.choice((0.0, 0.0, 0.01))
    asking = []
    for person in runners:
        behavior = race.wanted[person.name] = rng.choice(("allow", "deny"))
        body = {"behavior": behavior, "client_id": f"{race.question}-{person.name[-1]}"}
        for _ in range(rng.randint(2, 4) if person is repeated else 1):
            asking.append((person, _ran(person, race, rng.choice(("http", "live", "library")), body, rng.uniform(0.0, spread))))
    rng.shuffle(asking)
    try:
        async with asyncio.timeout(GUARD):
            await asyncio.gather(*[run for _, run in asking])
    except TimeoutError:
        one.fail("I12", f"not all who answered {race.question} were told within {GUARD:g} s")
    one.tally.counts["races"] += 1
    one.tally.counts["answerers"] += len(asking)
    winners = [name for name, ends in race.ends.items() if ("won", name) in ends]
    one.load.people.verdicts[race.question] = race.wanted[winners[0]] if winners else ""


async def _ran(person: Person, race: Race, door: str, body: dict[str, Any], after: float) -> None:
    await asyncio.sleep(after)
    race.ends.setdefault(person.name, []).append(await person.answer(door, race.question, body))


def _one_winner_each(one: Round, races: list[Race]) -> None:
    """What people were told, what is stored, what the CLI was told: the same one."""
    kept = {row["id"]: row for row in rows(one.house.database, "SELECT id, state, by, verdict, request_id FROM question")}
    verdicts = Counter(row["question"] for row in rows(one.house.database, "SELECT question FROM verdict"))
    heard: dict[str, list[str]] = {}
    for cli in one.load.noted.read():
        for line in cli.heard:
            if line.get("type") == "control_response":
                reply = line["response"]
                heard.setdefault(reply["request_id"], []).append((reply.get("response") or {}).get("behavior", "other"))
    for race in races:
        row = kept[race.question]
        told = {(name, *end) for name, ends in race.ends.items() for end in ends}
        winners = {name for name, how, _ in told if how == "won"}
        firsts = {who for _, _, who in told}
        if len(winners) != 1 or firsts != winners or row["by"] not in winners or any(how == "odd" for _, how, _ in told):
            one.tally.doubled["G7"] += len(winners) > 1
            one.fail("G7", f"{race.question}: told {sorted(told)}, stored {row['by']!r} ({row['state']})")
            continue
        wanted = race.wanted[row["by"]]
        if json.loads(row["verdict"])["behavior"] != wanted or heard.get(row["request_id"]) != [wanted]:
            said = heard.get(row["request_id"])
            one.fail("G7", f"{race.question}: {row['by']} said {wanted}, the CLI was told {said}, stored is {row['verdict']}")
        if verdicts[race.question] != 1:
            one.fail("G7", f"{race.question} has {verdicts[race.question]} verdicts in the audit")


# -- F29: answers in flight


async def in_flight(one: Round) -> None:
    """Several questions are open; their answers are on the way when the CLI takes them back, dies, or the hub does."""
    load, rng = one.load, one.rng
    end = time.monotonic() + 3.0
    while len(load.open) < 3 and time.monotonic() < end:
        await asyncio.sleep(0.01)
    names = [name for name in load.open if rng.random() < 0.8]
    asked = {name: load.open.pop(name) for name in names}
    one.tally.counts["answers in flight"] += len(asked)
    way = rng.choice(("cancel", "cli", "hub", "hub"))
    for name, question in asked.items():
        load.begin(_answered_after(one, name, question, rng.uniform(0.0, 0.02)))
    await asyncio.sleep(rng.uniform(0.0, 0.04))
    one.struck()
    if way == "cancel":
        sessions = {question["session"] for question in asked.values()}
        await asyncio.gather(*[load.people.ask("POST", f"/sessions/{name}/interrupt", json={}) for name in sessions])
    elif way == "cli":
        for found in rng.sample(clis := one.house.clis(), min(2, len(clis))):
            send(found, rng.choice((signal.SIGKILL, signal.SIGTERM)))
    else:
        one.house.kill_hub()
        load.left_open = set(load.open)
        await restart(one.house, one.tally, drawn(rng, POINTS) if rng.random() < 0.5 else None)


async def _answered_after(one: Round, name: str, question: dict[str, Any], after: float) -> None:
    await asyncio.sleep(after)
    behavior = "allow" if question.get("asks") == "choice" or one.rng.random() < 0.7 else "deny"
    await one.load.people.answer({**question, "id": name}, behavior)


async def f29(order: Order) -> None:
    await struck(order, in_flight, Way(kinds=("ask", "pair", "pair", "ruled", "choose")))


# -- F19: very many questions

SESSIONS, FEW, EACH = 500, 25, 20
"""``FEW`` in the tests' sample, which is a single blow."""
CLI = """#!/bin/sh
case "$1" in --version) echo "2.1.326 (Claude Code)"; exit;; esac
id() { rest="${1#*\\"request_id\\":\\"}"; printf '%s' "${rest%%\\"*}"; }
while IFS= read -r line; do
  case "$line" in
    *'"type":"control_request"'*)
      printf '{"type":"control_response","response":{"subtype":"success",'
      printf '"request_id":"%s","response":{"commands":[]}}}\\n' "$(id "$line")"
      case "$line" in *'"interrupt"'*) n=0; while [ $n -lt MANY ]; do
        printf '{"type":"control_cancel_request","request_id":"%s-%s"}\\n' $$ $n; n=$((n+1)); done;; esac;;
    *'"type":"user"'*) n=0; while [ $n -lt MANY ]; do
      printf '{"type":"control_request","request_id":"%s-%s","request":{"subtype":"can_use_tool","tool_name":"Bash",' $$ $n
      printf '"input":{"command":"touch %s of %s"},"tool_use_id":"t%s-%s"}}\\n' $n $$ $$ $n; n=$((n+1)); done;;
  esac
done
"""


async def f19(order: Order) -> None:
    """One house with very many open questions; then all of them are taken back at once."""
    for number in range(order.first, order.first + order.count):
        sessions = SESSIONS if order.count > 1 or order.first or order.full else FEW
        await _many(order, number, sessions)
        order.tally.blows += 1
        order.saved()


async def _many(order: Order, number: int, sessions: int) -> None:
    rng, seed = random.Random(f"{order.seed}/{number}"), order.name(number)
    house = House(settings={"sim": False, "max_processes": sessions + 8, "max_turns": sessions + 8})
    cli = house.folder / "claude"
    cli.write_text(CLI.replace("MANY", str(EACH)))
    cli.chmod(0o755)
    house.configure({**house.settings, "cli": str(cli)}, {})
    load = Load(house, rng, sessions=0)
    one = Round(load, rng, order.tally, number, seed)
    try:
        await house.start()
        await _asked_and_withdrawn(one, sessions)
    finally:
        await load.people.close()
        for words in await house.close(keep=order.keep and bool(order.tally.wrong)):
            order.tally.fail("I8", words, seed)


OPEN = "SELECT count(*) AS n FROM question WHERE state = 'open'"


async def _asked_and_withdrawn(one: Round, sessions: int) -> None:
    people, pid = one.load.people, one.house.hub.pid  # type: ignore[union-attr]
    names = []
    for at in range(sessions):
        names.append(await people.create(f"s{at % 20}", prompt=None))
    for name in names:
        await people.act("wake", f"/sessions/{name}/wake", name, {})
    before = memory(pid)
    began = time.monotonic()
    for at in range(0, sessions, 20):
        await asyncio.gather(*[people.prompt(name, "ask") for name in names[at : at + 20]])
    wanted = sessions * EACH
    if not await until(one, lambda: rows(one.house.database, OPEN)[0]["n"] == wanted, f"{wanted} open questions", 120.0):
        return
    one.tally.counts["questions at once"] += wanted
    one.tally.measure("all asked after", time.monotonic() - began)
    await _listed(one, wanted)
    one.tally.measure("F19 memory MiB more", (memory(pid) - before) / 2**20)
    if (more := (memory(pid) - before) / 2**20) > 200:
        one.fail("F19", f"{wanted} open questions cost {more:.0f} MiB")
    began = time.monotonic()
    for at in range(0, sessions, 20):
        await asyncio.gather(*[people.ask("POST", f"/sessions/{name}/interrupt", json={}) for name in names[at : at + 20]])
    await until(one, lambda: rows(one.house.database, OPEN)[0]["n"] == 0, "all withdrawn", 60.0)
    one.tally.measure("all withdrawn after", time.monotonic() - began)
    await _listed(one, 0)
    closed = rows(one.house.database, "SELECT state, count(*) AS n FROM question GROUP BY state")
    if closed != [{"state": "withdrawn", "n": wanted}]:
        one.fail("F19", f"after all were withdrawn: {closed}")


async def _listed(one: Round, wanted: int) -> None:
    """The inbox, whole."""
    began = time.monotonic()
    answer = await one.load.people.ask("GET", "/questions")
    seconds = time.monotonic() - began
    shown = {item["id"] for item in answer.json()["items"]}
    one.tally.measure("F19 inbox listed in", seconds)
    if seconds > 1.0:
        one.fail("F19", f"the inbox of {wanted} questions took {seconds:.1f} s")
    if len(shown) != wanted:
        one.fail("F19", f"the inbox shows {len(shown)} of {wanted} questions")


VERDICTS = [
    Proof("F28", f"2 to 8 people answer at once over three doors, one of them repeatedly ({RACES} races a blow)", (100, 100), f28,
          ("G7", "G8"), 1, seconds=1.0),
    Proof("F29", "answers in flight when the CLI takes its questions back or dies, or the hub does", (60, 500), f29,
          ("G1", "G5", "G8", "G9", "G10"), 2),
    Proof("F19", "10,000 open questions over 500 sessions, all withdrawn at once", (2, 5), f19, ("F19",), 1,
          alone=True, seconds=60.0),
]  # fmt: skip
