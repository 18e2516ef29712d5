"""The stand-ins as commands: a scripted claude, a scripted Messages API. Refuses to be mistaken for the real thing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError

DEMO = "demo"
SCENARIO = "ROPEWALK_SIM_SCENARIO"
PASSED_ON = "ROPEWALK_SIM_"
"""Settings of the stand-in: a real CLI never sees them, this one needs them."""


def sim_program() -> tuple[str, ...]:
    """What runs in place of ``claude``."""
    return (sys.executable, "-m", "ropewalk.sim.claude")


def sim_environment(scenario: str) -> dict[str, str]:
    """Its own home for transcripts and plans, so that it never writes among those of a real CLI."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON) or name == "PYTHONPATH"}
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    home = os.environ.get("CLAUDE_CONFIG_DIR") or str(state / "ropewalk" / "sim")
    chosen = {} if scenario == DEMO and SCENARIO in passed else {SCENARIO: whole(scenario)}
    return {**passed, "CLAUDE_CONFIG_DIR": home, **chosen}


def whole(scenario: str | None) -> str:
    """A file is named from here, not from the folder that the stand-in runs in."""
    if scenario and os.sep in scenario and not os.path.exists(scenario):
        raise UsageError(f"the scenario {scenario} does not exist; bare --sim takes the one that is built in")
    return os.path.abspath(scenario) if scenario and os.path.exists(scenario) else scenario or DEMO


def run_sim_claude(argv: Sequence[str]) -> int:
    """The scripted CLI with these arguments of ``claude``."""
    from ..sim.claude.__main__ import main  # noqa: PLC0415 - only this command needs it

    return main(argv)


def run_sim_model(scenario: str | None, host: str, port: int, record: str | None) -> int:
    """Serve until SIGINT or SIGTERM; the address is the first line on stdout."""
    from ..sim.model import run_sim_model as serve  # noqa: PLC0415 - only this command needs it

    return serve(scenario, host, port, record)
