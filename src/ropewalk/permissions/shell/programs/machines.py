"""Containers, clusters, hosts and processes: commands that reach other machines or end processes."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.options import given
from ropewalk.permissions.shell.program import Program, look, program

Look = Callable[[tuple[Word, ...]], Found]


def _only(reading: str, options: Program, deeper: str = "") -> Look:
    """The commands that only look are named (``pr-view`` for two words); the others are dangerous. ``deeper``: groups."""
    looks, groups = frozenset(names(reading)), frozenset(names(deeper))

    def looked(words: tuple[Word, ...]) -> Found:
        found = look(words, options)
        said = given(words, options.options)
        operands = [word for word in said.operands if word.exact]
        path = [word.text for word in operands[: 2 if operands and operands[0].text in groups else 1]]
        if not said.operands:
            return found
        if "-".join(path) not in looks:
            text = " ".join(path) or said.operands[0].text
            found.dangerous(f"{words[0].text} {text} changes or runs something", *path)
        found.understood = False
        return found

    return looked


def _acts(why: str) -> Look:
    def looked(words: tuple[Word, ...]) -> Found:
        found = Found()
        found.dangerous(f"{words[0].text} {why}", words[0].text)
        return found

    return looked


_DOCKER = program(danger_values={"-H --host -c --context --config": "goes to another machine", "--file": "runs another file"})
_KUBE = program(
    danger_values={
        "--kubeconfig --context --cluster --user --server -s --token --as --as-group": "goes to another cluster, or as "
        "another user",
        "--cache-dir --profile-output --log-file --output-directory": "writes files",
    }
)
_GH = program(danger_values={"--hostname": "goes to another host"})

PROGRAMS: dict[str, Program | Look] = {
    **dict.fromkeys(names("docker podman nerdctl"), _only(
        "ps images logs inspect version info top stats port diff history search events image-ls container-ls volume-ls "
        "network-ls "
        "compose-ps compose-logs compose-config compose-ls compose-images image-history image-inspect container-inspect "
        "system-df",
        _DOCKER, "image container volume network compose system")),
    **dict.fromkeys(names("kubectl oc"), _only(
        "get describe logs top version explain api-resources api-versions cluster-info events", _KUBE, "config auth rollout")),
    "gh": _only(
        "status search version help pr-view pr-list pr-diff pr-status pr-checks issue-view issue-list issue-status repo-view "
        "repo-list "
        "run-view run-list run-watch workflow-view workflow-list release-view release-list gist-view gist-list label-list "
        "cache-list "
        "auth-status project-view project-list",
        _GH, "pr issue repo run workflow release gist label project cache auth"),
    **dict.fromkeys(names("aws gcloud az doctl heroku flyctl vercel netlify wrangler terraform tofu pulumi ansible "
    "ansible-playbook helm vagrant"),
                    _acts("acts on other machines")),
    **dict.fromkeys(names("kill pkill killall xkill skill"), _acts("ends processes")),
    **dict.fromkeys(names("systemctl service launchctl shutdown reboot halt poweroff init telinit sysctl modprobe insmod "
    "iptables nft ufw"),
                    _acts("changes this machine")),
    **dict.fromkeys(names("useradd userdel usermod passwd chsh visudo adduser deluser groupadd dscl defaults"),
        _acts("changes this machine's users")),
}  # fmt: skip
