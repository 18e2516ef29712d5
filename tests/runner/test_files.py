"""Files of the runner's machine: plain ones, inside the roots, capped; everything else is refused in words."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ropewalk.errors import UsageError
from ropewalk.runner.files import MOST_BYTES, Files
from tests.runner.world import World, world_in


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "inside-evil").mkdir()
    return folder


@pytest.fixture
def files(inside: Path) -> Files:
    return Files([str(inside)])


def test_a_part_of_a_file_is_read_with_its_whole_size(files: Files, inside: Path) -> None:
    """ours: capped; large ones in parts."""
    (inside / "a").write_bytes(b"0123456789")
    stat, binary, part = files.read(str(inside / "a"), 3, 4)
    assert (stat.size, binary, part) == (10, False, b"3456")
    assert files.read(str(inside / "a"), 50, 4)[2] == b""


def test_a_huge_file_is_capped_however_much_is_asked_for(files: Files, inside: Path) -> None:
    """ours (S14)."""
    with open(inside / "huge", "wb") as file:
        file.truncate(10**10)
    stat, binary, part = files.read(str(inside / "huge"), 0, 10**10)
    assert (stat.size, binary, len(part)) == (10**10, True, MOST_BYTES)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(path.parent)
        listening.bind(path.name)
        os.chdir(here)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.mkdir()


def _environment(path: Path) -> None:
    path.symlink_to("/proc/self/environ")


def _outside(path: Path) -> None:
    (path.parent.parent / "outside" / "secret").write_text("secret")
    path.symlink_to(path.parent.parent / "outside" / "secret")


def _nothing(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("make", [_fifo, _socket, _device, _folder, _environment, _outside, _nothing])
def test_what_is_no_plain_file_of_the_roots_is_refused_at_once(files: Files, inside: Path, make: object) -> None:
    """ours (S13, S14): pipes, devices, /proc, links that lead out; none of them may hang or leak."""
    assert callable(make)
    make(inside / "x")
    with pytest.raises(UsageError):
        files.read(str(inside / "x"), 0, 100)


def test_the_roots_hold_by_whole_names_and_after_resolving(files: Files, inside: Path) -> None:
    """CVE-2025-54794: a prefix of letters is no folder; dots lead where they lead."""
    for path in (inside.parent / "inside-evil" / "f", inside / ".." / "outside" / "f"):
        with pytest.raises(UsageError, match="outside of the folders"):
            files.stat(str(path))
    with pytest.raises(UsageError, match="full name"):
        files.stat("relative")
    assert files.stat(str(inside / "none")) is None


def test_a_name_is_resolved_also_where_its_end_does_not_exist(inside: Path) -> None:
    """ours: what a verdict rests on; outside of the roots too."""
    (inside / "link").symlink_to(inside.parent / "outside")
    resolved = Files([str(inside)]).resolve(str(inside), ["link/new/file", "../outside/x", "/etc/./passwd"])
    outside = str(inside.parent / "outside")
    assert resolved == (f"{outside}/new/file", f"{outside}/x", "/etc/passwd")


def test_a_folder_is_listed_by_name_and_says_when_there_is_more(files: Files, inside: Path) -> None:
    """ours: links are named as links, not followed; names that are no UTF-8 are shown."""
    for name in ("b", "a", "c"):
        (inside / name).touch()
    (inside / "d").symlink_to("/etc")
    (inside / os.fsdecode(b"e\xff")).touch()
    folder, entries, more = files.list(str(inside), 10)
    assert [(os.path.basename(entry.path), entry.kind) for entry in entries] == [
        ("a", "file"),
        ("b", "file"),
        ("c", "file"),
        ("d", "link"),
        ("e\ufffd", "file"),
    ]
    assert (folder, more) == (str(inside), False)
    assert files.list(str(inside), 2)[2] is True


def test_a_file_is_put_whole_and_only_where_nothing_stands(files: Files, inside: Path) -> None:
    """ours (S41): O_EXCL, O_NOFOLLOW, 0600; nothing half is ever seen."""
    put = files.put(str(inside / "new" / "f"), b"one", exclusive=True, mode=0o600, folders=True)
    assert (put.size, put.mode) == (3, 0o600)
    with pytest.raises(UsageError, match="exists already"):
        files.put(str(inside / "new" / "f"), b"two", exclusive=True, mode=0o600, folders=False)
    files.put(str(inside / "new" / "f"), b"three", exclusive=False, mode=0o600, folders=False)
    assert (inside / "new" / "f").read_bytes() == b"three"
    assert os.listdir(inside / "new") == ["f"]


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_planted_link_is_not_written_through(files: Files, inside: Path, exclusive: bool) -> None:
    """ours (S41)."""
    target = inside.parent / "outside" / "target"
    (inside / "f").symlink_to(target)
    (inside / "way").symlink_to(target.parent)
    with pytest.raises(UsageError):
        files.put(str(inside / "f"), b"x", exclusive=exclusive, mode=0o600, folders=False)
    with pytest.raises(UsageError, match="outside"):
        files.put(str(inside / "way" / "target"), b"x", exclusive=exclusive, mode=0o600, folders=True)
    assert not target.exists()
    assert sorted(os.listdir(inside)) == ["f", "way"]


async def test_all_of_it_is_asked_over_the_link_in_the_same_words(tmp_path: Path, inside: Path) -> None:
    """ours: the hub's side of the same verbs."""
    async with world_in(tmp_path, f"--root={inside}") as world:
        link = await world.hub()
        put = await link.files.put(str(inside / "a" / "f"), b"hello\0", folders=True)
        assert (put.path, put.size) == (str(inside / "a" / "f"), 6)
        assert await link.files.stat(str(inside / "a" / "f")) == put
        assert await link.files.stat(str(inside / "none")) is None
        part = await link.files.read(put.path, cap=2, offset=1)
        assert (part.size, part.offset, part.binary, part.data) == (6, 1, True, b"el")
        listing = await link.files.list(str(inside / "a"))
        assert ([entry.path for entry in listing.entries], listing.more) == ([put.path], False)
        assert await link.files.realpath("a/../b/new", str(inside)) == str(inside / "b" / "new")
        with pytest.raises(UsageError, match="outside of the folders"):
            await link.files.read("/etc/passwd")


async def test_a_name_that_can_not_be_sent_breaks_nothing(world: World) -> None:
    """ours: a lone surrogate in a name is the caller's mistake, not the link's end."""
    link = await world.hub()
    with pytest.raises(UsageError):
        await link.files.stat("/tmp/\ud83e")
    assert await link.files.stat("/") is not None
