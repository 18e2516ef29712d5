"""Words for a card: what about a command deserves a second look. Only shows; no verdict is made or changed by a tag."""

from __future__ import annotations

from msgspec.structs import replace

from .paths import inside, joined, name_of
from .policy import taken_apart_once
from .request import Context, Request, Verdict
from .shell import Part

BY_PROGRAM = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred"), "deletes"),
    **dict.fromkeys(("curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet", "ftp", "dig", "nslookup"), "network"),
    **dict.fromkeys(("sudo", "su", "doas", "pkexec"), "as root"),
    **dict.fromkeys(("apt", "apt-get", "dnf", "yum", "pacman", "brew", "npx", "pipx", "uvx"), "installs"),
}
BY_SUBCOMMAND = {
    **{(program, word): "installs" for program in ("npm", "pnpm", "yarn", "bun") for word in ("install", "i", "ci", "add")},
    **{(program, "install"): "installs" for program in ("pip", "pip3", "cargo", "gem", "go", "uv", "poetry", "composer")},
    **{("git", word): "changes git history" for word in ("push", "rebase", "reset", "filter-branch", "gc", "reflog")},
    **{("git", word): "network" for word in ("fetch", "pull", "clone", "ls-remote")},
    ("git", "clean"): "deletes", ("git", "rm"): "deletes",
}  # fmt: skip
OUTSIDE, HIDDEN, VARIABLE, BACKGROUND = (
    "writes outside the folder",
    "hidden characters",
    "variable as program",
    "runs in background",
)


def tagged(request: Request, verdict: Verdict, context: Context | None = None) -> Verdict:
    """The same verdict with tags at its parts and at the whole, for a question that a person will see."""
    if request.tool != "Bash":
        return verdict
    script, context = taken_apart_once(request), context or Context()
    parts = verdict.parts
    if len(parts) == len(script.parts):
        parts = tuple(
            replace(one, tags=tuple(dict.fromkeys((*one.tags, *_of(part, request, context)))))
            for one, part in zip(parts, script.parts, strict=True)
        )
    command = str(request.input.get("command", ""))
    whole = [HIDDEN] if not command.replace("\n", "").replace("\t", "").isprintable() else []
    whole += [BACKGROUND] if request.input.get("run_in_background") else []
    return replace(
        verdict, parts=parts, tags=tuple(dict.fromkeys((*verdict.tags, *whole, *(tag for one in parts for tag in one.tags))))
    )


def _of(part: Part, request: Request, context: Context) -> list[str]:
    words = [word.text for word in part.words] if part.kind == "command" else []
    program = words[0].rpartition("/")[2] if words else ""
    second = next((word for word in words[1:] if not word.startswith("-")), "")
    found = [tag for tag in (BY_PROGRAM.get(program), BY_SUBCOMMAND.get((program, second))) if tag]
    if words and not part.words[0].exact:
        found.append(VARIABLE)
    folder = joined(part.folder or "", request.cwd, context.home)
    if any(not inside(name_of(path, folder, context), request.cwd, context) for path in part.writes):
        found.append(OUTSIDE)
    return found
