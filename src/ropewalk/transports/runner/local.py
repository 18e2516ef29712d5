"""The local runner: found over its socket, or started detached so that it outlives us. Refuses folders that others may write to.

Started as ``python -m ropewalk.runner``; nothing of it is imported here.
"""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ropewalk.errors import LinkBroken, UsageError
from ropewalk.transports.runner.socket_path import reachable

LARGEST_LOG = 1024 * 1024
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
KEPT_BEGINNINGS = ("LC_", "PYTHON", "XDG_")
"""The runner's own environment. A CLI gets none of it: the hub says what each of them sees."""


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Where the local runner of one state folder lives."""

    folder: str

    @classmethod
    def at(cls, folder: str | os.PathLike[str]) -> LocalRunner:
        return cls(os.path.abspath(folder))

    @property
    def socket(self) -> str:
        return os.path.join(self.folder, "runner.sock")

    @property
    def spool(self) -> str:
        return os.path.join(self.folder, "spool")

    @property
    def log(self) -> str:
        return os.path.join(self.folder, "runner.log")


async def spawn_local_runner(
    folder: str | os.PathLike[str],
    *,
    timeout: float = 20.0,
    options: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> LocalRunner:
    """A runner listens when this returns: the one that was there, or a new one. ``folder`` is made 0700 if it is missing.

    ``options`` are words for ``python -m ropewalk.runner`` (``--root=…``, ``--spool-limit=…``, ``--idle-exit=…``). Raises
    ``LinkBroken`` with the end of its log, or ``UsageError`` for a folder that is not ours alone.
    """
    place = LocalRunner.at(folder)
    if await _answers(place.socket):
        return place
    await asyncio.to_thread(own_folder, place.folder)
    try:
        async with asyncio.timeout(timeout):
            await asyncio.to_thread(_launch, place, options, os.environ if environ is None else environ, timeout)
            while not await _answers(place.socket):  # noqa: ASYNC110 - another hub was quicker: its runner holds the lock and will listen soon
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise LinkBroken(f"the local runner does not listen after {timeout:g} s: {_last_words(place.log)}") from None
    return place


def own_folder(folder: str) -> None:
    """Make it (0700), or check that it is a folder of ours that nobody else may touch. Raises ``UsageError``."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UsageError(f"{folder} is a link, or not a folder of this user; choose another one")
    if found.st_mode & 0o077:
        raise UsageError(f"{folder} is open to other users; close it with: chmod 700 {folder}")


def _launch(place: LocalRunner, options: Sequence[str], environ: Mapping[str, str], timeout: float) -> None:
    """Blocks until the second of its two processes listens; the first is then gone, and nobody is left for us to wait for."""
    _turn_over(place.log)
    log = os.open(place.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    words = [sys.executable, "-m", "ropewalk.runner", f"--socket={place.socket}", f"--spool={place.spool}", "--detach", *options]
    kept = {name: value for name, value in environ.items() if name in KEPT or name.startswith(KEPT_BEGINNINGS)}
    try:
        code = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=kept,
            start_new_session=True,
            check=False,
            timeout=timeout,
        ).returncode
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    except OSError as error:
        raise LinkBroken(f"the local runner could not be started: {error}") from error
    finally:
        os.close(log)
    if code != 0:
        raise LinkBroken(f"the local runner could not be started (code {code}): {_last_words(place.log)}")


def _turn_over(log: str) -> None:
    """One older log is kept."""
    if os.path.exists(log) and os.path.getsize(log) > LARGEST_LOG:
        os.replace(log, f"{log}.1")


def _last_words(log: str) -> str:
    with open(log, "rb") as file:
        file.seek(max(0, os.path.getsize(log) - 2000))
        return file.read().decode("utf-8", "replace").strip() or "it left no words"


async def _answers(socket: str) -> bool:
    """Whether somebody accepts there. The connection is closed at once: no hello, no change."""
    try:
        with reachable(socket) as path:
            _, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return False
    writer.close()
    return True
