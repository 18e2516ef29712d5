"""Programs that make, move, change and remove files: which of their words are written, which are only read."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.options import Given
from ropewalk.permissions.shell.program import Program, program

_LINKS = (
    "-f -i -n -r -s -v -b -L -P -T --force --interactive --no-dereference --relative --symbolic --verbose --no-target-directory"
)


def _target(words: tuple[Word, ...], said: Given, found: Found) -> None:
    """With -t the folder is named first, and every operand is a source."""
    target = [value for option, value in said.options if option.name in ("-t", "--target-directory") and value is not None]
    if target:
        found.reads.extend(found.writes)
        found.writes[:] = [target[0].text]


def _moved(words: tuple[Word, ...], said: Given, found: Found) -> None:
    """What is moved is gone from where it was."""
    _target(words, said, found)
    found.writes.extend(found.reads)


def _linked(words: tuple[Word, ...], said: Given, found: Found) -> None:
    _target(words, said, found)
    places = [name.rstrip("/").rpartition("/")[0] if len(found.reads) == 1 else name for name in found.writes]
    found.reads += [f"{place}/{name}" for place in places if place for name in found.reads if not name.startswith("/")]
    found.dangerous("a link lets one name stand for another file", words[0].text)


def _owner(words: tuple[Word, ...], said: Given, found: Found) -> None:
    """The first operand is the mode or the owner, unless it is taken from another file. A mode can look like options."""
    reference = any(option.name == "--reference" for option, _ in said.options)
    files = said.operands if reference or said.unknown else said.operands[1:]
    found.writes.extend(word.text for word in files)
    found.understood = all(word.exact for word in files) and not said.open
    if words[0].text == "chmod" and any("s" in word.text and "+" in word.text for word in words[1:]):
        found.dangerous("it lets others run a program with this user's rights", "+s")


def _dd(words: tuple[Word, ...]) -> Found:
    found = Found(understood=True)
    for word in words[1:]:
        name, _, value = word.text.partition("=")
        found.understood = found.understood and word.exact
        if not word.exact and "=" not in word.text:
            found.dangerous("dd could write to any file or device", "of=")
        if name == "if":
            found.reads.append(value)
        elif name == "of":
            found.writes.append(value)
            found.dangerous("of= writes a file or a device", "of=")
    return found


_COPY = program(
    danger={"-l -s --link --symbolic-link": "makes links, which let one name stand for another file"},
    flags="-a -b -d -f -i -L -n -p -P -r -R -T -u -v -x -X -c -H -Z --archive --force --interactive --no-clobber "
    "--recursive --update --verbose --one-file-system --no-target-directory --parents --attributes-only "
    "--dereference "
    "--no-dereference --remove-destination --strip-trailing-slashes",
    values="-S -t --suffix --target-directory",
    optional="--backup --preserve --no-preserve --reflink --sparse --context",
    operands="reads then one written",
    also=_target,
)
_MOVE = Program(_COPY.options, "reads then one written", _moved)

PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    **dict.fromkeys(names("cp gcp"), _COPY),
    **dict.fromkeys(names("mv gmv"), _MOVE),
    **dict.fromkeys(names("rm unlink rmdir shred trash srm"), program(
        flags="-d -f -i -I -r -R -v -P -W -x -p -u -z --recursive --force --verbose --dir --parents --one-file-system "
        "--no-preserve-root "
        "--preserve-root --ignore-fail-on-non-empty --remove --zero", values="-n -s --iterations --size",
            optional="--interactive",
        operands="writes")),
    "mkdir": program(flags="-p -v --parents --verbose", values="-m --mode", operands="writes"),
    "mktemp": program(flags="-d -q -u -t --directory --quiet --dry-run", values="-p --suffix", optional="--tmpdir",
        operands="nothing"),
    "touch": program(flags="-a -c -f -h -m --no-create --no-dereference", values="-d -t --date --time", reads="-r --reference",
                     operands="writes"),
    "truncate": program(flags="-c -o --no-create --io-blocks", values="-s --size", reads="-r --reference", operands="writes"),
    "fallocate": program(values="-l -o --length --offset", operands="writes"),
    "ln": program(flags=_LINKS, values="-S -t --suffix --target-directory", operands="reads then one written", also=_linked),
    "install": program(flags="-b -c -C -d -D -p -s -T -v --directory --compare --preserve-timestamps", values="-g -m -o -S "
    "-t --group "
                       "--mode --owner --suffix --target-directory", danger_values={"--strip-program": "runs a program"},
                       operands="reads then one written", also=_target),
    **dict.fromkeys(names("chmod chown chgrp chattr setfacl chflags"), program(
        flags="-c -f -v -R -h -H -L -P --changes --silent --quiet --verbose --recursive --no-dereference", reads="--reference",
        values="--from", operands="nothing", also=_owner)),
    "dd": _dd,
    **dict.fromkeys(names("mkfifo mknod"), program(values="-m --mode", operands="writes")),
    **dict.fromkeys(names("mount umount mkfs fdisk parted losetup swapon swapoff blkdiscard wipefs"), program(
        also=lambda words, said, found: found.dangerous(f"{words[0].text} changes disks", words[0].text))),
}  # fmt: skip
