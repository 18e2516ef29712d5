"""The runner becomes the program that is installed now: same pid, pipes, socket, lock and spool. Refuses while a CLI is ending.

What lies in pipes and on disk stays there; only what is in memory travels, in a file of the spool's folder that is deleted when
it was read. The new program is tried out first: one that can't start is never become.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec

from ropewalk.errors import LinkBroken
from ropewalk.runner.frozen import Frozen, frozen
from ropewalk.runner.keeper import Keeper
from ropewalk.runner.options import Options
from ropewalk.transports.frames import Done

if TYPE_CHECKING:
    from ropewalk.runner.reception import Reception

log = logging.getLogger("ropewalk.runner")

STATE = "reexec.state"
QUIET_WITHIN = 20.0
TRY_OUT = 20.0


class Inheritance(msgspec.Struct):
    """What one program of this process leaves to the next."""

    lock: int
    listening: int
    charges: list[Frozen]

    async def give_to(self, keeper: Keeper) -> None:
        """Each CLI lives on; the ended are read from disk."""
        for one in self.charges:
            await keeper.adopt(one)
        keeper.take_over_ended()


def inherit(path: str) -> Inheritance:
    """Raises ``OSError`` or ``msgspec.MsgspecError``: then this process ends, and its CLIs with it."""
    with open(path, "rb") as file:
        inheritance = msgspec.msgpack.decode(file.read(), type=Inheritance)
    os.unlink(path)
    for descriptor in [inheritance.lock, inheritance.listening, *_pipes(inheritance.charges)]:
        os.set_inheritable(descriptor, False)
    return inheritance


async def become_anew(options: Options, keeper: Keeper, reception: Reception, listening: socket.socket, ask: int) -> None:
    """Does not return when it works. Raises ``LinkBroken`` with the reason, and everything goes on as before."""
    await asyncio.to_thread(_try_out, options)
    await _quiet(keeper)
    if reception.hub is not None:
        reception.hub.tell(Done(ask))
        await reception.hub.flushed(1.0)
    await keeper.sync()
    await _quiet(keeper)
    path = os.path.join(keeper.house.folder, STATE)
    inheritance = Inheritance(keeper.house.lock, listening.fileno(), [frozen(c) for c in keeper.charges.values() if c.alive])
    _exec(options, path, inheritance)


def _exec(options: Options, path: str, inheritance: Inheritance) -> None:
    """From here on nothing of the loop runs: what is in the pipes waits there for the next program."""
    kept = [inheritance.lock, inheritance.listening, *_pipes(inheritance.charges)]
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(msgspec.msgpack.encode(inheritance))
        for number in kept:
            os.set_inheritable(number, True)
        log.info("becoming anew with %d CLIs", len(inheritance.charges))
        os.execv(sys.executable, [*_command(options), f"--inherit={path}"])  # noqa: S606 - the runner itself, no shell
    except OSError as error:
        for number in kept:
            os.set_inheritable(number, False)
        raise LinkBroken(f"the runner could not become the new program: {error}") from error


def _pipes(charges: list[Frozen]) -> list[int]:
    return [end for one in charges for end in (one.stdin, one.stdout, one.stderr) if end >= 0]


async def _quiet(keeper: Keeper) -> None:
    """Until no CLI is between its exit and its end, and none is being stopped."""
    loop = asyncio.get_running_loop()
    until = loop.time() + QUIET_WITHIN
    while keeper.anyone_ending:
        if loop.time() >= until:
            raise LinkBroken("a CLI is being stopped; try the re-exec again when it has ended")
        await asyncio.sleep(0.02)


def _command(options: Options) -> list[str]:
    return [sys.executable, "-m", "ropewalk.runner", *options.words()]


def _try_out(options: Options) -> None:
    try:
        tried = subprocess.run(
            [*_command(options), "--check"], stdin=subprocess.DEVNULL, capture_output=True, timeout=TRY_OUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LinkBroken(f"the program that is installed now can't be started: {error}") from error
    if tried.returncode != 0:
        words = tried.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise LinkBroken(f"the program that is installed now does not start: {words}")
