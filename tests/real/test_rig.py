"""The rig itself: each version starts, speaks, asks, and can reach nothing but us. Refuses to prove anything of the product."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from ropewalk.sim.model import SimModel, reply, tool
from tests.real.rig import Place, versions
from tests.real.rig_raw import RawStart

ALL = versions("2.1.37", "2.1.62", "2.1.120", "2.1.326")


@ALL
async def test_every_version_answers_asks_and_ends(
    raw_cli: RawStart, model: SimModel, project: Path, place: Place, cli_version: str
) -> None:
    """ours: initialize → prompt → question → allow → result → end, as somebody who is not root."""
    model.add(reply(tool("Bash", command="touch one.txt", description="make a file")), "Made it.")
    async with raw_cli() as cli:
        assert (await cli.request("initialize"))["subtype"] == "success"
        cli.prompt("make one.txt")
        init = await cli.expect(lambda line: line.get("subtype") == "init", "init")
        assert init["claude_code_version"] == cli_version
        cli.allow(await cli.question("Bash"))
        result = await cli.result()
        assert (result["subtype"], result["result"]) == ("success", "Made it.")
        assert (project / "one.txt").stat().st_uid != 0
        assert f"Uid:\t{(project / 'one.txt').stat().st_uid}\t" in Path(f"/proc/{cli.process.pid}/status").read_text()
        assert cli.process.pid in place.survivors()
        assert await cli.end() == 0
    assert [asked.prompt for asked in model.requests if asked.kind == "main"] == ["make one.txt", "make one.txt"]
    assert "one.txt" not in model.requests[-1].results["toolu_0001"]


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1", "1.1.1.1"])
def test_nothing_but_loopback_can_be_reached(address: str) -> None:
    """ours: a connection elsewhere fails at once, without a route; so a CLI can't call home."""
    with socket.socket() as probe:
        probe.settimeout(5)
        assert probe.connect_ex((address, 443)) == errno.ENETUNREACH


@versions("2.1.37")
async def test_what_a_cli_leaves_running_is_found_by_its_mark(raw_cli: RawStart, model: SimModel, place: Place) -> None:
    """ours: a command that outlives its CLI (measured 2.1.37: SIGKILL) carries the mark, so the rig can end it by pid."""
    model.add(reply(tool("Bash", command="echo begun > begun; tail -f /dev/null", description="wait")))
    async with raw_cli("--allowedTools=Bash") as cli:
        cli.prompt("wait")
        await cli.expect(lambda line: line["type"] == "assistant", "the tool call")
        while not (place.project / "begun").exists():
            await cli.fence()
        pid = cli.process.pid
        cli.process.kill()
        await cli.exit_code()
        left = place.survivors()
        assert left and pid not in left and os.getpid() not in left
