"""``ropewalk doctor``: finds the CLI, starts it, asks what it knows, says it. Refuses to call a model or to leave a session."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import __version__
from ..client.client import Client
from ..client.options import ClientOptions
from ..client.probe import NO_SUCH, ProbeResult, probe
from ..client.version import cli_version
from ..config import load
from ..errors import CliNotFound, RopewalkError
from ..protocol.versions import ADVISED, TESTED, Version
from ..sessions.figures import count, seconds
from ..transports.environment import environment_for
from ..transports.launch import SCRIPTS, find_cli
from .asked import COLORS, check_choice
from .checks import Check, dotted, login, missing, no_node, speech, version_checks
from .codes import INSTALL, complaint_of
from .hub_checks import hub_checks
from .safe import harmless, one_line
from .screen import Screen, look_around

START = 30.0
"""Seconds until a CLI that says nothing counts as broken; 2.1.37 needs 3 on an idle machine."""


@dataclass
class Findings:
    """Everything that was found."""

    checks: list[Check] = field(default_factory=list)
    program: Sequence[str] = ()
    version: Version | None = None
    capabilities: list[str] = field(default_factory=list)
    account: Mapping[str, Any] = field(default_factory=dict)
    probes: list[ProbeResult] = field(default_factory=list)

    def count(self, state: str) -> int:
        return sum(check.state == state for check in self.checks)

    def as_object(self) -> str:
        claude = {
            "program": list(self.program),
            "version": dotted(self.version) if self.version else None,
            "tested": self.version in TESTED,
            "advisories": self.version is not None and self.version < ADVISED,
            "capabilities": self.capabilities,
            "account": dict(self.account),
        }
        told = {
            "ok": not self.count("failure"),
            "ropewalk": __version__,
            "python": platform.python_version(),
            "claude": claude,
            "requests": [asdict(one) for one in self.probes],
            "checks": [asdict(one) for one in self.checks],
        }
        return json.dumps(told, default=str)


def examine(cli: str | None, *, probe: bool, as_json: bool, color: str, ascii_only: bool) -> int:
    """Look, say it, and return 0 or 1."""
    check_choice("color", color, COLORS)
    logging.getLogger("ropewalk").addHandler(logging.NullHandler())
    logging.getLogger("ropewalk").propagate = False
    screen = Screen(look_around(color, ascii_only=ascii_only, answer=True))
    found = asyncio.run(_everything(cli))
    for line in [found.as_object()] if as_json else lines_of(found, screen, whole=probe):
        screen.object(line)
    return 1 if found.count("failure") else 0


async def _everything(cli: str | None) -> Findings:
    found = await look(cli)
    found.checks += await hub_checks(load())
    return found


async def look(cli: str | None) -> Findings:
    """Find it, ask for its version, start it, ask what it knows; stop at what has to be put right first."""
    found = Findings()
    found.checks.append(Check("python", "ok", f"python {platform.python_version()}, ropewalk {__version__}"))
    try:
        found.program = find_cli(cli, os.environ)
    except CliNotFound as error:
        found.checks.append(missing(error.looked_for))
        return found
    if _needs_node(found.program[-1]) and shutil.which("node") is None:
        found.checks.append(no_node())
        return found
    try:
        found.version = await cli_version(found.program, environment_for(os.environ, {}))
    except OSError as error:
        words = f"{found.program[-1]} can't be run: {error.strerror}"
        found.checks.append(Check("claude", "failure", words, f"Install it: {INSTALL}"))
        return found
    found.checks += version_checks(found.program, found.version)
    if not found.count("failure"):
        await _start(found, cli)
    return found


def _needs_node(script: str) -> bool:
    """Older CLIs are scripts for node."""
    if script.endswith(SCRIPTS):
        return True
    try:
        with open(script, "rb") as file:
            return file.readline(200).strip().endswith(b"node")
    except OSError:
        return False


async def _start(found: Findings, cli: str | None) -> None:
    """In an empty folder of its own, so that no project's settings or hooks run."""
    with tempfile.TemporaryDirectory(prefix="ropewalk-doctor-") as folder:
        began = time.monotonic()
        client = Client(ClientOptions(cwd=folder, cli=cli, start_timeout=START, close_patience=5.0))
        try:
            response = await client.connect()
            spent = time.monotonic() - began
            found.probes = await probe(client)
        except RopewalkError as error:
            words = one_line(complaint_of(error).words)
            found.checks.append(Check("speaks", "failure", words, "Run `claude` by hand and see what it says."))
            return
        finally:
            await client.close()
    account = response.get("account")
    found.capabilities = sorted(client.capabilities)
    found.account = account if isinstance(account, Mapping) else {}
    found.checks += [speech(spent, found.probes), login(found.account, os.environ)]


def lines_of(found: Findings, screen: Screen, *, whole: bool) -> Iterator[str]:
    """For a person."""
    glyphs = screen.look.glyphs
    marks = {"ok": ("green", glyphs.done), "warning": ("amber", glyphs.warns), "failure": ("red", glyphs.failed)}
    for check in found.checks:
        style, glyph = marks[check.state]
        yield f"{screen.paint(style, glyph)} {harmless(check.words)}{f'. {check.fix}' if check.fix else ''}"
    if found.capabilities:
        some = found.capabilities if whole else found.capabilities[:3]
        more = f" and {len(found.capabilities) - 3} more" if len(found.capabilities) > len(some) else ""
        yield f"  capabilities: {harmless(', '.join(some))}{more}"
    if whole:
        for one in found.probes:
            name = "(a request that nobody knows)" if one.subtype == NO_SUCH else one.subtype
            said = f"   {one_line(one.said)}" if one.said else ""
            yield f"  {screen.columns(name, 30)} {one.knows:<7}{seconds(one.seconds):>8}{said}"
    counts = [count(found.count(state), state) for state in ("failure", "warning") if found.count(state)]
    yield ", ".join(counts) or "all is well"
