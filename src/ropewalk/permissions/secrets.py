"""The built-in rules: files with keys are denied, files that start programs asked. Ordinary ones; each can be switched off."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import lru_cache

from ..errors import UsageError
from .rules import Rule, parse_rule

TAG = "reads a secret"

GLOBS = {
    "env": ("//**/.env*", "settings with passwords"),
    "ssh": ("//**/.ssh/**", "keys of SSH"),
    "ssh-rsa": ("//**/id_rsa", "a private key"),
    "ssh-dsa": ("//**/id_dsa", "a private key"),
    "ssh-ecdsa": ("//**/id_ecdsa", "a private key"),
    "ssh-ed25519": ("//**/id_ed25519", "a private key"),
    "pem": ("//**/*.pem", "a key or certificate"),
    "p12": ("//**/*.p12", "a key store"),
    "pfx": ("//**/*.pfx", "a key store"),
    "aws": ("//**/.aws/**", "keys of a cloud account"),
    "gcloud": ("//**/.config/gcloud/**", "keys of a cloud account"),
    "azure": ("//**/.azure/**", "keys of a cloud account"),
    "kube": ("//**/.kube/config", "keys of a cluster"),
    "docker": ("//**/.docker/config.json", "keys of a registry"),
    "gnupg": ("//**/.gnupg/**", "private keys"),
    "npm": ("//**/.npmrc", "keys of a registry"),
    "pypi": ("//**/.pypirc", "keys of a registry"),
    "netrc": ("//**/.netrc", "passwords of hosts"),
    "git": ("//**/.git-credentials", "passwords of Git hosts"),
    "github": ("//**/.config/gh/hosts.yml", "keys of a Git host"),
    "pgpass": ("//**/.pgpass", "passwords of databases"),
    "claude": ("//**/.claude/.credentials.json", "Claude Code's own key"),
    "claude-json": ("//**/.claude.json", "Claude Code's own account"),
    "ropewalk": ("//**/.local/state/ropewalk/token", "the hub's own key"),
    "environ": ("//proc/**/environ", "another program's environment"),
    "memory": ("//proc/**/mem", "another program's memory"),
    "shadow": ("//etc/*shadow*", "passwords of this machine"),
}
"""Id → glob and what it keeps. The same for Read and Edit."""
STARTERS = {
    "git-hooks": ("//**/.git/hooks/**", "git runs it"),
    "git-config": ("//**/.git/config", "git runs programs that it names"),
    "gitconfig": ("//**/.gitconfig", "git runs programs that it names"),
    "husky": ("//**/.husky/**", "git runs it"),
    "bashrc": ("//**/.bashrc", "each shell runs it"),
    "bash-profile": ("//**/.bash_profile", "each shell runs it"),
    "profile": ("//**/.profile", "each shell runs it"),
    "zshrc": ("//**/.zshrc", "each shell runs it"),
    "zshenv": ("//**/.zshenv", "each shell runs it"),
    "zprofile": ("//**/.zprofile", "each shell runs it"),
    "claude-settings": ("//**/.claude/settings*.json", "it says what Claude Code may do and runs"),
    "mcp": ("//**/.mcp.json", "Claude Code runs programs that it names"),
    "vscode": ("//**/.vscode/tasks.json", "an editor runs programs that it names"),
}
"""Id → glob and why a person looks at each change: whoever may write it may run anything. An allow rule does not cover it."""

_SAMPLES = (
    ".env", ".env.local", ".ssh", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "server.pem", "key.pem", "cert.p12", "cert.pfx",
    ".aws", ".azure", ".gnupg", ".npmrc", ".pypirc", ".netrc", ".git-credentials", ".pgpass", ".credentials.json", ".claude.json",
    "environ", "shadow",
)  # fmt: skip


@lru_cache(maxsize=8)
def _all() -> tuple[Rule, ...]:
    denied = [(tool, "deny", *row) for row in GLOBS.items() for tool in ("Read", "Edit")]
    asked = [("Edit", "ask", *row) for row in STARTERS.items()]
    return tuple(
        parse_rule(f"{tool}({glob})", behavior, id=f"built-in:{id}:{tool.lower()}", source="built_in", note=note)  # type: ignore[arg-type]
        for tool, behavior, id, (glob, note) in (*denied, *asked)
    )


def built_in(off: Collection[str] = ()) -> tuple[Rule, ...]:
    """The rules in force, without those that are switched ``off``: ``env`` both, ``built-in:env:read`` one. Unknown ids raise."""
    if not off:
        return _all()
    known = {id for rule in _all() for id in _ids(rule)}
    if unknown := sorted(set(off) - known):
        raise UsageError(f"no built-in rule is called {', '.join(unknown)}; they are {', '.join((*GLOBS, *STARTERS))}")
    return tuple(rule for rule in _all() if not set(off).intersection(_ids(rule)))


def _ids(rule: Rule) -> tuple[str, str]:
    return rule.id, rule.id.split(":")[1]


def may_reach_a_secret(glob: str, *, named: bool = False) -> bool:
    """Whether a pattern that the shell fills in could become the name of such a file. ``named``: more than a bare ``*``."""
    last = glob.rstrip("/").rpartition("/")[2].lower()
    if not any(char in last for char in "*?[") or (named and not last.strip("*")):
        return False
    return any(fnmatchcase(sample, last) for sample in _SAMPLES if last[0] == "." or sample[0] != ".")
