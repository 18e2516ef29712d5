"""What the doctor concludes from what it found, one sentence each with its remedy. Pure: refuses to look for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..client.probe import NO_SUCH, ProbeResult
from ..protocol.versions import ADVISED, TESTED, Version
from ..sessions.figures import seconds
from ..transports.environment import API_KEY
from .codes import INSTALL
from .home import home_path

State = Literal["ok", "warning", "failure"]
UPDATE = f"{INSTALL}@latest"
NODE = "Install Node.js 20 or newer."


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. ``fix`` says what to do where it is not well."""

    name: str
    state: State
    words: str
    fix: str = ""


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


def missing(looked_for: str) -> Check:
    """No CLI to run."""
    fix = NODE if "node is not" in looked_for else f"Install it: {INSTALL}   or try the stand-in: ropewalk run --sim hello"
    return Check("claude", "failure", f"claude not found: {looked_for}", fix)


def no_node() -> Check:
    return Check("node", "failure", "node is not on the PATH, and this claude is a script for it", NODE)


def version_checks(program: Sequence[str], version: Version | None) -> Iterator[Check]:
    """Which one it is, whether it is safe, whether it is one that we know."""
    where = home_path(program[-1])
    if version is None:
        yield Check("version", "failure", f"{where} does not say its version", "Is it Claude Code? Name another one with --cli.")
        return
    told = dotted(version)
    yield Check("claude", "ok", f"claude {told}   {where}")
    if version < ADVISED:
        words = f"claude {told} lies inside the ranges of published security advisories, which reach up to {dotted(ADVISED)}"
        yield Check("advisories", "warning", words, f"Update it: {UPDATE}")
    if version not in TESTED:
        words = f"claude {told} is none of the versions tested with this ropewalk: {', '.join(map(dotted, TESTED))}"
        yield Check("tested", "warning", words, "It works as far as it resembles them; see: ropewalk doctor --probe")


def speech(spent: float, probes: Sequence[ProbeResult]) -> Check:
    """It started, and answers."""
    known = sum(one.knows == "yes" and one.subtype != NO_SUCH for one in probes)
    return Check("speaks", "ok", f"answers over stdio in {seconds(spent)}, knows {known} of {len(probes) - 1} requests")


def login(account: Mapping[str, Any], environ: Mapping[str, str]) -> Check:
    """What the CLI itself says of the login; nothing is asked of a server."""
    key, token = account.get("apiKeySource"), account.get("tokenSource")
    who, plan = account.get("email"), account.get("subscriptionType")
    if who or (token and token != "none"):
        return Check("login", "ok", f"signed in{f' as {who}' if who else ''}{f' ({plan})' if plan else ''}")
    if key and key != "none":
        return Check("login", "ok", f"uses the key of {key}")
    fix = "Run `claude` and sign in with /login."
    if environ.get(API_KEY):
        fix = (
            f"{API_KEY} is set; it is handed on only with `ropewalk run --api-billing`. Or run `claude` and sign in with /login."
        )
    return Check("login", "warning", "not signed in, as far as claude says", fix)
