"""The spool's folder: ours alone, one runner at a time, with its id and the highest epoch that was ever heard. Starts nothing."""

from __future__ import annotations

import fcntl
import os

from ropewalk.errors import LinkBroken, UsageError
from ropewalk.runner.about import write_whole
from ropewalk.transports.runner.local import own_folder

LOCK, ID, EPOCH, PROCESSES = "lock", "id", "epoch", "processes"


class Taken(LinkBroken):
    """Another runner serves this folder."""


class House:
    """Holds the lock from being made until ``close``, over a re-exec too (``lock`` is then the inherited descriptor)."""

    def __init__(self, folder: str, lock: int | None = None) -> None:
        own_folder(folder)
        self.folder = os.path.realpath(folder)
        self.lock = _locked(os.path.join(self.folder, LOCK)) if lock is None else lock
        self.processes = os.path.join(self.folder, PROCESSES)
        own_folder(self.processes)
        self.id = self._read(ID) or self._new_id()
        epoch = self._read(EPOCH)
        self.epoch = int(epoch) if epoch.isdecimal() else 0  # lost in a power cut: each hub's own is higher than any before

    def raise_epoch(self, epoch: int) -> None:
        """Remember it before anything is done in its name. Raises ``OSError``."""
        if epoch > self.epoch:
            write_whole(os.path.join(self.folder, EPOCH), str(epoch).encode())
            self.epoch = epoch

    def marker(self, process: str) -> str:
        """What a CLI carries in its environment (``ROPEWALK_PROCESS``). It names this very spool, too: what another state
        folder's runner has started is never taken for ours, whatever ids their hubs give."""
        return f"{self.id}:{process}"

    def folder_of(self, process: str) -> str:
        return os.path.join(self.processes, process)

    def known(self) -> list[str]:
        """The ids of processes of earlier lives."""
        return sorted(os.listdir(self.processes))

    def close(self) -> None:
        os.close(self.lock)

    def _read(self, name: str) -> str:
        try:
            with open(os.path.join(self.folder, name), encoding="ascii") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{os.path.join(self.folder, name)} can't be read: {error}") from error

    def _new_id(self) -> str:
        made = os.urandom(12).hex()
        write_whole(os.path.join(self.folder, ID), made.encode())
        return made


def _locked(path: str) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Taken(f"another runner serves {os.path.dirname(path)}") from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor
