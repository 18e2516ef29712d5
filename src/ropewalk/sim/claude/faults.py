"""Misbehaving on order. Refuses to happen by itself: only a scenario step or ROPEWALK_SIM_FAULT brings a fault about.

``ROPEWALK_SIM_FAULT`` holds one or more orders separated by ``;``, each ``name key=value …``, with ``at=`` for the moment:
``at=start`` (default), ``at=line:N`` (instead of, or right before, the Nth line out). Names are those of `FAULTS`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .wire import Wire

Params = Mapping[str, Any]
HOLDER = "import sys, time; time.sleep(float(sys.argv[1]))"
"""What a left child runs: it waits and holds whatever it inherited."""


class FaultError(Exception):
    """An order that can't be carried out; the sentence says which."""


@dataclass(frozen=True)
class Order:
    """One fault with its moment; ``line`` is None for the start."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    line: int | None = None


def orders(text: str) -> list[Order]:
    """Read ROPEWALK_SIM_FAULT; raises `FaultError`."""
    return [_order(part.split()) for part in text.split(";") if part.strip()]


def _order(words: list[str]) -> Order:
    name, params, line = words[0], {}, None
    if name not in FAULTS:
        raise FaultError(f"fault {name!r} is not known; one of {', '.join(FAULTS)}")
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key == "at":
            line = int(value.removeprefix("line:")) if value.startswith("line:") else None
        else:
            params[key] = int(value) if value.lstrip("-").isdigit() else value
    return Order(name, params, line)


def commit(name: str, params: Params, wire: Wire) -> None:
    """Carry a fault out now."""
    FAULTS[name](params, wire)


def _crash(params: Params, wire: Wire) -> None:
    os._exit(int(params.get("code", 1)))


def _kill(params: Params, wire: Wire) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang(params: Params, wire: Wire) -> None:
    """Blocks the whole process: nothing is read, nothing is said. SIGTERM still ends it."""
    end = time.monotonic() + float(params.get("seconds", 1e9))
    while time.monotonic() < end:
        time.sleep(min(0.2, max(0.0, end - time.monotonic())))


def _half_line(params: Params, wire: Wire) -> None:
    wire.send_bytes(b'{"type":"system","subtype":"sta', end=b"")


def _garbage(params: Params, wire: Wire) -> None:
    wire.send_bytes(str(params.get("bytes", "this is not JSON")).encode())


def _long_line(params: Params, wire: Wire) -> None:
    size = int(params.get("size", 64 * 1024 * 1024 + 1))
    head, tail = b'{"type":"system","subtype":"informational","level":"info","content":"', b'"}'
    wire.send_bytes(head + b"x" * max(0, size - len(head) - len(tail)) + tail)


def _surrogates(params: Params, wire: Wire) -> None:
    wire.send_bytes(b'{"type":"system","subtype":"informational","level":"info","content":"lone \\ud83d and \\udc00 surrogates"}')


def _nesting(params: Params, wire: Wire) -> None:
    depth = int(params.get("depth", 100_000))
    wire.send_bytes(b'{"type":"system","subtype":"informational","content":' + b"[" * depth + b"]" * depth + b"}")


def _huge_number(params: Params, wire: Wire) -> None:
    digits = b"9" * int(params.get("size", 5000))
    wire.send_bytes(b'{"type":"system","subtype":"informational","content":"big","number":' + digits + b',"float":1e999}')


def _bad_utf8(params: Params, wire: Wire) -> None:
    wire.send_bytes(b'{"type":"system","subtype":"informational","content":"\xff\xfe\x80"}')


def _nothing_known(params: Params, wire: Wire) -> None:
    wire.send({"type": "from_the_future", "subtype": "unheard_of", "content": [{"type": "hologram"}]})


def _flood(params: Params, wire: Wire) -> None:
    for number in range(int(params.get("count", 10_000))):
        wire.send({"type": "system", "subtype": "informational", "level": "info", "content": f"flood {number}"})


def _noise(params: Params, wire: Wire) -> None:
    for number in range(int(params.get("count", 1000))):
        sys.stderr.write(f"noise {number} " + "x" * int(params.get("size", 60)) + "\n")
    sys.stderr.flush()


def _ignore_term(params: Params, wire: Wire) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave_child(params: Params, wire: Wire) -> None:
    """``way``: child (our group), setsid (own session), double_fork (own session, parent gone). ``hold``: keeps our pipes."""
    way, seconds, hold = str(params.get("way", "child")), str(params.get("seconds", 600)), bool(params.get("hold", False))
    pipe = None if hold else subprocess.DEVNULL
    command = [sys.executable, "-c", HOLDER, seconds]
    if way == "double_fork":
        command = [sys.executable, "-c", f"import subprocess, sys; subprocess.Popen({command!r}, start_new_session=True)"]
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=way == "setsid")  # noqa: S603
    if way == "double_fork":
        child.wait()


FAULTS: dict[str, Callable[[Params, Wire], None]] = {
    "crash": _crash,
    "kill": _kill,
    "hang": _hang,
    "half_line": _half_line,
    "garbage": _garbage,
    "long_line": _long_line,
    "surrogates": _surrogates,
    "nesting": _nesting,
    "huge_number": _huge_number,
    "bad_utf8": _bad_utf8,
    "unknown_line": _nothing_known,
    "flood": _flood,
    "noise": _noise,
    "ignore_term": _ignore_term,
    "ignore_stdin": lambda params, wire: None,
    "leave_child": _leave_child,
}
"""ignore_stdin acts at the start only: the program then never reads."""
