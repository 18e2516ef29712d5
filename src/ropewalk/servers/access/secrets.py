"""Secrets: made, hashed, and the one that lies in a file. Refuses folders and files that another user could have touched."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from pathlib import Path

from ...errors import UsageError
from ...events.ids import ALPHABET

PREFIX = "rw_"
"""So that scanners for leaked secrets, and people, know what it is."""
CODE_LETTERS = 8
"""8 × 5 = 40 bits. With at most five looks a second and ten minutes of life a guess succeeds once in 360 million."""
_LOOKALIKES = str.maketrans("oilu", "011v")


def new_secret() -> str:
    """256 bits, as one word."""
    return PREFIX + secrets.token_urlsafe(32)


def new_code() -> str:
    """Short enough to type on a phone: ``k7f2-mq9d``."""
    letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
    return f"{letters[:4]}-{letters[4:]}"


def plain_code(typed: str) -> str:
    """A code as people type it: any case, with or without the dash, an O for a zero."""
    letters = "".join(typed.split()).replace("-", "").lower()
    return letters.translate(_LOOKALIKES)


def hash_of(secret: str) -> str:
    """Enough for random secrets of 256 bits: there is nothing to guess that salt or slowness would protect."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def check_folder(folder: Path) -> None:
    """Make it, or make sure that it is ours alone. Raises ``UsageError`` with what to do."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        link, found = folder.lstat(), folder.stat()
    except OSError as error:
        raise UsageError(f"the folder {folder} can't be used: {error.strerror}; name another with ROPEWALK_HOME") from None
    if link.st_uid != os.geteuid() or found.st_uid != os.geteuid():
        raise UsageError(f"the folder {folder} belongs to another user; name one of yours with ROPEWALK_HOME")
    if not stat.S_ISDIR(found.st_mode):
        raise UsageError(f"{folder} is no folder; move it away or name another with ROPEWALK_HOME")
    if found.st_mode & 0o022:
        raise UsageError(f"others can write to {folder}, so tokens are not safe there; chmod 700 it, then look at what is inside")
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def read_secret(path: Path) -> str | None:
    """The secret in the file; None: there is no such file. Raises ``UsageError`` when others may have read or written it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}; move it away, and the next start makes a new token") from None
    with open(descriptor, encoding="utf-8", errors="replace") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise UsageError(f"others could read {path}; delete it, and the next start makes a new token")
        return file.read(4096).strip()


def write_secret(path: Path, secret: str) -> None:
    """0600 from its first byte; replaces what was there, a planted link too, and never writes through one."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(secret + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(
            f"{path} can't be written: {error.strerror}; make room or name another folder with ROPEWALK_HOME"
        ) from None
