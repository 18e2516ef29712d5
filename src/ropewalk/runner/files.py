"""Files of this machine for a hub: stat, resolve, capped read, list, put. Plain files in allowed roots; no device, no /proc.

A name is resolved before it is judged, and what was opened is judged again: a link that is swapped in between leads nowhere.
All of it may block and belongs into a thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from ropewalk.errors import UsageError
from ropewalk.transports.frames import LARGEST_LINE, FileStat

MOST_BYTES = 16 * 1024 * 1024
"""In one read; a larger file is read in parts."""
MOST_ENTRIES = 10_000
KERNELS = ("/proc", "/sys", "/dev")
"""No files of anybody's: what stands there can hold secrets of processes, or never end."""
LOOKED_AT = 8192
"""Bytes in which a NUL makes a file binary."""


class Files:
    """``roots``: resolved folders in which everything must lie; none means everywhere."""

    def __init__(self, roots: Sequence[str] = ()) -> None:
        self._roots = tuple(os.path.realpath(root) for root in roots)

    def stat(self, path: str) -> FileStat | None:
        resolved = self._allowed(path)
        try:
            return _stat_of(resolved, os.stat(resolved))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _words(path, error) from error

    def resolve(self, base: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Everywhere: where a name leads is what a verdict rests on, also outside of the roots."""
        try:
            return tuple(_text(os.path.realpath(os.path.join(base, path))) for path in paths)
        except (OSError, ValueError) as error:
            raise UsageError(f"a name can't be resolved: {error}") from error

    def read(self, path: str, offset: int, cap: int) -> tuple[FileStat, bool, bytes]:
        """The file's stat, whether it is binary, and the part."""
        resolved = self._allowed(path)
        try:
            descriptor = os.open(resolved, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise _words(path, error) from error
        try:
            self._judge_opened(descriptor, path)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise UsageError(f"{path} is a {_kind(found.st_mode)}, not a plain file")
            binary = b"\0" in os.pread(descriptor, LOOKED_AT, 0)
            part = os.pread(descriptor, max(0, min(cap, MOST_BYTES)), max(0, offset))
            return _stat_of(resolved, found), binary, part
        except OSError as error:
            raise _words(path, error) from error
        finally:
            os.close(descriptor)

    def list(self, path: str, cap: int) -> tuple[str, list[FileStat], bool]:
        """The resolved folder, its entries by name, and whether there are more."""
        resolved = self._allowed(path)
        most = max(0, min(cap, MOST_ENTRIES))
        try:
            with os.scandir(resolved) as entries:
                names = sorted(entry.name for entry, _ in zip(entries, range(MOST_ENTRIES + 1), strict=False))
        except OSError as error:
            raise _words(path, error) from error
        listed = [found for name in names[:most] if (found := _entry(os.path.join(resolved, name))) is not None]
        return _text(resolved), listed, len(names) > most

    def put(self, path: str, content: bytes, *, exclusive: bool, mode: int, folders: bool) -> FileStat:
        """Whole or not at all; a link that stands there is refused, not followed."""
        if len(content) > LARGEST_LINE:
            raise UsageError(f"{len(content)} bytes are too many for one file ({LARGEST_LINE} at most)")
        folder, name = os.path.split(os.path.abspath(path))
        if not name or not os.path.isabs(path):
            raise UsageError(f"{path} is not the full name of a file")
        parent = self._allowed(folder)
        try:
            if folders:
                os.makedirs(parent, mode=0o700, exist_ok=True)
            descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise _words(folder, error) from error
        try:
            self._judge_opened(descriptor, folder)
            _put_in(descriptor, name, content, exclusive, mode & 0o777)
            return _stat_of(os.path.join(parent, name), os.stat(name, dir_fd=descriptor, follow_symlinks=False))
        except FileExistsError:
            raise UsageError(f"{path} exists already") from None
        except OSError as error:
            raise _words(path, error) from error
        finally:
            os.close(descriptor)

    def _allowed(self, path: str) -> str:
        """Where it leads, if one may go there."""
        if "\0" in path or not os.path.isabs(path):
            raise UsageError(f"{path[:200]!r} is not the full name of a file")
        resolved = os.path.realpath(path)
        self._judge(resolved, path)
        return resolved

    def _judge(self, resolved: str, asked: str) -> None:
        if any(_inside(resolved, kernels) for kernels in KERNELS):
            raise UsageError(f"{asked} lies in {resolved.split(os.sep)[1]}, where nothing is read or written")
        if self._roots and not any(_inside(resolved, root) for root in self._roots):
            raise UsageError(f"{asked} lies outside of the folders that this runner may use")

    def _judge_opened(self, descriptor: int, asked: str) -> None:
        try:
            really = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:  # no /proc: O_NOFOLLOW on the resolved name is what there is
            return
        self._judge(really.removesuffix(" (deleted)"), asked)


def _put_in(folder: int, name: str, content: bytes, exclusive: bool, mode: int) -> None:
    part = f".{name[:100]}.{os.urandom(6).hex()}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        if exclusive:
            os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(part, dir_fd=folder)
            return
        if _is_link(name, folder):
            raise UsageError(f"{name} is a link; it is not written through")
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(part, dir_fd=folder)
        raise


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _entry(path: str) -> FileStat | None:
    try:
        return _stat_of(path, os.lstat(path))
    except OSError:
        return None


def _stat_of(path: str, found: os.stat_result) -> FileStat:
    return FileStat(_text(path), _kind(found.st_mode), found.st_size, found.st_mtime, stat.S_IMODE(found.st_mode))


def _text(path: str) -> str:
    """A name that can be sent: bytes that are no UTF-8 are shown as such."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _words(path: str, error: OSError) -> UsageError:
    return UsageError(f"{path}: {error.strerror or error}")
