"""Small programs that stand where the CLI stands, with children of every kind, and eyes on whether they live. Tests nothing."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from ropewalk.transports.descendants import is_there, stat_of
from ropewalk.transports.ladder import Graces
from ropewalk.transports.launch import Launch
from ropewalk.transports.stdio import StdioTransport
from tests.contract.listening import Ear, until

QUICK = Graces(terminate=0.3, survivors=0.3, quiet=0.2, quiet_at_most=0.6)

PRELUDE = '''
import os, signal, sys, time
ONE = "import os, time; open('{name}.part', 'w').write(str(os.getpid())); os.rename('{name}.part', '{name}'); time.sleep(9999)"
def note(name):
    """Tell the test who I am: whole or not at all."""
    with open(f"{name}.part", "w") as file: file.write(str(os.getpid()))
    os.rename(f"{name}.part", name)
def live():
    while True: time.sleep(60)
def child(name, *, session=False, twice=False, deaf=False, bare=False, pipes=True):
    """Fork one that lives for ever: own session, forked twice, ignoring TERM, with an empty environment, without our pipes."""
    if os.fork(): return
    if session: os.setsid()
    if twice and os.fork(): os._exit(0)
    if not pipes:
        for fd in (0, 1, 2): os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    if deaf: signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if bare:
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", ONE.format(name=name)], {})
    note(name)
    live()
def until_eof():
    while os.read(0, 65536): pass
'''


def python(folder: Path, program: str, **variables: str) -> Launch:
    """A CLI that is this program; ``PRELUDE``'s words may be used in it."""
    path = folder / f"cli-{hashlib.sha256(program.encode()).hexdigest()[:12]}.py"
    if not path.exists():  # others may be reading it
        path.write_text(PRELUDE + program)
    return Launch((sys.executable, "-I", "-S", str(path)), (), str(folder), variables)


async def started(folder: Path, program: str, ear: Ear | None = None, graces: Graces = QUICK) -> StdioTransport:
    transport = StdioTransport(python(folder, program), graces=graces)
    await transport.start(ear or Ear())
    return transport


class Life:
    """One process that wrote its pid into a file: whether it still runs, also when its pid has been given to another."""

    def __init__(self, pid: int) -> None:
        stat = stat_of(pid)
        assert stat is not None, f"{pid} died before it was looked at"
        self._seen = stat.seen
        self.pid = pid

    @property
    def goes_on(self) -> bool:
        return is_there(self._seen)


async def life_of(folder: Path, name: str) -> Life:
    await until((folder / name).exists, f"{name} to say who it is")
    return Life(int((folder / name).read_text()))


def end_by_hand(*lives: Life) -> None:
    """After a test that leaves somebody alive on purpose."""
    for life in lives:
        if life.goes_on:
            os.kill(life.pid, 9)
