"""The invariants: what the CLIs, the people and the listeners noted, against what the hub stored. Refuses nothing; it reports."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ropewalk.sim.claude.ledger import KEPT_WHOLE

from .allowed import Allowing
from .book import Book, integrity, read, rows
from .house import House
from .listeners import Told
from .noted import Cli, Noted
from .people import People
from .processes import start_time

TOLD_WITHIN = 5.0
DYING = 3.0
"""Seconds in which a CLI whose runner died may still speak, to nobody."""
ENDED = ("done", "withdrawn", "failed", "lost")
BUSY = ("starting", "thinking", "running_tool", "compacting", "waiting", "background", "idle", "rate_limited")


@dataclass
class Findings:
    """``counts``: what was compared. ``lost`` and ``doubled`` by promise; ``wrong`` in words."""

    counts: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    doubled: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def lose(self, promise: str, words: str, count: int = 1) -> None:
        self.lost[promise] += count
        self.wrong.append(f"{promise}: {words}")

    def double(self, promise: str, words: str) -> None:
        self.doubled[promise] += 1
        self.wrong.append(f"{promise}: {words}")


@dataclass
class Side:
    """All that took part in one run."""

    house: House
    people: People
    told: list[Told]
    noted: Noted
    cut_allowed: bool = False
    """Lines may be missing at the end of a process (its runner was killed), if that is said."""
    fresh: float = 0.25
    """Seconds before a blow whose lines may be missing then: a tenth until they are safe, the rest for a runner that had not
    yet come to read them."""
    blows: list[float] = field(default_factory=list)
    """When, by the clock of the ledgers."""


async def check(side: Side, *, settled: bool = True) -> Findings:
    """Everything that applies. ``settled``: nothing is under way, so every prompt must have ended."""
    findings, book, clis = Findings(), read(side.house.database), side.noted.read()
    _numbers(book, findings)
    _told(book, side.told, findings)
    _lines(book, clis, side, findings)
    _prompts(book, clis, side.people, findings, settled)
    _answers(book, clis, side.people, findings)
    _questions(book, findings)
    _one_each(book, side.house, findings)
    await _standing(side.house, findings)
    _logs(side.house, findings)
    if side.people.hangs:
        findings.lose("I12", "; ".join(side.people.hangs[:3]), len(side.people.hangs))
    if (words := integrity(side.house.database)) != "ok":
        findings.lose("I11", f"integrity_check: {words}")
    return findings


def _numbers(book: Book, findings: Findings) -> None:
    """I6, G10."""
    for words in book.doubles:
        findings.double("G10" if words.startswith("seq") else "G3", words)
    for session, row in book.sessions.items():
        seqs = sorted(book.events.get(session, {}))
        findings.counts["events"] += len(seqs)
        if seqs != list(range(1, len(seqs) + 1)) or row["last_seq"] != len(seqs):
            findings.lose("G10", f"{session} has {len(seqs)} events, last {seqs[-1:]}, its counter says {row['last_seq']}")


def _told(book: Book, told: list[Told], findings: Findings) -> None:
    """I2, G1; gaps and repeats that listeners noticed themselves, G11."""
    for one in told:
        findings.counts["told"] += one.count
        for words in one.wrong:
            findings.lose("G11", words)
        for session, seen in one.seen.items():
            for seq, crc in seen.items():
                if book.checksum(session, seq) != crc:
                    findings.lose("G1", f"{one.name} heard event {seq} of {session}, which is not in the log so")


def _lines(book: Book, clis: list[Cli], side: Side, findings: Findings) -> None:
    """I1, G3, G4."""
    for cli in clis:
        process = book.processes.get(cli.process)
        if process is None:
            findings.wrong.append(f"G3: a CLI (pid {cli.pid}, process {cli.process!r}) is not in the log")
            findings.lost["G3"] += 1
            continue
        keeps = b'"keep_stream_events":true' in book.sessions[process["session"]]["options"]
        stored = book.lines.get(cli.process, {})
        wanted = {n: said for n, said in enumerate(cli.said, 1) if keeps or not said.stream}
        findings.counts["lines"] += len(wanted)
        for n, raw in stored.items():
            if n > len(cli.said) or not cli.said[n - 1].is_(raw):
                findings.double("G3", f"line {n} of {cli.process} is stored as the CLI never said it: {raw[:80]!r}")
        dropped = {event.get("line") for event in book.of_kind(process["session"], "line_dropped")
                   if event.get("process") == cli.process}  # fmt: skip
        findings.counts["lines dropped and named"] += len(dropped)
        missing = sorted(set(wanted) - set(stored) - dropped)
        if missing:
            _missing(book, cli, process, missing, stored, side, findings)


def _missing(
    book: Book, cli: Cli, process: dict[str, Any], missing: list[int], stored: dict[int, bytes], side: Side, findings: Findings
) -> None:
    """A killed CLI noted a line that it could not say; a killed runner may lose the last moments, and must say so."""
    ended = process["ended_at"] is not None
    tail = not stored or min(missing) > max(stored)
    if ended and process["exit_code"] != 0 and tail and len(missing) == 1 and missing[0] == len(cli.said):
        return
    if side.cut_allowed and ended and tail:
        first = cli.said[missing[0] - 1].at
        fresh = any(blow - side.fresh < first < blow + DYING for blow in side.blows)
        named = names_the_loss(book, process)
        findings.counts["cut"] += len(missing)
        if fresh and named:
            return
        how = f"{'said' if named else 'not said'}, {'fresh' if fresh else 'older than the spool may lose'}"
        findings.lose("G4", f"{len(missing)} lines of {cli.process} from {missing[0]} are gone ({how})")
        return
    findings.lose(
        "G3", f"lines {missing[:5]} of {cli.process} ({len(cli.said)} said, {len(stored)} stored) are missing", len(missing)
    )


def names_the_loss(book: Book, process: dict[str, Any]) -> bool:
    """Whether an event of this very process says that its runner died, that lines were dropped, or that some may be missing."""
    for event in book.of_kind(process["session"], "link_lost", "line_dropped", "process_ended"):
        if event["kind"] == "link_lost" and event["at"] >= process["started_at"]:
            return True
        if event.get("process") == process["id"] and (event["kind"] == "line_dropped" or "runner" in event["why"]):
            return True
    return False


def _prompts(book: Book, clis: list[Cli], people: People, findings: Findings, settled: bool) -> None:
    """I3, G5, G6."""
    delivered: Counter[str] = Counter()
    texts: Counter[str] = Counter(row["text"] for row in book.prompts.values())
    large = {hashlib.sha256(line).hexdigest(): line for said in book.said.values() for line in said if len(line) > KEPT_WHOLE}
    for cli in clis:
        delivered.update(str(line.get("uuid")) for line in cli.heard if line.get("type") == "user")
        delivered.update(json.loads(large[line["sha256"]])["uuid"] for line in cli.heard if line.get("sha256") in large)
    for prompt, times in delivered.items():
        if times > 1:
            findings.double("G5", f"prompt {prompt} reached a CLI {times} times")
    for act in people.acts:
        if act.what != "prompt":
            continue
        if texts[act.body["text"]] > 1:
            findings.double("G6", f"{act.client_id} made {texts[act.body['text']]} prompts")
        if act.ok:
            findings.counts["prompts"] += 1
            _one_prompt(book, str(act.answer["id"]), delivered, findings, settled)
    findings.counts["acts"] += len(people.acts)


def _one_prompt(book: Book, prompt: str, delivered: Counter[str], findings: Findings, settled: bool) -> None:
    row = book.prompts.get(prompt)
    if row is None:
        findings.lose("G5", f"prompt {prompt} was accepted and is not in the log")
        return
    kinds = Counter(event["kind"] for event in book.events.get(row["session"], {}).values() if event.get("prompt") == prompt)
    state, times = row["state"], delivered[prompt]
    findings.counts[f"prompts {state}"] += 1
    if settled and state not in ENDED:
        findings.lose("G5", f"prompt {prompt} is {state} and nothing moves it (session {row['session']})")
    if state == "done" and times != 1:
        findings.lose("G5", f"prompt {prompt} is done and reached a CLI {times} times")
    if state == "failed" and times and "never handed" in row["reason"]:
        findings.lose("G5", f"prompt {prompt} is said never to have been handed over, and a CLI has it")
    if kinds["prompt_queued"] != 1 or any(count > 1 for kind, count in kinds.items() if kind != "prompt_changed"):
        findings.double("G5", f"prompt {prompt} has the receipts {dict(kinds)}")
    if state in ("failed", "lost", "withdrawn") and kinds[f"prompt_{state}"] != 1:
        findings.lose("G5", f"prompt {prompt} is {state} and no event says so")
    if state == "done" and not any(prompt in event.get("prompts", ()) for event in book.of_kind(row["session"], "turn_ended")):
        findings.lose("G5", f"prompt {prompt} is done and no turn_ended lists it")


def _answers(book: Book, clis: list[Cli], people: People, findings: Findings) -> None:
    """I4, I5, and that an answer which was acknowledged reached the CLI or is said not to have."""
    asked = {(row["process"], row["request_id"]): row for row in book.questions.values()}
    heard: dict[str, Counter[str]] = {}
    told: Counter[tuple[str, str]] = Counter()
    allowing = Allowing(book, people)
    for cli in clis:
        for line in cli.heard:
            reply = line.get("response") if line.get("type") == "control_response" else None
            if isinstance(reply, dict):
                request = str(reply.get("request_id"))
                told[cli.process, request] += 1
                row = asked.get((cli.process, request))
                inner = reply.get("response") or {}
                if row is not None:
                    heard.setdefault(row["id"], Counter())[str(inner.get("behavior", "other"))] += 1
                if inner.get("behavior") == "allow":
                    findings.counts["allows"] += 1
                    if words := allowing.why_not(cli.process, request, row):
                        findings.lost["G8"] += 1
                        findings.lose("I4", words)
    findings.counts["answers"] += len(told)
    for (process, request), times in told.items():
        if times > 1:
            findings.double("I5", f"request {request} of {process} was answered {times} times to the CLI")
    for words in allowing.overused():
        findings.lose("I4", words)
    for act in people.acts:
        if act.what == "answer" and act.ok and str(act.answer.get("id")) not in heard:
            _undelivered(book, str(act.answer.get("id")), findings)


def _undelivered(book: Book, question: str, findings: Findings) -> None:
    row = book.questions.get(question)
    if row is None:
        findings.lose("G9", f"the answered question {question} is not in the log")
        return
    told = [event for event in book.of_kind(row["session"], "question_delivered") if event["question"] == question]
    if not any(event.get("delivered") is False for event in told):
        findings.lose("G9", f"the answer to {question} never reached the CLI, and nothing says so ({row['state']})")


def _questions(book: Book, findings: Findings) -> None:
    """G9: an open question has a living process; one that ended with its process says so once."""
    for row in book.questions.values():
        findings.counts["questions"] += 1
        closed = [event for event in book.of_kind(row["session"], "question_closed") if event["question"] == row["id"]]
        opened = [event for event in book.of_kind(row["session"], "question_opened") if event["question"] == row["id"]]
        if len(opened) != 1:
            findings.double("G9", f"question {row['id']} was opened {len(opened)} times")
        if row["state"] == "open" and (closed or book.processes[row["process"]]["ended_at"] is not None):
            findings.lose("G9", f"question {row['id']} is open and its process is gone")
        if row["state"] != "open" and len(closed) != 1:
            findings.double("G9", f"question {row['id']} is {row['state']} and was closed {len(closed)} times")
        if row["state"] in ("answered", "expired"):
            _delivered(book, row, findings)


def _delivered(book: Book, row: dict[str, Any], findings: Findings) -> None:
    """F29: an answer is delivered or it is not; the row and the last word in the log say the same."""
    told = [event for event in book.of_kind(row["session"], "question_delivered") if event["question"] == row["id"]]
    ended = book.processes[row["process"]]["ended_at"] is not None
    findings.counts["deliveries"] += 1
    if not told:
        if ended:
            findings.lose("F29", f"question {row['id']} is {row['state']}, and nothing says whether the answer was delivered")
        return
    said = max(told, key=lambda event: int(event["seq"])).get("delivered", True)
    if said != (row["delivered_at"] is not None):
        findings.double("F29", f"the answer to {row['id']} is {'' if said else 'not '}delivered, and its row says otherwise")


def _one_each(book: Book, house: House, findings: Findings) -> None:
    """G15: no conversation has two processes."""
    living = house.clis()
    for row in book.sessions.values():
        cli = row["cli_session"]
        running = {one.marker for one in living if cli and any(cli in word for word in one.words)}
        if len(running) > 1:
            findings.double("G15", f"{len(running)} processes of one CLI session: {sorted(running)}")


async def _standing(house: House, findings: Findings) -> None:
    """I7. What has just changed has five seconds to be told."""
    until = time.monotonic() + TOLD_WITHIN
    while (wrong := _false_standings(house)) and time.monotonic() < until:
        await asyncio.sleep(0.1)
    for words in wrong:
        findings.lose("I7", words)


def _false_standings(house: House) -> list[str]:
    waiting = {row["session"] for row in rows(house.database, "SELECT session FROM question WHERE state = 'open'")}
    joined = "SELECT session.id, status, session.why, pid FROM session LEFT JOIN process ON process.id = session.process"
    wrong = []
    for row in rows(house.database, joined):
        says = f"{row['id']} is {row['status']} ({row['why']})"
        if (row["status"] == "waiting") != (row["id"] in waiting):
            wrong.append(f"{says} and has {'an' if row['id'] in waiting else 'no'} open question")
        if row["status"] in BUSY and (row["pid"] is None or start_time(row["pid"]) is None):
            wrong.append(f"{says} without a living process")
    return wrong


def _logs(house: House, findings: Findings) -> None:
    """I10."""
    for path in (house.log, house.runner_log):
        text = path.read_text(errors="replace") if path.exists() else ""
        if "Traceback" in text:
            at = text.index("Traceback")
            findings.lose("I10", f"{path.name}: {text[max(0, at - 300) : at + 2500]}")
        if house.token and house.token in text:
            findings.lose("I10", f"the token stands in {path.name}")
