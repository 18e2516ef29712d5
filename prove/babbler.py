"""A CLI that says random lines on any prompt, and keeps the ledger of the scripted one. Runs alone: imports nothing of ours."""

from __future__ import annotations

import base64
import glob
import hashlib
import json
import os
import random
import sys
import time
from typing import Any

LEDGER = (
    os.open(os.environ["PROVE_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if "PROVE_LEDGER" in os.environ else -1
)
N = 0
RECORDED = os.environ.get("PROVE_RECORDED", "")
TYPES = (
    "system",
    "assistant",
    "user",
    "result",
    "stream_event",
    "control_request",
    "control_response",
    "rate_limit_event",
    "control_cancel_request",
    "keep_alive",
    "tool_progress",
    "nobody",
)
WORDS = (
    "init",
    "success",
    "can_use_tool",
    "text",
    "tool_use",
    "id",
    "message",
    "content",
    "uuid",
    "session_id",
    "\ud83d",
    "\x00",
    "é",
    "",
)


def note(way: str, line: bytes) -> None:
    global N
    N += 1
    entry = {
        "n": N,
        "dir": way,
        "at": time.time(),
        "pid": os.getpid(),
        "size": len(line),
        "sha256": hashlib.sha256(line).hexdigest(),
    }
    entry["base64"] = base64.b64encode(line).decode()
    if LEDGER >= 0:
        os.write(LEDGER, json.dumps(entry).encode() + b"\n")


def say(line: bytes) -> None:
    note("out", line)
    view = memoryview(line + b"\n")
    while view:
        view = view[os.write(1, view) :]


def value(rng: random.Random, depth: int = 0) -> Any:
    pick = rng.randrange(9 if depth < 4 else 6)
    if pick == 6:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if pick >= 7:
        return {rng.choice(WORDS): value(rng, depth + 1) for _ in range(rng.randrange(5))}
    return (None, True, rng.choice(WORDS), rng.choice((0, -1, 1e300, 2**63, 10**400)), "x" * rng.randrange(300), rng.random())[
        pick
    ]


def grammar(rng: random.Random) -> bytes:
    line = value(rng, 1)
    line = line if isinstance(line, dict) else {"content": line}
    line["type"] = rng.choice(TYPES)
    for name in ("subtype", "message", "request", "response", "event", "request_id", "session_id", "uuid", "result"):
        if rng.random() < 0.3:
            line[name] = value(rng, 1)
    return json.dumps(line).encode()


def mutated(rng: random.Random, lines: list[bytes]) -> bytes:
    line = bytearray(rng.choice(lines))
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(line) or 1)
        way = rng.randrange(4)
        if way == 0 and line:
            line[at] = rng.randrange(256)
        elif way == 1:
            line[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(8)))
        elif way == 2:
            del line[at : at + rng.randrange(30)]
        else:
            line[at:at] = line[at : at + rng.randrange(60)]
    return bytes(line).replace(b"\n", b" ")


def babble(rng: random.Random, lines: list[bytes]) -> bytes:
    way = rng.random()
    if way < 0.5 and lines:
        return mutated(rng, lines)
    if way < 0.85:
        return grammar(rng)
    return bytes(rng.randrange(256) for _ in range(rng.randrange(200))).replace(b"\n", b" ")


def recorded() -> list[bytes]:
    lines: list[bytes] = []
    for path in sorted(glob.glob(f"{RECORDED}/**/*", recursive=True)) if RECORDED else []:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                lines += [line.rstrip(b"\n") for line in file if line.strip()]
    return lines


def main() -> None:
    if "--version" in sys.argv:
        print("2.1.326 (Claude Code)")
        return
    rng = random.Random(os.environ.get("PROVE_SEED", "0"))
    lines = recorded()
    for raw in sys.stdin.buffer:
        raw = raw.rstrip(b"\n")
        note("in", raw)
        message = json.loads(raw)
        if message.get("type") == "control_request":
            asked = message["request_id"]
            reply = {"subtype": "success", "request_id": asked, "response": {"commands": [], "models": []}}
            say(json.dumps({"type": "control_response", "response": reply}).encode())
        elif message.get("type") == "user":
            for _ in range(int(os.environ.get("PROVE_LINES", "100"))):
                say(babble(rng, lines))


if __name__ == "__main__":
    main()
