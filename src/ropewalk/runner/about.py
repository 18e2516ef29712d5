"""What is noted of each CLI beside its lines: a later life must know whom to look for. No environment, no arguments."""

from __future__ import annotations

import os
import re

import msgspec

from ropewalk.errors import UsageError
from ropewalk.transports.base import End

ABOUT, ENDED, KEYS = "about.json", "ended.json", "keys"
LEGAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class About(msgspec.Struct):
    """One CLI. ``family`` is who descended from it when last looked at: (pid, start time)."""

    process: str
    pid: int
    start_time: int
    boot_id: str
    claim: str
    cwd: str
    family: list[tuple[int, int]] = []


class EndNote(msgspec.Struct):
    code: int | None
    why: str
    stderr: tuple[str, ...]

    def end(self) -> End:
        return End(self.code, self.why, self.stderr)


def check_process_id(process: str) -> None:
    """Raise ``UsageError`` for an id that can't be a folder's name."""
    if not LEGAL.fullmatch(process):
        raise UsageError(f"the process id {process[:60]!r} is not made of letters, digits, '-', '_' and '.'")


def write_note(folder: str, name: str, note: msgspec.Struct) -> None:
    """Whole or not at all. Raises ``OSError``."""
    write_whole(os.path.join(folder, name), msgspec.json.encode(note))


def write_whole(path: str, content: bytes) -> None:
    """Whole or not at all, however this process dies. Not synced: a disk may take seconds for that, and after a power cut no
    CLI is left of which it would speak. Raises ``OSError``."""
    part = f"{path}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if os.write(descriptor, content) < len(content):
            raise OSError("the disk of the spool is full")
    finally:
        os.close(descriptor)
    os.replace(part, path)


def read_about(folder: str) -> About | None:
    """None when it is not there, or can't be read."""
    try:
        with open(os.path.join(folder, ABOUT), "rb") as file:
            return msgspec.json.decode(file.read(), type=About)
    except (OSError, msgspec.MsgspecError):
        return None


def read_end(folder: str) -> End | None:
    try:
        with open(os.path.join(folder, ENDED), "rb") as file:
            return msgspec.json.decode(file.read(), type=EndNote).end()
    except (OSError, msgspec.MsgspecError):
        return None


def boot_id() -> str:
    """Which life of the machine this is."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
