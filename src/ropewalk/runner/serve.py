"""One life of the runner: take the folder, end leftovers, listen, serve until told to go or long idle. Only composes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable

from ropewalk.errors import LinkBroken
from ropewalk.runner.files import Files
from ropewalk.runner.house import House, Taken
from ropewalk.runner.keeper import Keeper, Tasks
from ropewalk.runner.options import Options
from ropewalk.runner.reception import Reception
from ropewalk.runner.reexec import become_anew, inherit
from ropewalk.transports.runner.local import own_folder
from ropewalk.transports.runner.socket_path import reachable

log = logging.getLogger("ropewalk.runner")

LOOK_AT_IDLENESS = 30.0


async def serve(options: Options, ready: Callable[[], None]) -> None:
    """Until TERM or long idleness. ``ready`` is called when hubs can connect. Raises ``Taken`` or another ``RopewalkError``."""
    inheritance = inherit(options.inherit) if options.inherit else None
    own_folder(os.path.dirname(options.socket))
    house = House(options.spool, inheritance.lock if inheritance else None)
    tasks = Tasks()
    keeper = Keeper(house, options.limits, tasks)
    if inheritance is None:
        await keeper.come_back()
        listening = listen(options.socket)
    else:
        await inheritance.give_to(keeper)
        listening = socket.socket(fileno=inheritance.listening)
    await _serve(options, keeper, listening, tasks, ready)
    house.close()


async def _serve(options: Options, keeper: Keeper, listening: socket.socket, tasks: Tasks, ready: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, over.set)

    async def reexec(ask: int) -> None:
        await become_anew(options, keeper, reception, listening, ask)

    reception = Reception(keeper, Files(options.roots), version(), reexec)
    server = await loop.create_unix_server(reception.conversation, sock=listening)
    tasks.begin(reception.count_now_and_then(), "accounts")
    tasks.begin(_end_when_idle(options, keeper, reception, over), "idleness")
    ready()
    log.info("listening at %s (pid %d)", options.socket, os.getpid())
    await over.wait()
    log.info("ending")
    server.close()
    await keeper.stop_all(options.patience)
    await _let_the_hub_hear(reception)
    reception.end_all()
    await tasks.close()
    await keeper.close()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(options.socket)


async def _let_the_hub_hear(reception: Reception) -> None:
    """The last lines and ends, bounded: what it does not hear now it gets from the spool, of the next life."""
    loop = asyncio.get_running_loop()
    until = loop.time() + 1.0
    while reception.hub is not None and not reception.hub.all_told and loop.time() < until:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)


async def _end_when_idle(options: Options, keeper: Keeper, reception: Reception, over: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    busy_until = loop.time()
    while options.idle_exit > 0:
        await asyncio.sleep(min(LOOK_AT_IDLENESS, options.idle_exit / 4))
        if reception.hub is not None or keeper.anyone_alive:
            busy_until = loop.time()
        elif loop.time() - max(busy_until, reception.alone_since) >= options.idle_exit:
            log.info("no hub and no CLI for %g s", options.idle_exit)
            over.set()
            return


def listen(path: str) -> socket.socket:
    """Bound 0600. A socket that nobody listens at any more is replaced; one that somebody does is not. Raises ``LinkBroken``."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with reachable(path) as name:
            _remove_stale(name)
            listening.bind(name)
        listening.listen(64)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise LinkBroken(f"the runner can't listen at {path}: {error.strerror or error}") from error
    except LinkBroken:
        listening.close()
        raise
    finally:
        os.umask(before)
    return listening


def _remove_stale(path: str) -> None:
    if not os.path.lexists(path):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            os.unlink(path)
            return
    raise Taken("another runner listens there")


def version() -> str:
    """Of the package that this process runs."""
    return str(getattr(sys.modules["ropewalk"], "__version__", ""))
