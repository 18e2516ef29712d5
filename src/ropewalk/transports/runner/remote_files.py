"""Files of the runner's machine, asked for over the link. Knows no disk itself; what may be seen is the runner's to say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ropewalk.errors import UsageError
from ropewalk.transports.frames import (
    LARGEST_LINE,
    FileIs,
    FileStat,
    FolderIs,
    Frame,
    ListFolder,
    PathsAre,
    PutFile,
    ReadFile,
    ResolvePaths,
    StatFile,
    StatIs,
)


@dataclass(frozen=True, slots=True)
class FileText:
    """A part of a file. ``size`` is the whole file's; ``binary``: it holds a NUL near its beginning."""

    path: str
    size: int
    offset: int
    binary: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Listing:
    """What stands in a folder, by name; ``more``: there is more than was asked for."""

    path: str
    entries: tuple[FileStat, ...]
    more: bool


class RemoteFiles:
    """Each call raises ``UsageError`` in the runner's words (outside of allowed roots, no regular file), or ``LinkBroken``."""

    def __init__(self, ask: Callable[..., Awaitable[Any]]) -> None:
        self._ask = ask

    async def stat(self, path: str) -> FileStat | None:
        """Where the name leads, links followed; None when nothing is there."""
        answer: StatIs = await self._ask(lambda ask: StatFile(ask, path), StatIs)
        return answer.stat

    async def realpaths(self, paths: Sequence[str], base: str = "/") -> tuple[str, ...]:
        """Where these names lead, links resolved; what does not exist yet is kept as the end of the name. Looks everywhere."""
        answer: PathsAre = await self._ask(lambda ask: ResolvePaths(ask, base, tuple(paths)), PathsAre)
        return answer.paths

    async def realpath(self, path: str, base: str = "/") -> str:
        return (await self.realpaths((path,), base))[0]

    async def read(self, path: str, cap: int = 1024 * 1024, offset: int = 0) -> FileText:
        """At most ``cap`` bytes from ``offset`` on. Regular files only."""

        def frame(ask: int) -> Frame:
            return ReadFile(ask, path, offset, cap)

        answer, payload = await self._ask(frame, FileIs, with_payload=True)
        return FileText(answer.path, answer.size, offset, answer.binary, payload)

    async def list(self, path: str, cap: int = 1000) -> Listing:
        answer: FolderIs = await self._ask(lambda ask: ListFolder(ask, path, cap), FolderIs)
        return Listing(answer.path, answer.entries, answer.more)

    async def put(self, path: str, data: bytes, *, exclusive: bool = True, mode: int = 0o600, folders: bool = False) -> FileStat:
        """Write it, whole or not at all. ``exclusive``: only where nothing stands; ``folders``: make missing ones (0700)."""
        if len(data) > LARGEST_LINE:
            raise UsageError(f"{len(data)} bytes are too many for one file over a runner's link ({LARGEST_LINE} at most)")
        answer: StatIs = await self._ask(lambda ask: PutFile(ask, path, exclusive, mode, folders), StatIs, payload=data)
        assert answer.stat is not None
        return answer.stat
