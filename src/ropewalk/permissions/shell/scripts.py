"""The little languages of sed and awk, read just far enough to say: this one only prints. Everything else is not plain."""

from __future__ import annotations

import re

_LONGEST = 4_000
_SKIP = re.compile(r"[\s;]*")
_BLANK = re.compile(r"[ \t]*")
_NUMBER = re.compile(r"[0-9]+|\$")
_SECOND = re.compile(r"[ \t]*[,~][ \t]*[+~]?")
_WORDS = {"b": r"[ \t]*[A-Za-z0-9_]*", "t": r"[ \t]*[A-Za-z0-9_]*", "T": r"[ \t]*[A-Za-z0-9_]*", ":": r"[ \t]*[A-Za-z0-9_]+"}
_SED_WORDS = {letter: re.compile(pattern) for letter, pattern in _WORDS.items()}
_SED_WORDS.update({letter: re.compile(r"[ \t]*[0-9]*") for letter in "lqQL"})
_SED_WORDS.update({letter: re.compile("") for letter in "pdPDgGhHxnN=zF{}"})
_SED_WORDS.update({letter: re.compile(r"[^\n\\]*(?=\n|\Z)") for letter in "aic#"})
_FLAGS = re.compile(r"[gpiIm0-9]*")
_AFTER = re.compile(r"[ \t]*(?=[;\n}]|\Z)|(?<=[{}])")


def sed_is_plain(script: str) -> bool:
    """Only commands that edit the stream: no w, W, r, R, e, and no flag w or e of s."""
    pos, end = 0, len(script)
    if end > _LONGEST:
        return False
    while (pos := _end(_SKIP, script, pos)) < end:
        place = _sed_command(script, _sed_address(script, pos))
        if place < 0 or not (after := _AFTER.match(script, place)):
            return False
        pos = after.end()
    return True


def _end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    found = pattern.match(text, pos)
    return found.end() if found is not None else pos


def _sed_address(script: str, pos: int) -> int:
    """Behind the addresses and ``!``; -1 when they can't be read."""
    pos = _one_address(script, pos)
    second = _SECOND.match(script, pos) if pos >= 0 else None
    if second is not None:
        pos = _one_address(script, second.end())
    if pos < 0:
        return -1
    pos = _end(_BLANK, script, pos)
    return _end(_BLANK, script, pos + 1) if script.startswith("!", pos) else pos


def _one_address(script: str, pos: int) -> int:
    if script.startswith("/", pos):
        pos = _delimited(script, pos + 1, "/")
        return pos + 1 if pos >= 0 and script.startswith("I", pos) else pos
    return _end(_NUMBER, script, pos)


def _sed_command(script: str, pos: int) -> int:
    """Behind one command; -1 when it is none that only edits."""
    if pos < 0 or pos >= len(script):
        return -1
    letter = script[pos]
    if letter in "sy":
        mark = script[pos + 1 : pos + 2]
        if not mark or mark.isalnum() or mark in "\\\n; {}":
            return -1
        pos = _delimited(script, pos + 2, mark)
        pos = _delimited(script, pos, mark) if pos >= 0 else -1
        return _end(_FLAGS, script, pos) if pos >= 0 and letter == "s" else pos
    if letter not in _SED_WORDS:
        return -1
    found = _SED_WORDS[letter].match(script, pos + 1)
    return found.end() if found is not None else -1


def _delimited(script: str, pos: int, mark: str) -> int:
    """Behind the next unescaped mark; seds disagree on marks in square brackets and on newlines: -1."""
    start = pos
    while pos < len(script):
        char = script[pos]
        if char == "\n":
            return -1
        if char == mark:
            body = script[start:pos]
            return -1 if body.rfind("[") > body.rfind("]") else pos + 1
        pos += 2 if char == "\\" else 1
    return -1


_AWK_ACTS = re.compile(r"\|(?!\|)|@|#|`|\bsystem\b|\bgetline\b|\bENVIRON\b|\bPROCINFO\b|\bARGV\b|\bARGC\b")
_KEYWORD = re.compile(r"(?:print|printf|return|in|else|do|while|if|delete|case|exit)[ \t]*$")
_BEFORE_REGEX = frozenset("{(,;!&|~\n}")


def awk_is_plain(script: str) -> bool:
    """It only computes and prints: no system, no pipe, no getline, no > behind print, nothing that can't be told apart."""
    if len(script) > _LONGEST:
        return False
    bare = _without_texts(script)
    return bare is not None and not _AWK_ACTS.search(bare.replace("||", "  ")) and not _awk_redirects(bare)


def _without_texts(script: str) -> str | None:
    """Strings and regular expressions taken out; None when a slash could be either a division or a beginning."""
    out: list[str] = []
    pos, last = 0, "\n"
    while pos < len(script):
        char = script[pos]
        if char == '"' or (char == "/" and last in _BEFORE_REGEX):
            close = _delimited(script, pos + 1, char)
            if close < 0 or (char == "/" and '"' in script[pos:close]):
                return None
            pos, last = close, "x"
            out.append("x")
            continue
        if char == "/" and _KEYWORD.search("".join(out[-9:])):
            return None
        if char == "/" and '"' in script[pos + 1 :].partition("/")[0] and "/" in script[pos + 1 :]:
            return None
        if char == "\\":
            return None
        out.append(char)
        last = last if char in " \t" else char
        pos += 1
    return "".join(out)


def _awk_redirects(bare: str) -> bool:
    """A > inside braces and outside brackets; in a pattern and in brackets it compares."""
    braces = brackets = 0
    for char in bare:
        braces += (char == "{") - (char == "}")
        brackets += (char == "(") - (char == ")")
        if char == ">" and braces and not brackets:
            return True
    return braces != 0 or brackets != 0
