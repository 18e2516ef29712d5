"""The page in a real browser, with a hub of a few lines behind it: what is hostile, what is lost, what is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ropewalk.servers.web.api.page import FOLDER

from .browser import PROGRAM, Tab, open_tab
from .conftest import Door, open_door
from .standin import StandIn

browser = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine"),
]
HOSTILE = '<img src=x onerror="window.__xss=1"><script>window.__xss=1</script>"><svg onload="window.__xss=1">'
LINK = "document.querySelector('.live')?.dataset.link"


async def signed_in(door: Door, tab: Tab, path: str = "/inbox") -> None:
    assert (FOLDER / "index.html").exists(), "the page was not built: make page"
    await tab.go(f"{door.address.url}/signin#{(await door.access.new_code('Mia')).code}")
    await tab.until(f"{LINK} === 'live'")
    await tab.run(f"history.pushState(null, '', '{path}'); dispatchEvent(new PopStateEvent('popstate'))")


async def test_a_hub_whose_page_was_not_built_says_how_to_build_it(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropewalk.servers.web.api.page.FOLDER", tmp_path / "nothing")
    async with door.client() as client:
        for path in ("/", "/s/abcd", "/signin"):
            answer = await client.get(path)
            assert answer.status_code == 503 and "make page" in answer.text
        assert (await client.get("/page/x.js")).status_code == 404


@pytest.mark.parametrize("packed", [True, False])
async def test_files_of_the_page_are_kept_for_ever_and_packed_for_whom_can_unpack(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index-abc.js").write_text("let a = 1;\n" * 100)
    (tmp_path / "page" / "secret.txt").write_text("no")
    monkeypatch.setattr("ropewalk.servers.web.api.page.FOLDER", tmp_path)
    async with door.client(headers={"Accept-Encoding": "gzip" if packed else "identity"}) as client:
        answer = await client.get("/page/index-abc.js")
        assert answer.text == "let a = 1;\n" * 100 and "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-type"].startswith("text/javascript")
        assert ("content-encoding" in answer.headers) is packed
        assert (await client.get("/page/secret.txt")).status_code == 404


class TestInABrowser:
    pytestmark = browser

    async def test_hostile_words_are_letters_everywhere(self, tmp_path: Path) -> None:
        """ours: S15, S17: titles, whys, questions, options, previews."""
        hub = StandIn()
        hub.add("s-bad")
        hub.views["s-bad"].title = hub.views["s-bad"].why = HOSTILE
        hub.ask("s-bad", HOSTILE)
        hub.asked["q-1"].description = hub.asked["q-1"].session_title = HOSTILE
        hub.asked["q-1"].input = {"command": f"echo \u202e{HOSTILE}"}
        choice = hub.ask("s-bad", "Asks")
        choice.asks, choice.tool = "choice", "AskUserQuestion"
        option = {"label": HOSTILE, "description": HOSTILE, "preview": HOSTILE}
        choice.choices = [{"question": HOSTILE, "header": "", "multiple": True, "options": [option]}]
        async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
            await signed_in(door, tab)
            await tab.until("document.querySelector('.card .cmd')")
            assert "⟨U+202E⟩" in await tab.text(".card .cmd") and "hidden characters" in await tab.text(".card .tags")
            await tab.run("document.querySelectorAll('.inrow>button')[1].click()")
            await tab.until("document.querySelector('.card .option')")
            await tab.run("history.pushState(null, '', '/s/s-bad'); dispatchEvent(new PopStateEvent('popstate'))")
            await tab.until("document.querySelector('h1')?.innerText.includes('onerror')")
            assert await tab.run("window.__xss") is None and tab.said == []
            assert all(where.startswith((door.address.url, "data:", "about:")) for where in tab.asked)

    async def test_a_wrong_code_says_how_to_get_one(self, tmp_path: Path) -> None:
        async with open_door(tmp_path / "home") as door, open_tab(tmp_path / "browser") as tab:
            await tab.go(f"{door.address.url}/signin#zzzz-zzzz")
            await tab.until("document.querySelector('#signin-words')?.textContent.includes('ropewalk token new')")
            assert await tab.run("location.hash") == ""
            await tab.run("document.querySelector('#code').focus()")
            await tab.type(f"{(await door.access.new_code('Mia')).code}\r")
            await tab.until(f"{LINK} === 'live'")

    async def test_f37_a_lost_hub_is_said_within_two_seconds_and_offline_within_seven(self, tmp_path: Path) -> None:
        hub, loop = StandIn(), asyncio.get_running_loop()
        async with open_tab(tmp_path / "browser") as tab:
            async with open_door(tmp_path / "home", hub) as door:
                port = door.address.port
                await signed_in(door, tab, "/s/s-one")
                await tab.until("document.querySelector('#composer')")
            gone = loop.time()
            await tab.until(f"{LINK} !== 'live'", 2)
            await tab.run("document.querySelector('#composer').focus()")
            await tab.type("while away\r")
            await tab.until("document.querySelector('.queue')?.innerText.includes('Not sent yet')", 2)
            await tab.until(f"{LINK} === 'offline'", 7 - (loop.time() - gone))
            async with open_door(tmp_path / "home", hub, port=port):
                await tab.until(f"{LINK} === 'live'")
                await tab.until("!document.querySelector('.queue')")
                assert [prompt.text for prompt in hub.prompts.values()] == ["while away"]

    async def test_f01_without_claude_it_shows_how_to_install_it_and_offers_the_stand_in(self, tmp_path: Path) -> None:
        hub = StandIn()
        hub.claude_found = False
        async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
            await signed_in(door, tab, "/sessions")
            await tab.until("document.querySelector('#install')")
            assert "npm install -g @anthropic-ai/claude-code" in await tab.text("#install")
            await tab.run("document.querySelector('#try').click()")
            await tab.until("location.pathname.startsWith('/s/')")
            assert hub.calls[-1][2].options.sim is True
            await tab.run("history.pushState(null, '', '/sessions'); dispatchEvent(new PopStateEvent('popstate'))")
            hub.claude_found = True
            await tab.until("!document.querySelector('#install')")

    async def test_who_answered_elsewhere_is_said_and_unsent_words_are_kept(self, tmp_path: Path) -> None:
        hub = StandIn()
        hub.ask("s-one")
        async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
            await signed_in(door, tab)
            await tab.until("document.querySelector('.card .ft .d')")
            await asyncio.sleep(0.5)
            await tab.run("document.querySelector('.card .ft .d').click()")
            await tab.until("document.activeElement.matches('.reason')")
            await tab.type("my own reason")
            async with door.client() as other:
                assert (await other.post("/api/v1/questions/q-1/answer", json={"behavior": "deny"})).status_code < 300
            await tab.until("document.querySelector('.card.closed')?.innerText.includes('by ')")
            assert "my own reason" in await tab.text(".card.closed")
            await tab.run("document.querySelector('.card.closed button').click()")
            await tab.until("!document.querySelector('.card')")

    async def test_a_form_of_a_server_is_filled_in_with_its_types(self, tmp_path: Path) -> None:
        hub = StandIn()
        form = hub.ask("s-one", "A server asks")
        form.asks, form.tool = "dialog", "elicitation"
        form.input = {"properties": {"name": {"type": "string"}, "count": {"type": "integer"}, "sure": {"type": "boolean"}}}
        async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
            await signed_in(door, tab)
            await tab.until("document.querySelector('.card input')")
            await asyncio.sleep(0.5)
            for place, words in ((0, "Mia"), (1, "7")):
                await tab.run(f"document.querySelectorAll('.card input[type=text]')[{place}].focus()")
                await tab.type(words)
            await tab.run("document.querySelector('.card input[type=checkbox]').click()")
            await tab.run("document.querySelector('.card .allow').click()")
            await tab.until("document.querySelector('.card.closed')")
            assert hub.calls[-1][2].updated_input == {"name": "Mia", "count": 7, "sure": True}

    async def test_a_phone_sees_it_all_without_scrolling_sideways(self, tmp_path: Path) -> None:
        hub = StandIn()
        hub.add("s-long", sim=True).title = "a" * 300
        asked = hub.ask("s-long")
        asked.input = {"command": "x" * 500, "timeout": 600000}
        choice = hub.ask("s-one")
        choice.asks = "choice"
        choice.choices = [{"question": "y" * 200, "header": "", "multiple": True, "options": [{"label": "z" * 90}]}]
        async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
            await tab.size(360, 700)
            await signed_in(door, tab)
            await tab.until("document.querySelector('.card')")
            assert "may take up to 10 min" in await tab.text(".card")
            for path in ("/inbox", "/sessions", "/new", "/more", "/s/s-long", "/s/s-one"):
                await tab.run(f"history.pushState(null, '', '{path}'); dispatchEvent(new PopStateEvent('popstate'))")
                await asyncio.sleep(0.3)
                assert await tab.run("document.documentElement.scrollWidth <= 360"), path
