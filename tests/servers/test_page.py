"""The plain page in a real browser."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from .browser import PROGRAM, open_tab
from .conftest import open_door
from .standin import StandIn

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine")]

HOSTILE = '<img src=x onerror="window.__xss=1"><script>window.__xss=1</script>"><svg onload="window.__xss=1">'


def pictures(tmp_path: Path) -> Path:
    return Path(os.environ.get("ROPEWALK_PICTURES", tmp_path))


async def test_a_code_signs_in_the_address_is_clean_and_a_question_is_answered(tmp_path: Path) -> None:
    """ours: S8, S15, S17 on the plain page; the whole way of a person's first minute."""
    hub = StandIn()
    hub.add("s-bad")
    hub.views["s-bad"].title = hub.views["s-bad"].why = HOSTILE
    hub.ask("s-bad", "x")
    hub.asked["q-1"].description = hub.asked["q-1"].session_title = HOSTILE
    hub.asked["q-1"].input = {"command": f"echo \u202e{HOSTILE}"}
    async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
        code = (await door.access.new_code("Mia")).code
        await tab.go(f"{door.address.url}/signin#{code}")
        await tab.until("document.querySelector('#link')?.textContent === 'live'")
        assert await tab.run("location.href") == f"{door.address.url}/"
        assert await tab.run("document.cookie") == ""
        await tab.until("document.querySelectorAll('#questions li').length === 1")
        assert "⟨U+202E⟩" in await tab.text("#questions")
        await tab.picture(pictures(tmp_path) / "page.png")
        await asyncio.sleep(0.5)
        await tab.run("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Allow once').click()")
        await tab.until("document.querySelectorAll('#questions li').length === 0")
        name, who, command = door.hub.calls[-1]
        assert (name, who.door, command.behavior) == ("answer", "page", "allow")
        hub.ask("s-one", "another")
        await tab.until("document.querySelectorAll('#questions li').length === 1")
        await tab.run("document.querySelector('#questions button').click()")
        assert hub.asked["q-2"].state == "open", "a click at the moment a card appears was meant for something else"
        assert await tab.run("window.__xss") is None
        assert tab.said == [] and all(address.startswith((door.address.url, "data:", "about:")) for address in tab.asked), (
            tab.said,
            tab.asked,
        )


async def test_a_wrong_code_says_how_to_get_one(tmp_path: Path) -> None:
    """ours: FACES 2.12."""
    async with open_door(tmp_path / "home") as door, open_tab(tmp_path / "browser") as tab:
        await tab.go(f"{door.address.url}/signin#zzzz-zzzz")
        await tab.until("document.querySelector('#signin-words')?.textContent.includes('ropewalk token new')")
        assert await tab.run("location.hash") == ""
        code = (await door.access.new_code("Mia")).code
        await tab.run(f"document.querySelector('#code').value = '{code}'; document.querySelector('#signin button').click()")
        await tab.until("document.querySelector('#link')?.textContent === 'live'")


async def test_a_lost_hub_is_said_within_two_seconds_and_offline_within_seven(tmp_path: Path) -> None:
    """ours: LESSONS 51, FACES 2.13; and it comes back by itself."""
    hub, loop = StandIn(), asyncio.get_running_loop()
    async with open_tab(tmp_path / "browser") as tab:
        async with open_door(tmp_path / "home", hub) as door:
            port = door.address.port
            await tab.go(f"{door.address.url}/signin#{(await door.access.new_code('Mia')).code}")
            await tab.until("document.querySelector('#link')?.textContent === 'live'")
        gone = loop.time()
        await tab.until("document.querySelector('#link').textContent === 'reconnecting'", 2)
        await tab.until("document.querySelector('#link').textContent === 'offline'", 7 - (loop.time() - gone))
        await tab.picture(pictures(tmp_path) / "offline.png")
        async with open_door(tmp_path / "home", hub, port=port):
            await tab.until("document.querySelector('#link').textContent === 'live'")


async def test_without_claude_it_shows_how_to_install_it_and_offers_the_stand_in(tmp_path: Path) -> None:
    """ours: it looks again by itself."""
    hub = StandIn()
    hub.claude_found = False
    async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
        await tab.go(f"{door.address.url}/signin#{(await door.access.new_code('Mia')).code}")
        await tab.until("document.querySelector('#install')?.hidden === false && document.querySelector('#folder').value")
        assert "npm install -g @anthropic-ai/claude-code" in await tab.text("#install")
        await tab.picture(pictures(tmp_path) / "install.png")
        await tab.run("document.querySelector('#try button').click()")
        await tab.until("document.querySelector('#sessions').innerText.includes('stand-in')")
        assert door.hub.calls[-1][2].options.sim is True
        hub.claude_found = True
        await tab.until("document.querySelector('#install').hidden")
