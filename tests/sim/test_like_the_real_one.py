"""sim claude is held honest: played the controller's side of a recording, it says what the real CLI said, line for line in shape.

For each recorded scenario and version: the words of the scripted model are taken from the recording, everything else (kinds of
lines, their order, their keys, the kinds of values, the telling values, the exit code) must come out of sim claude by itself.
Deltas are left out (recordings cut them). Stream events are compared as a sequence of their own: since tools of 2.1.326 start
while their message still streams, how the two interleave is a matter of timing.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from . import recorded
from .play import Player, is_delta
from .shape import Json, differences, label, shape

VERSIONS = ("2.1.37", "2.1.62", "2.1.326")
CORE = ("text_partial", "bash_allow", "interrupt_question", "control_all")
"""Run by `make check`; the others are marked slow."""

NOT_IMITATED = {
    "api_overloaded_inline": "a stream that breaks in the midst: each version recovers in its own way; our calls fail whole",
    "settings_hooks": "shell hooks of settings files belong to the real CLI; sim claude has callbacks only",
    "big_tool_output": "the recording cut the very output whose size makes the difference",
    "oauth_rate_limits": "made with a made-up subscription: model and account differ by it; the lines are shown in test_turns.py",
}
NOT_ON = {("sigterm_tool", "2.1.326"): "the tool's result came after the signal by chance of timing"}
ENDLESS = frozenset({"schema_ignored"})
"""Never ends by itself on the older versions, and the recording is cut in its midst: the first `BEGINNING` lines are compared."""
BEGINNING = 60
TWO_AT_ONCE = frozenset({"subagents_ask_together"})
"""Two agents side by side: which of them is first is timing, so lines are compared without order."""

TOLERATED = (
    ("no_key", r"control_response .*\.account\.", "what is known of the account depends on the key in the environment"),
    (
        "slash_commands",
        r"result .*\.num_turns",
        "a local command counts the whole history on 2.1.37 and 2.1.62: not a number to lean on",
    ),
    ("compact", r"result .*\.num_turns", "the same"),
    (
        "tool_progress_long",
        r"init \.(startup_timing|memory_paths)",
        "in a remote container init tells of the container's own start",
    ),
)


def _scenarios() -> list[ParameterSet]:
    found: list[ParameterSet] = []
    for version in VERSIONS:
        for path in sorted((recorded.LINES / version / "stdio").glob("*.jsonl")):
            if path.stem not in NOT_IMITATED and (path.stem, version) not in NOT_ON:
                marks = () if path.stem in CORE else (pytest.mark.slow,)
                found.append(pytest.param(version, path.stem, id=f"{version}-{path.stem}", marks=marks))
    for name in ("text_partial", "bash_allow"):
        found.append(pytest.param("2.1.120", name, id=f"2.1.120-{name}", marks=pytest.mark.slow))
    return found


def _processes(version: str, name: str) -> list[recorded.Process]:
    """2.1.120 was recorded on links only; what it says is the same on pipes, and links have tests of their own."""
    processes = recorded.load(version, "ws" if version == "2.1.120" else "stdio", name)
    for process in processes:
        if "--sdk-url" in process.args:
            place = process.args.index("--sdk-url")
            del process.args[place : place + 2]
    return processes


@pytest.mark.parametrize(("version", "name"), _scenarios())
def test_it_says_what_the_real_one_said(version: str, name: str, tmp_path: Path) -> None:
    """Measured (2.1.37, 2.1.62, 2.1.326): the recordings under tests/lines."""
    player = Player(tmp_path, patience=15.0)
    found: list[str] = []
    for process in _processes(version, name):
        environment = {variable: "1" for variable in process.environment} | {"CLAUDE_CODE_MAX_RETRIES": "2"}
        ours, code = player.play(process, recorded.scenario(process), version, environment)
        found += [f"exit {code}, recorded {process.exit_code()}"] if process.exit_code() not in (None, code) else []
        found += _compare(name, [line for line in process.out() if not is_delta(line)], ours)
    allowed = [pattern for scenario, pattern, _ in TOLERATED if scenario == name]
    left = [words for words in found + player.stuck if not any(re.search(pattern, words) for pattern in allowed)]
    assert left == []


def _compare(name: str, real: list[Json], ours: list[Json]) -> list[str]:
    found = []
    for stream in (False, True):
        theirs = [line for line in real if (line["type"] == "stream_event") is stream]
        mine = [line for line in ours if (line["type"] == "stream_event") is stream]
        found += _in_order(name, theirs, mine)
    return found


def _in_order(name: str, real: list[Json], ours: list[Json]) -> list[str]:
    if name in ENDLESS:
        real, ours = real[:BEGINNING], ours[: min(BEGINNING, len(real))]
    if name in TWO_AT_ONCE:
        real, ours = sorted(real, key=_sorting), sorted(ours, key=_sorting)
    sequence, mine = [label(line) for line in real], [label(line) for line in ours]
    if sequence != mine:
        place = next(
            (n for n, pair in enumerate(zip(sequence, mine, strict=False)) if pair[0] != pair[1]), min(len(sequence), len(mine))
        )
        return [f"line {place}: {mine[place : place + 4]}, recorded {sequence[place : place + 4]}"]
    pairs = zip(real, ours, strict=True)
    return [f"{label(theirs)} {words}" for theirs, mine in pairs for words in differences(shape(theirs), shape(mine))]


def _sorting(line: Json) -> tuple[str, str, str]:
    return label(line), str(line.get("parent_tool_use_id")), str(shape(line))


def test_what_is_not_compared_is_still_recorded() -> None:
    """Ours: an excuse for a scenario that is gone would hide nothing but dust."""
    names = {path.stem for version in VERSIONS for path in (recorded.LINES / version / "stdio").glob("*.jsonl")}
    excused = (
        set(NOT_IMITATED) | {name for name, _ in NOT_ON} | ENDLESS | TWO_AT_ONCE | {name for name, _, _ in TOLERATED} | set(CORE)
    )
    assert excused <= names
