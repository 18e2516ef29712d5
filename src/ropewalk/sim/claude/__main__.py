"""``python -m ropewalk.sim.claude <flags of claude>``: the scripted CLI as a process. Refuses flags as the real one does."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from . import faults, flags, launch, scenario
from .ledger import Ledger
from .program import Program
from .versions import DEFAULT, VERSIONS, Traits, traits_of
from .wire import Answer, Pipes, Road, Wire

DEMO = "demo"


def main(argv: Sequence[str] | None = None) -> int:
    """Run with these arguments (default: the process's own) and return the exit code."""
    words = sys.argv[1:] if argv is None else argv
    try:
        story = scenario.load(os.environ.get("ROPEWALK_SIM_SCENARIO") or DEMO)
        traits = _traits(story)
        asked = flags.parse(words, traits)
        orders = faults.orders(os.environ.get("ROPEWALK_SIM_FAULT", ""))
        if asked.show_version:
            sys.stdout.write(f"{traits.version} (Claude Code)\n")
            return 0
        started = launch.open_session(asked, story, traits)
    except flags.Refused as refused:
        return _refuse(refused.words, refused.code)
    except (scenario.ScenarioError, faults.FaultError) as error:
        return _refuse(f"sim claude: {error}", 2)
    except launch.NoSuchSession as missing:
        _wire(Pipes()).send(missing.line)
        return _refuse(missing.words, 1)
    return asyncio.run(_run(asked, story, started, orders))


async def _run(asked: flags.Flags, story: scenario.Scenario, started: launch.Launch, orders: list[faults.Order]) -> int:
    program = Program(asked, story, started, _wire(_road(asked, started.session.traits)), orders, _speed())
    _leave_on_signals(program)
    if program.traits.sigint_result:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, program.stopped_by_signal)
    return await program.run()


def _wire(road: Road) -> Wire:
    path = os.environ.get("ROPEWALK_SIM_LEDGER")
    return Wire(road, Ledger(path) if path else None)


def _road(asked: flags.Flags, traits: Traits) -> Road:
    """The standard pipes, or a link; the library for links is imported only then."""
    if asked.output_format != "stream-json":
        return Answer(whole=asked.output_format == "json")
    if asked.sdk_url is None:
        return Pipes()
    road: Road = importlib.import_module(".links", __package__).road(asked.sdk_url, traits.version, _speed())
    return road


def _traits(story: scenario.Scenario) -> Traits:
    name = os.environ.get("ROPEWALK_SIM_VERSION") or story.version or DEFAULT
    traits = traits_of(name)
    if traits is None:
        raise scenario.ScenarioError(f"ROPEWALK_SIM_VERSION {name!r} is not known; one of {', '.join(VERSIONS)}")
    return traits


def _speed() -> float:
    """ROPEWALK_SIM_SPEED: 1 as written, 2 twice as fast, 0 without any delay."""
    try:
        return max(0.0, float(os.environ.get("ROPEWALK_SIM_SPEED", "1")))
    except ValueError:
        return 1.0


def _leave_on_signals(program: Program) -> None:
    """Plain handlers: they work even while a write to a full pipe blocks the loop."""
    signal.signal(signal.SIGTERM, lambda *_: program.leave(143))
    signal.signal(signal.SIGINT, lambda *_: program.leave(0))


def _refuse(words: str, code: int) -> int:
    sys.stderr.write(words + "\n")
    return code


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
