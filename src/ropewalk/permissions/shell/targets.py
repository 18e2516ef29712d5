"""What a redirect opens. A name that is not known, a device that is a network, a here-document's text are said as such."""

from __future__ import annotations

import re

from ropewalk.permissions.shell.model import Part
from ropewalk.permissions.shell.tree import Redirect

_DUPLICATE = re.compile(r"[0-9]?-|[0-9]+")
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/fd/1", "/dev/fd/2"})
_BOTH = frozenset({"<>"})
_READING = frozenset({"<", "<<<", "<&"})


def redirect_part(redirect: Redirect, folder: str | None, inner: bool) -> Part:
    if redirect.body is not None:
        text = f"{redirect.text}\n{redirect.body}"
        return Part("heredoc", text, understood_files=True, doubt=redirect.doubt, folder=folder, inner=inner)
    target, op = redirect.target, redirect.op
    doubt = redirect.doubt or _doubt(redirect)
    if op == "<<<":
        return Part("heredoc", redirect.text, (target,), understood_files=True, doubt=doubt, folder=folder, inner=inner)
    name = target.text
    if (op in (">&", "<&") and target.exact and _DUPLICATE.fullmatch(name)) or name in _NOWHERE:
        return Part(
            "redirect", redirect.text, (target,), understood_files=True, doubt=doubt, folder=folder, inner=inner, harmless=True
        )
    if name.startswith(("<(", ">(")) and not target.exact:
        return Part("redirect", redirect.text, understood_files=True, doubt=doubt, folder=folder, inner=inner, harmless=True)
    reads = (name,) if op in _READING or op in _BOTH else ()
    writes = (name,) if op not in _READING else ()
    return Part("redirect", redirect.text, (target,), reads, writes, target.exact, doubt=doubt, folder=folder, inner=inner)


def _doubt(redirect: Redirect) -> str:
    target = redirect.target
    if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
        return f"bash opens a network connection for {target.text}"
    if target.exact or redirect.op == "<<<" or target.text.startswith(("<(", ">(")):
        return ""
    return f"which file “{target.text}” is can't be told"
