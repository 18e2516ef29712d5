"""The table: by promise and by fault, for the terminal and for docs/reference/promises.md. Refuses dates: figures only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ropewalk import __version__

from .house import ROOT
from .proof import Proof
from .tally import Tally

PAGE = ROOT / "docs" / "reference" / "promises.md"

PROMISES = {
    "G1": ("an event that any listener has heard is in the log after kill -9", "told", "events told"),
    "G3": ("kill -9 of the hub loses no line of a CLI: each is stored once, in order, byte by byte", "lines", "lines"),
    "G4": ("kill -9 of hub and runner keeps every line that the spool had; what is missing is said", "lines", "lines"),
    "G5": ("a prompt that was accepted reaches the CLI once, or visibly ends otherwise", "prompts", "prompts"),
    "G6": ("a repeated command is one command, also after a restart", "acts", "commands"),
    "G7": ("of all who answer at once one is first; the others read who was, and Claude gets one answer", "races", "races"),
    "G8": ("whatever dies, nothing is allowed that neither a rule nor a person allowed, and that is not on the disk", "allows",
           "allows"),
    "G9": ("open questions are there again within 2 s of a restart; with their process they are lost, said once",
           "questions", "questions"),
    "G10": ("the numbers of a session's events are 1, 2, 3 …, over all restarts", "events", "events"),
    "G11": ("a listener that comes back with its last number hears the rest, once", "reconnects", "reconnects"),
    "G12": ("a slow listener delays nobody, costs 2 MiB at most, is cut off within 30 s and resumes whole",
            "slow", "slow listeners"),
    "G13": ("an interrupt is on the CLI's input within 100 ms, with 5,000 events unread", "interrupts", "interrupts"),
    "G14": ("ten seconds after a stop, or after the next start, nothing that a CLI started lives",
            "orphans", "processes left by CLIs"),
    "G15": ("one process for each CLI session", "starts", "starts at once"),
    "G19": ("a full disk is said within 5 s; prompts are refused, denials go through, nothing told is lost; it recovers",
            "fills", "full disks"),
    "F19": ("10,000 open questions are listed within 1 s, and cost 200 MiB at most", "questions at once", "questions"),
    "G21": ("whatever bytes a CLI says, the session lives and the bytes are kept", "odd lines", "odd lines"),
    "G22": ("rules: a command that they allow runs, in real bash, nothing but what they allow", "commands", "commands"),
    "G23": ("strangers change nothing and cost little", "strangers", "connections"),
    "G24": ("after kill -9 with 1,000 sessions and 1,000,000 events the hub serves within 3 s", "starts with much", "starts"),
}  # fmt: skip

INVARIANTS = {
    "I4": "nothing is allowed that no rule and nobody allowed", "F29": "an answer is delivered or it is not, never both",
    "I5": "one answer for each question", "I7": "status equals the tables",
    "I8": "no process is left", "I9": "the runner's and the hub's descriptors come back", 
    "I10": "no traceback and no secret in the logs", "I11": "the database is sound", "I12": "nothing hangs",
}  # fmt: skip


NOTED = (
    "refused", "salvaged", "taken back, said and salvaged", "beyond salvage", "said to be damaged", "denials on a full disk",
    "lines dropped and named", "cut", "G13 over 100 ms", "understood", "allowed by rules", "left out",
)  # fmt: skip
"""Counts that are told with a blow: no failures, but good to know. ``cut``: lines of a killed runner's last moment."""


def judged(proofs: Iterable[Proof], tallies: dict[str, Tally]) -> dict[str, Tally]:
    """Copies of them, with what only all blows together can show."""
    found: dict[str, Tally] = {}
    for proof in proofs:
        if proof.name in tallies:
            found[proof.name] = Tally.from_object(tallies[proof.name].as_object())
            if proof.judged is not None:
                proof.judged(found[proof.name])
    return found


def promise_rows(proofs: Iterable[Proof], tallies: dict[str, Tally]) -> list[tuple[str, ...]]:
    ran = [(proof, tallies[proof.name]) for proof in proofs if proof.name in tallies and tallies[proof.name].blows]
    rows: list[tuple[str, ...]] = []
    for name, (words, unit, called) in PROMISES.items():
        shown = [(proof, tally) for proof, tally in ran if name in proof.shows]
        if shown:
            count = sum(tally.counts[unit] for _, tally in shown)
            lost = sum(tally.lost[name] for _, tally in ran)
            doubled = sum(tally.doubled[name] for _, tally in ran)
            together = Tally()
            for _, tally in shown:
                together.merge(tally)
            worst = _worst(together, name)
            by = ", ".join(proof.name for proof, _ in shown)
            rows.append((name, words, f"{count:,} {called}", str(lost), str(doubled), worst or "–", by))
    for name, words in INVARIANTS.items():
        lost, doubled = sum(tally.lost[name] for _, tally in ran), sum(tally.doubled[name] for _, tally in ran)
        blows = sum(tally.blows for _, tally in ran)
        if ran:
            rows.append((name, words, f"{blows:,} blows", str(lost), str(doubled), "–", "all"))
    return rows


def _worst(tally: Tally, promise: str) -> str:
    own = {what.removeprefix(f"{promise} "): value for what, value in tally.worst.items() if what.startswith(f"{promise} ")}
    return "; ".join(f"{what} {figure(what, value)}" for what, value in own.items())


def figure(what: str, value: float) -> str:
    if what.endswith(("KiB", "MiB more")):
        return f"{value:.0f}"
    if what.endswith("%"):
        return f"{value:.1f}"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def fault_rows(proofs: Iterable[Proof], tallies: dict[str, Tally]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for proof in proofs:
        tally = tallies.get(proof.name)
        if tally is not None and tally.struck:
            noted = [f"{what}: {tally.counts[what]:,}" for what in NOTED if tally.counts[what]]
            measured = "; ".join([*(f"{what} {figure(what, value)}" for what, value in tally.worst.items()), *noted])
            failures = sum(tally.lost.values()) + sum(tally.doubled.values())
            rows.append((proof.name, proof.words, f"{tally.blows:,}", str(failures), measured or "–"))
    return rows


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


PROMISE_HEAD = ("", "promise", "compared", "lost", "doubled", "worst", "shown by")
FAULT_HEAD = ("", "blow", "struck", "failures", "worst times, and what else was counted")

INTRO = """# What is promised, and what was counted

Written by `make prove`; not by hand. ropewalk {version}, {size} counts, seed {seed}.

Each blow is struck at real processes: a hub, its runner, scripted CLIs that note every line in a ledger of their own before they
say it, and listeners and people that note what they were told. After each blow all ledgers are compared with the hub's log.
How to run it, and how to repeat a single blow: [Prove it](../how-to/prove.md). No failure in n blows bounds the rate of failure
at 3/n (with 95 % confidence).
"""


def page(proofs: list[Proof], tallies: dict[str, Tally], seed: int, full: bool) -> str:
    wanted = {proof.name: proof.counts[1 if full else 0] for proof in proofs}
    whole = all(name in tallies and tallies[name].struck >= count for name, count in wanted.items())
    size = ("full" if full else "plain") if whole else "a part of the plain"
    intro = INTRO.format(version=__version__, size=size, seed=seed)
    tallies = judged(proofs, tallies)
    promises = table(PROMISE_HEAD, promise_rows(proofs, tallies))
    faults = table(FAULT_HEAD, fault_rows(proofs, tallies))
    return f"{intro}\n## Promises\n\n{promises}\n\n## Blows\n\n{faults}\n"


def write(proofs: list[Proof], tallies: dict[str, Tally], seed: int, full: bool, path: Path = PAGE) -> None:
    path.write_text(page(proofs, tallies, seed, full), encoding="utf-8")
