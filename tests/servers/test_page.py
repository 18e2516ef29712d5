"""The plain page in a real browser."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from .browser import PROGRAM, Tab, open_tab
from .conftest import Door, open_door
from .standin import StandIn

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine")]

HOSTILE = '<img src=x onerror="window.__xss=1"><script>window.__xss=1</script>"><svg onload="window.__xss=1">'


def press(words: str) -> str:
    return f"[...document.querySelectorAll('button')].find((button) => button.textContent === {words!r}).click()"


async def signed_in(door: Door, tab: Tab, cards: int) -> None:
    """With so many cards, old enough to be pressed."""
    await tab.go(f"{door.address.url}/signin#{(await door.access.new_code('Mia')).code}")
    await tab.until(f"document.querySelectorAll('#questions > li').length === {cards}")
    await asyncio.sleep(0.5)


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
        await tab.until("document.querySelectorAll('#questions > li').length === 1")
        assert "⟨U+202E⟩" in await tab.text("#questions")
        assert "hidden characters" in await tab.text("#questions .tags")
        await tab.picture(pictures(tmp_path) / "page.png")
        await asyncio.sleep(0.5)
        await tab.run(press("Allow once"))
        await tab.until("document.querySelector('#questions')?.innerText.includes('by Mia')")
        await tab.until("document.querySelectorAll('#questions > li').length === 0")
        name, who, command = door.hub.calls[-1]
        assert (name, who.door, command.behavior) == ("answer", "page", "allow")
        hub.ask("s-one", "another")
        await tab.until("document.querySelectorAll('#questions > li').length === 1")
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


async def test_choices_are_made_with_options_several_of_them_and_own_words(tmp_path: Path) -> None:
    """ours (FACES 2.5): nothing is sent by a single press; the text of "something else" is sent, never its label."""
    hub = StandIn()
    asked = hub.ask("s-one", "Asks: Keep the view?")
    asked.asks, asked.tool = "choice", "AskUserQuestion"
    view = [{"label": "Keep <b>it</b>", "description": None}, {"label": "Drop", "description": "Nobody reads it"}]
    reports = [{"label": "Revenue", "description": None}, {"label": "VAT", "description": None, "preview": HOSTILE}]
    asked.choices = [
        {"question": "Keep the view?", "header": "", "multiple": False, "options": view},
        {"question": "Which reports?", "header": "", "multiple": True, "options": reports},
    ]
    async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
        await signed_in(door, tab, 1)
        send = "[...document.querySelectorAll('button')].find((one) => one.textContent === 'Send answers')"
        assert await tab.run(f"{send}.disabled"), "an answer is missing"
        await tab.run("document.querySelectorAll('fieldset')[0].querySelectorAll('input')[0].click()")
        await tab.run("document.querySelectorAll('fieldset')[1].querySelectorAll('input')[0].click()")
        own = "document.querySelectorAll('fieldset')[1].querySelector('input[type=text]')"
        await tab.run(f"{own}.value = 'the Norwegian one'; {own}.dispatchEvent(new Event('input', {{bubbles: true}}))")
        await tab.picture(pictures(tmp_path) / "choice.png")
        assert "2 of 2 answered" in await tab.text("#questions") and not await tab.run(f"{send}.disabled")
        await tab.run(f"{send}.click()")
        await tab.until("document.querySelector('#questions').innerText.includes('Answered by Mia')")
        assert hub.calls[-1][2].answers == {"Keep the view?": "Keep <b>it</b>", "Which reports?": "Revenue, the Norwegian one"}
        assert await tab.run("window.__xss") is None and tab.said == []


async def test_a_plan_is_a_document_with_the_careful_way_chosen(tmp_path: Path) -> None:
    """ours (FACES 2.5): every letter of it stays; feedback is never empty."""
    hub = StandIn()
    for _ in range(2):
        asked = hub.ask("s-one", "Plan to review")
        asked.asks, asked.tool = "plan", "ExitPlanMode"
        asked.plan = {"text": f"# Fix it\n\n1. Run `make` **twice**\n\n```\n{HOSTILE}\n```\n", "requested": []}
    async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
        await signed_in(door, tab, 2)
        shown = await tab.text("#questions .plan")
        assert "Fix it" in shown and "1. Run make twice" in shown and HOSTILE in shown
        await tab.run(press("Keep planning"))
        assert hub.calls == [], "without a word Claude can't plan on"
        await tab.run("document.querySelector('#questions .reason').value = 'the tests too'")
        await tab.run(press("Keep planning"))
        await tab.until("document.querySelectorAll('#questions > li.closed').length === 1")
        assert (hub.calls[-1][2].behavior, hub.calls[-1][2].plan, hub.calls[-1][2].message) == ("deny", "revise", "the tests too")
        await asyncio.sleep(0.5)
        await tab.run(press("Start work"))
        await tab.until(
            "document.querySelectorAll('#questions > li.closed').length > 0 && document.querySelector('.plan') === null"
        )
        assert (hub.calls[-1][2].behavior, hub.calls[-1][2].plan) == ("allow", "keep_ask")
        assert await tab.run("window.__xss") is None and tab.said == []


async def test_an_edit_is_a_diff_and_a_grant_says_its_rule(tmp_path: Path) -> None:
    """ours (FACES 0, 2.5): letter by letter, nothing folded; what is granted stands beside the button."""
    hub = StandIn()
    asked = hub.ask("s-one", "Change: a.ts")
    asked.tool, asked.does, asked.title_words = "Edit", "edit", "Change a.ts?"
    asked.input = {"file_path": "/p/a.ts", "old_string": "one\ntwo\nthree\n", "new_string": f"one\n{HOSTILE}\nthree\n", "odd": 7}
    rule = {"toolName": "Edit", "ruleContent": "/p/**"}
    asked.suggestions = [{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}]
    async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
        await signed_in(door, tab, 1)
        lines = await tab.run(
            "[...document.querySelectorAll('.diff div')].map((line) => line.className + line.lastChild.textContent)"
        )
        assert lines == ["one", "deltwo", f"add{HOSTILE}", "three"]
        said = await tab.text("#questions")
        assert "/p/a.ts" in said and "odd" in said and "7" in said, "every field of the input is on the card"
        await tab.run("document.querySelector('details').open = true")
        assert "Edit(/p/**)" in await tab.text("details") and "this session" in await tab.text("details")
        await tab.run(press("Allow and grant"))
        await tab.until("document.querySelectorAll('#questions > li.closed').length === 1")
        assert hub.calls[-1][2].remember.suggestion == 0
        assert await tab.run("window.__xss") is None and tab.said == []


async def test_who_answered_elsewhere_is_said_and_unsent_words_are_kept(tmp_path: Path) -> None:
    """ours (FACES 2.5): the first answer closes it everywhere and says who gave it."""
    hub = StandIn()
    hub.ask("s-one")
    async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
        await signed_in(door, tab, 1)
        await tab.run("document.querySelector('#questions .reason').value = 'my own reason'")
        async with door.client() as other:
            assert (await other.post("/api/v1/questions/q-1/answer", json={"behavior": "deny"})).status_code < 300
        await tab.until("document.querySelector('#questions li.closed')?.innerText.includes('by ')")
        assert "my own reason" in await tab.text("#questions")
        await tab.run(press("Put away"))
        await tab.until("document.querySelectorAll('#questions > li').length === 0")


async def test_keys_answer_the_card_that_has_the_focus_and_nothing_else(tmp_path: Path) -> None:
    """ours (FACES 2.5, 2.15): a card never takes the focus by itself; inside it a allows."""
    hub = StandIn()
    hub.ask("s-one"), hub.ask("s-one")
    key = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
    async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser") as tab:
        await signed_in(door, tab, 2)
        await asyncio.sleep(1.0)
        await tab.run(key % "a")
        assert hub.calls == [] and await tab.run("document.activeElement === document.body")
        await tab.run(key % "j")
        await tab.run(key % "j")
        assert await tab.run("document.querySelectorAll('#questions > li')[1].contains(document.activeElement)")
        await tab.run(key % "a")
        assert hub.calls == [], "so soon after another key it was meant for something else"
        await asyncio.sleep(1.0)
        await tab.run(key % "a")
        await tab.until("document.querySelectorAll('#questions > li.closed').length === 1")
        assert hub.asked["q-1"].state == "open" and hub.asked["q-2"].state == "answered"


async def test_a_phone_sees_it_all_without_scrolling_sideways(tmp_path: Path) -> None:
    """ours (FACES 2.17): narrow, long words, dark and light."""
    hub = StandIn()
    hub.add("s-long", sim=True).title = "a" * 300
    asked = hub.ask("s-long")
    asked.input = {"command": "x" * 500, "timeout": 600000}
    asked.cwd, asked.blocked_path = "/home/mia", "/home/mia/new.txt"
    choice = hub.ask("s-one")
    choice.asks = "choice"
    choice.choices = [{"question": "y" * 200, "header": "", "multiple": True, "options": [{"label": "z" * 90}]}]
    async with open_door(tmp_path / "home", hub) as door, open_tab(tmp_path / "browser", 360, 700) as tab:
        await tab.call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=True)
        await signed_in(door, tab, 2)
        for scheme in ("light", "dark"):
            await tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            await tab.picture(pictures(tmp_path) / f"phone-{scheme}.png")
            assert await tab.run("document.documentElement.scrollWidth <= 360")
        assert "may take up to 10 min" in await tab.text("#questions")
        assert "stand-in" in await tab.text("#questions .head") and "outside the folder" not in await tab.text("#questions")
