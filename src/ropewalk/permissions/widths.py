"""How wide a rule for a command may be offered, by program. Knows names only; what options do is known in shell/programs."""

from __future__ import annotations

from collections.abc import Sequence

SUBCOMMANDS = frozenset(
    {
        "git", "npm", "pnpm", "yarn", "bun", "deno", "docker", "podman", "kubectl", "helm", "cargo", "rustup", "go", "gh", "glab",
        "make", "just", "task", "pip", "pip3", "uv", "poetry", "pdm", "hatch", "tox", "nox", "terraform", "tofu", "systemctl",
        "brew", "apt", "apt-get", "dnf", "dotnet", "mvn", "gradle", "./gradlew", "./mvnw", "bundle", "rake", "rails", "mix",
        "composer", "php", "nx", "turbo", "npx", "pre-commit", "aws", "gcloud", "az", "flutter", "dart", "swift", "bazel", "zig",
    }
)  # fmt: skip
"""Programs whose second word says what they do."""

DEEPER: dict[tuple[str, str], int] = {
    **{(program, "run"): 3 for program in ("npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm", "hatch", "deno", "mix")},
    **{("gh", noun): 3 for noun in ("pr", "issue", "run", "repo", "release", "workflow", "api")},
    **{(python, "-m"): 3 for python in ("python", "python3")},
    ("docker", "compose"): 3, ("npm", "exec"): 3, ("git", "stash"): 3, ("git", "remote"): 3, ("git", "worktree"): 3,
    ("pip", "index"): 3, ("uv", "pip"): 3, ("cargo", "xtask"): 3,
}  # fmt: skip
"""Where the third word says it."""

ONLY_EXACT = frozenset(
    {
        "sh", "bash", "zsh", "dash", "ksh", "fish", "python", "python3", "node", "perl", "ruby", "php", "lua", "osascript", "awk",
        "gawk", "mawk", "sed", "sudo", "su", "doas", "rm", "rmdir", "mv", "cp", "dd", "ln", "tee", "install", "chmod", "chown",
        "curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet", "eval", "source", ".", "exec", "xargs", "env",
        "find", "kill", "pkill", "killall", "crontab", "at", "mkfs", "mount", "umount", "cd", "export", "trap", "alias", "shred",
        "docker", "podman", "kubectl", "npx", "uvx", "pipx", "aws", "gcloud", "az", "terraform", "tofu", "helm", "systemctl",
    }
)  # fmt: skip
"""Programs that can do anything, or much harm, by their arguments: a rule for any arguments is written by hand or not at all."""


def leads(words: Sequence[str]) -> list[tuple[str, ...]]:
    """The first words that a rule for any arguments may stand on, from narrow to wide."""
    found: list[tuple[str, ...]] = []
    program = words[0]
    if len(words) > 1 and (program in SUBCOMMANDS or (program, words[1]) in DEEPER):
        deep = DEEPER.get((program, words[1]), 2)
        lead = tuple(words[:deep])
        if len(lead) == deep and all(_plain(word, (program, words[1])) for word in lead[1:]) and lead[-1] not in ONLY_EXACT:
            found.append(lead)
    if program not in ONLY_EXACT:
        found.append((program,))
    return found


def _plain(word: str, pair: tuple[str, str]) -> bool:
    return not word.startswith("-") or (word == pair[1] and pair in DEEPER)
