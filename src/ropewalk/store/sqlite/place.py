"""The folder and file of a database: made private, checked, locked. Refuses, in words, what others could have laid there."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

from ropewalk.errors import StoreRefused

BESIDE = ("", "-wal", "-shm")
"""The files of one database."""
TOLD = ".told"
"""What was told of it: see ``witness``."""


def prepare(path: Path) -> None:
    """Make the folder (0700) and the file (0600) where they are missing. Raises ``StoreRefused``."""
    try:
        _prepare_folder(path.parent)
        for suffix in (*BESIDE, TOLD):
            _check_file(Path(f"{path}{suffix}"))
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR, 0o600))
        if (mode := stat.S_IMODE(os.stat(path).st_mode)) & 0o077:
            os.chmod(path, mode & 0o700)
    except OSError as error:
        raise StoreRefused(f"{path} can't be used: {error.strerror}") from error
    if not all(os.access(place, os.W_OK, effective_ids=True) for place in (path, path.parent)):
        raise StoreRefused(f"{path} can't be written; make it and its folder writable, or name another file")


def _prepare_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = os.lstat(folder)
    if stat.S_ISLNK(found.st_mode) and found.st_uid not in (0, os.geteuid()):
        raise StoreRefused(f"{folder} is a link that belongs to another user; name a folder of your own")
    found = os.stat(folder)
    if found.st_uid not in (0, os.geteuid()):
        raise StoreRefused(f"the folder {folder} belongs to another user; name one of your own")
    if found.st_mode & 0o022:
        raise StoreRefused(f"the folder {folder} can be written by others; run `chmod go-w {folder}`, or name another")


def _check_file(file: Path) -> None:
    try:
        found = os.lstat(file)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "no plain file"
        raise StoreRefused(f"{file} is {kind}; remove it, or name another file")
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise StoreRefused(f"{file} belongs to another user; name a file of your own")


class Lock:
    """One hub a file. Held by the kernel (flock) as long as this process lives; the file says to people who it is."""

    def __init__(self, path: Path) -> None:
        """Take it. Raises ``StoreRefused`` that names the process that has it."""
        file = Path(f"{path}.lock")
        try:
            self._fd = os.open(file, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreRefused(f"the lock {file} can't be opened: {error.strerror}; remove it if it is a link") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._fd, 200, 0).decode("utf-8", "replace").split()
            os.close(self._fd)
            who = f"process {holder[0]}" if holder else "another process"
            raise StoreRefused(f"{path} is in use by {who}; stop that hub first, or give this one another folder") from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()} {start_time(os.getpid())}\n".encode(), 0)

    def release(self) -> None:
        """The file stays: removing it would let two processes hold two files of one name."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)


def start_time(pid: int) -> str:
    """When a process began, in the kernel's ticks; with it a pid names one process. ``-`` where the kernel does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"


Identity = tuple[int, int]


def identity(path: str) -> Identity | None:
    """Which file stands there now; None: none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
