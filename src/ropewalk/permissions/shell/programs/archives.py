"""Archives and compression: which words are packed, which are written, and the options that hand work to other programs."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.program import Program, look, program

_RUNS = "runs a program"
_TAR = program(
    flags="-c -x -t -r -u -A -d -v -z -j -J -Z -p -k -m -O -P -S -h -l -W -w -a -B -i -n -o -s --create --extract --list "
    "--append --verbose "
    "--gzip --bzip2 --xz --zstd --preserve-permissions --keep-old-files --to-stdout --sparse --dereference --auto-compress "
    "--delete "
    "--no-same-owner --no-same-permissions --numeric-owner --wildcards --overwrite --skip-old-files --touch --absolute-names",
    values="-C -f -X -T -b -K -N -L -V -g -H --directory --file --exclude --exclude-from --files-from --strip-components "
    "--transform "
    "--xform --owner --group --mode --mtime --format --level --one-top-level --suffix --backup --sort --newer "
    "--blocking-factor",
    danger_values={
        "-I --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script -F --rsh-command "
        "--rmt-command": _RUNS
    },
    danger={"--checkpoint": "can be made to run a program"},
)


def _tar(words: tuple[Word, ...]) -> Found:
    """``tar xzf a.tgz``: the old way without a dash is the same letters."""
    if len(words) > 1 and words[1].exact and not words[1].text.startswith("-"):
        words = (words[0], Word("-" + words[1].text), *words[2:])
        letters = words[1].text[1:]
        found = look((words[0], *(Word("-" + letter) for letter in letters if letter in "IF"), *words[2:]), _TAR)
    else:
        found = look(words, _TAR)
        letters = "".join(word.text[1:] for word in words[1:] if word.text.startswith("-") and not word.text.startswith("--"))
    listing = "t" in letters and "x" not in letters and "c" not in letters
    if not listing and not any(word.text == "--list" for word in words):
        found.dangerous("tar writes the files of an archive, or an archive", "tar")
    if any(":" in word.text and not word.text.startswith(("-", "/", "./")) for word in words[1:]):
        found.dangerous("an archive behind a colon is on another machine, which tar reaches by running a program", ":")
    found.understood = False
    return found


_UNPACK = "writes the files of an archive"


def _writes(why: str) -> Callable[[tuple[Word, ...]], Found]:
    def looked(words: tuple[Word, ...]) -> Found:
        found = Found()
        found.dangerous(f"{words[0].text} {why}", words[0].text)
        return found

    return looked


def _gzip(words: tuple[Word, ...]) -> Found:
    """It replaces the file by its packed form, unless -c, -t or -l is there."""
    found = look(words, _GZIP)
    only_shows = any(word.text in ("-c", "-t", "-l", "--stdout", "--test", "--list", "-dc", "-cd") for word in words[1:])
    if not only_shows and "cat" not in words[0].text:
        found.writes.extend(found.reads)
    return found


_GZIP = program(
    flags="-c -d -f -h -k -l -n -N -q -r -t -v -z -e -9 --stdout --decompress --force --keep --list --no-name --quiet "
    "--recursive --test "
    "--verbose --fast --best --uncompress",
    values="-S -T --suffix --threads",
    writes="-o --output",
    operands="reads",
)

PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    **dict.fromkeys(names("tar gtar bsdtar"), _tar),
    **dict.fromkeys(names("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma compress pigz zcat bzcat xzcat zstdcat "
    "gzcat"), _gzip),
    **dict.fromkeys(names("zip"), program(danger={"-T --test": "can be made to run a program"},
                                    danger_values={"-TT --unzip-command": _RUNS}, also=lambda words, said,
                                        found: found.dangerous(
                                        "zip writes an archive", "zip"))),
    **dict.fromkeys(names("unzip 7z 7za 7zr unrar rar cpio ar pax unar jar"), _writes(_UNPACK)),
    "zipinfo": program(operands="reads"),
}  # fmt: skip
