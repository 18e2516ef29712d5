"""Which files a rule means: where it begins, its glob, and the names a file has. Refuses to look at the disk.

``//x`` begins at the machine's root, ``~/x`` at home, ``/x`` at the project's root, ``x`` at the session's folder.
Allow needs every name of a file (as given, and resolved); deny and ask are content with one.
"""

from __future__ import annotations

import re
from typing import Literal
from unicodedata import normalize

from msgspec import Struct

from ..errors import UsageError
from .globs import check_glob, escaped
from .request import Context

Anchor = Literal["absolute", "home", "root", "folder"]
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
OF_A_PROCESS = "where a process's own names lead depends on who looks"
_OF_A_PROCESS = re.compile(r"/proc/(?:self|thread-self|[^/]+)/(?:task/[^/]+/)?(?:cwd|root|fd|map_files)(?:/|$)")


class PathPattern(Struct, frozen=True):
    anchor: Anchor
    glob: str


def parse_path(text: str) -> PathPattern:
    """Raises `UsageError` with a sentence that says how to write it."""
    anchor, glob = _anchored(text)
    if not glob:
        raise UsageError(f"{text} names no file: write e.g. {text}** for everything below it")
    check_glob(glob)
    return PathPattern(anchor, glob)


def _anchored(text: str) -> tuple[Anchor, str]:
    if text.startswith("//"):
        return "absolute", text[2:]
    if text.startswith("/"):
        return "root", text[1:]
    if text.startswith("~/"):
        return "home", text[2:]
    if text.startswith("~"):
        raise UsageError("only one's own home can be written with ~: write ~/path, or //home/name/path")
    return "folder", text.removeprefix("./")


class Name(Struct, frozen=True, gc=False):
    """One file by its names. ``real`` is None where it could not be resolved."""

    shown: str
    given: str
    real: str | None
    doubt: str = ""
    """Why nobody can tell which file is meant."""


def normal(path: str) -> str:
    """An absolute name without ``.``, ``..``, empty segments and trailing slashes; letters composed."""
    if "/." not in path and "//" not in path and path.isascii() and not path.endswith("/"):
        return path
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return normalize("NFC", "/" + "/".join(kept))


def joined(path: str, folder: str, home: str = "") -> str:
    """Absolute, not normalised: the name that the runner resolves, and the key in `Context.resolved`."""
    if path.startswith("/"):
        return path
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return f"{folder.rstrip('/')}/{path}"


def name_of(path: str, folder: str, context: Context) -> Name:
    """The names of the file that ``path`` means in ``folder``."""
    whole = joined(path, folder, context.home)
    given = normal(whole)
    if _CONTROL.search(path) or not whole.startswith("/"):
        return Name(
            path, given, None, "its name holds a control character" if whole.startswith("/") else "its folder is not known"
        )
    if path.startswith("~") and not (context.home and path[1:2] in ("", "/")):
        return Name(path, given, None, f"whose folder {path.partition('/')[0]} is was not looked up")
    if given.startswith("/proc/") and _OF_A_PROCESS.match(given):
        return Name(path, given, None, OF_A_PROCESS)
    if context.resolved is None:
        return Name(path, given, given)
    real = context.resolved.get(whole)
    if real is None:
        return Name(path, given, None, "where it leads could not be found out")
    return Name(path, given, normal(real))


def bases(anchor: Anchor, cwd: str, context: Context) -> tuple[str, ...]:
    """Where rules of this kind begin: the folder by its own name and by its real one."""
    base = {"absolute": "/", "home": context.home, "root": context.root or cwd, "folder": cwd}[anchor]
    if not base:
        return ()
    real = context.resolved.get(base) if context.resolved else None
    given = normal(base)
    return (given, normal(real)) if real and normal(real) != given else (given,)


def below(name: str, base: str) -> str | None:
    """The rest of the name below that folder; empty for the folder itself, None outside. Never by the start of a word."""
    if base == "/":
        return name[1:]
    if name.startswith(base):
        if len(name) == len(base):
            return ""
        if name[len(base)] == "/":
            return name[len(base) + 1 :]
    return None


def inside(name: Name, cwd: str, context: Context) -> bool:
    """Whether all names of the file lie in the session's folder, the project or a folder that was added."""
    homes = {*bases("folder", cwd, context), *bases("root", cwd, context)}
    for folder in context.folders:
        real = context.resolved.get(folder) if context.resolved else None
        homes |= {normal(folder), normal(real) if real else normal(folder)}
    return all(found is not None and any(below(found, home) is not None for home in homes) for found in (name.given, name.real))


def pattern_for(name: str, cwd: str, home: str) -> str:
    """How a rule names exactly this file: relative to the session's folder where it lies in it, else from home or root."""
    rest = below(name, normal(cwd))
    if rest:
        return escaped(rest)
    rest = below(name, normal(home)) if home else None
    return f"~/{escaped(rest)}" if rest else f"//{escaped(name[1:])}"
