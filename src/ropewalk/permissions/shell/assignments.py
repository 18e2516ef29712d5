"""Which variables a command may set without changing what its programs do. Every other name is a doubt."""

from __future__ import annotations

import re

from ropewalk.permissions.shell.model import Word, names

_HARMLESS = frozenset(
    names(
        "LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI COLUMNS LINES NODE_ENV RAILS_ENV APP_ENV "
        "PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8 PYTHONHASHSEED RUST_BACKTRACE RUST_LOG "
        "CARGO_TERM_COLOR DEBUG VERBOSE LOG_LEVEL LOGLEVEL GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS CGO_ENABLED GOOS GOARCH "
        "DEBIAN_FRONTEND HUSKY TERM PORT HOST FORCE_TTY COLORTERM DO_NOT_TRACK TF_CPP_MIN_LOG_LEVEL"
    )
)
_PRIVATE = re.compile(r"[a-z]|[a-z][a-z0-9_]{1,30}")
_SPECIAL = re.compile(
    r".*_proxy|npm_.*|yarn_.*|pnpm_.*|pip_.*|git_.*|cargo_.*|dyld_.*|ld_.*|.*path|prompt.*|psvar|argv|status|pipestatus|"
    r"watch|watchfmt|histchars|fignore|signals|aliases|galiases|saliases|functions|commands|options|parameters|modules|"
    r"builtins|nameddirs|userdirs|jobtexts|history|reswords|dirstack|epochtime|words|cwd|home|term|keymap|zsh_.*|[a-z]+_functions"
)
_PLAIN = re.compile(r"[A-Za-z0-9_.,:@%+=*/ -]*")


def doubt_of_assignment(name: str, value: Word, alone: bool) -> str:
    """``alone``: for the rest of the script (``x=1``, ``for x in``), not for one command (``X=1 make``)."""
    if name.endswith("+"):
        return f"{name}= adds to a variable: what it holds then is not known"
    if name in _HARMLESS or name.startswith("LC_"):
        return "" if value.exact and _PLAIN.fullmatch(value.text) else f"an unusual value for {name}"
    if alone and is_private(name):
        return ""
    return f"setting {name} could change what the programs after it do"


def is_private(name: str) -> bool:
    """A short lower-case name, as loops use them: no program and no shell gives it a meaning."""
    return _PRIVATE.fullmatch(name) is not None and _SPECIAL.fullmatch(name) is None
