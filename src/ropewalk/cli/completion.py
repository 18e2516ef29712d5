"""Completion scripts, written from the commands themselves. Refuses to start Python at each Tab, but where an id belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from .asked import CHOICES
from .pages import PAGES

SHELLS = ("bash", "zsh", "fish")
MODELS = ("opus", "sonnet", "haiku")
FILES = ("--cli", "--record", "--sim", "--rules")
FOLDERS = ("--cwd", "--in")
LIVE = {
    "sessions": ("show", "prompt", "interrupt", "stop", "wake", "logs"),
    "questions": ("answer",),
    "tokens": ("token revoke",),
    "rules": ("rules rm",),
}
"""What the hub is asked for, and the commands whose first word it is."""

Tree = Mapping[str, Sequence[str]]
"""Words of a command (``run``, ``sim model``) → what may stand behind them."""


def script_for(shell: str, command: Any) -> str:
    """The script for one shell. Raises ``UsageError`` for a shell that we don't know."""
    if shell not in SHELLS:
        raise UsageError(f"no completion for {shell!r}; there are {', '.join(SHELLS)}")
    tree = {path: words for path, words in _walk(command, "")}
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](tree)


def values() -> dict[str, Sequence[str]]:
    """Options whose value is one of a few words."""
    chosen = {f"--{name.replace('_', '-')}": known for name, known in CHOICES.items()}
    return {**chosen, "--model": MODELS}


def _walk(command: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    options = [option for param in command.params for option in param.opts if option.startswith("-")]
    below = getattr(command, "commands", {})
    words = [*below, *options, "--help"]
    if path == "help":
        words = [name for name in PAGES if name and " " not in name]
    if path == "completion":
        words = list(SHELLS)
    yield path, words
    for name, child in below.items():
        yield from _walk(child, f"{path} {name}".strip())


def _bash(tree: Tree) -> str:
    cases = "\n".join(f'    "{path}") offers="{" ".join(words)}" ;;' for path, words in tree.items())
    choices = "\n".join(f'    {option}) offers="{" ".join(known)}" ;;' for option, known in values().items())
    live = "\n".join(f"    {'|'.join(map(_quoted, paths))}) live={kind} ;;" for kind, paths in LIVE.items())
    return f"""\
# bash completion for ropewalk: eval "$(ropewalk completion bash)"
_ropewalk() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" where="" offers="" live="" word
  for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}"; do
    case "$where $word" in {" | ".join(f'"{_spaced(path)}"' for path in tree if path)}) where="${{where:+$where }}$word" ;; esac
  done
  case "$where" in
{cases}
  esac
  case "$where" in
{live}
  esac
  if [ -n "$live" ] && [ "$previous" = "${{where##* }}" ] && [ "${{current#-}}" = "$current" ]; then
    local id words found=() shown=()
    while IFS=$'\\t' read -r id words; do
      if [ "${{id#"$current"}}" != "$id" ] || [ -z "$current" ]; then found+=("$id"); shown+=("$id  $words"); fi
    done < <(ropewalk __complete "$live" 2>/dev/null)
    compopt +o default 2>/dev/null
    COMPREPLY=("${{found[@]}}")
    if [ -n "$BASH_VERSION" ] && [ "${{#found[@]}}" -gt 1 ]; then COMPREPLY=("${{shown[@]}}"); fi
    return
  fi
  case "$previous" in
{choices}
    {"|".join(FOLDERS)}) COMPREPLY=($(compgen -d -- "$current")); return ;;
    {"|".join(FILES)}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  COMPREPLY=($(compgen -W "$offers" -- "$current"))
}}
complete -o default -F _ropewalk ropewalk
"""


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def _spaced(path: str) -> str:
    """``sim model`` is reached from ``sim`` by ``model``; the first word from nothing."""
    return path if " " in path else f" {path}"


def _zsh(tree: Tree) -> str:
    """zsh runs bash's by its own bridge."""
    return '# zsh completion for ropewalk: eval "$(ropewalk completion zsh)"\nautoload -U +X compinit && compinit -u\n' + (
        "autoload -U +X bashcompinit && bashcompinit\n" + _bash(tree).split("\n", 1)[1]
    )


def _fish(tree: Tree) -> str:
    rows = ["# fish completion for ropewalk: ropewalk completion fish | source", "complete -c ropewalk -f"]
    for path, words in tree.items():
        seen = [f"__fish_seen_subcommand_from {word}" for word in path.split()]
        where = "; and ".join(seen) or "__fish_use_subcommand"
        rows += [f"complete -c ropewalk -n '{where}' {_fish_word(word)}" for word in words]
    for kind, paths in LIVE.items():
        for path in paths:
            where = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in path.split())
            rows.append(f"complete -c ropewalk -n '{where}' -k -a '(ropewalk __complete {kind} 2>/dev/null)'")
    return "\n".join(rows) + "\n"


def _fish_word(word: str) -> str:
    known = values().get(word)
    if word in FOLDERS:
        return f"-l {word[2:]} -x -a '(__fish_complete_directories)'"
    if word in FILES:
        return f"-l {word[2:]} -r -F"
    if word.startswith("--"):
        return f"-l {word[2:]}" + (f" -x -a '{' '.join(known)}'" if known else "")
    return f"-s {word[1:]}" if word.startswith("-") else f"-a {word}"
