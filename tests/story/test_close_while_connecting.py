"""A client that is closed while it connects: nothing is started afterwards, and nobody is told that it is connected."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from ropewalk import Client, ClientOptions, SessionGone
from tests.client.leftovers import alive
from tests.client.played import GUARD, PlayedCli


async def test_a_close_while_the_version_is_asked_for_starts_no_cli(tmp_path: Path) -> None:
    """ours: the close found no process yet, and the one that was started after it lived on."""
    asked = tmp_path / "asked"
    cli = tmp_path / "cli"
    cli.write_text(
        f"#!{sys.executable}\nimport sys, time, pathlib\n"
        f"if '--version' in sys.argv:\n    pathlib.Path({str(asked)!r}).touch()\n    time.sleep(0.3)\n"
        "    print('2.1.120 (Claude Code)')\nelse:\n    time.sleep(60)\n"
    )
    cli.chmod(0o755)
    client = Client(ClientOptions(cwd=tmp_path, cli=cli, transport="websocket", env={"STORY": str(tmp_path)}))
    connecting = asyncio.get_running_loop().create_task(client.connect())
    async with asyncio.timeout(GUARD):
        while not asked.exists():
            await asyncio.sleep(0.01)
        await client.close()
        with pytest.raises(SessionGone):
            await connecting
    assert alive(f"STORY={tmp_path}") == []


async def test_a_connect_that_was_overtaken_by_close_does_not_say_connected() -> None:
    """ours: a CLI answers initialize even when its input was closed right behind it."""
    told: list[str] = []
    cli = PlayedCli()
    client = Client(cli.options(on_connected=lambda: told.append("connected")))
    connecting = asyncio.get_running_loop().create_task(client.connect())
    asked = await cli.request("initialize")
    closing = asyncio.get_running_loop().create_task(client.close())
    await asyncio.sleep(0)
    cli.succeed(asked)
    with pytest.raises(SessionGone):
        await asyncio.wait_for(connecting, GUARD)
    await asyncio.wait_for(closing, GUARD)
    assert told == []
