"""Signing in, the list, the inbox, the transcript; what is hostile in them does nothing."""

from __future__ import annotations

import asyncio

from tests.hub.house import MIA, House
from tests.servers.browser import Tab

from . import rig
from .rig import Place
from .test_cards import CARD, OLD_ENOUGH, show

HOSTILE = (
    '<img src=x onerror="window.__xss=1"><script>window.__xss=1</script>\n\n<svg onload="window.__xss=1"></svg>\n\n'
    "[press me](javascript:window.__xss=1) ![pixel](http://example.invalid/pixel.png)\n\n"
    '<a href="javascript:window.__xss=1" onclick="window.__xss=1">x</a> x'
    '<iframe srcdoc="<script>parent.__xss=1</script>"></iframe>\n\n'
    "| a |\n|---|\n| <style>body{display:none}</style> |\n"
)


async def signed_in(place: Place, tab: Tab) -> None:
    await tab.go(await place.link())
    await tab.until("document.querySelector('[data-link=live]')")


async def test_f03_a_link_signs_in_once_and_leaves_the_address(place: Place, tab: Tab) -> None:
    link = await place.link()
    await tab.go(link)
    await tab.until("document.querySelector('[data-link=live]')")
    assert await tab.run("location.href") == f"{place.address.url}/"
    assert await tab.run("document.cookie") == ""
    await tab.call("Network.clearBrowserCookies")
    await tab.go("about:blank")
    await tab.go(link)
    await tab.until("document.querySelector('#signin-words')?.innerText.includes('ropewalk token new')")
    assert await tab.run("location.hash") == ""


async def test_f29_and_f30_exactly_those_that_wait_need_you_and_every_row_says_why(house: House, place: Place, tab: Tab) -> None:
    rig.questions(house)
    asked = []
    for prompt in ("keep the old view?", "flaky test, plan", "make a file"):
        asked.append((await place.talk.new(prompt)).id)
        await place.talk.question(asked[-1])
    for _ in range(2):
        done = await place.talk.new("hello")
        await place.talk.turns(done.id, 1)
    await place.talk.new()
    await signed_in(place, tab)
    await tab.until("document.querySelectorAll('.rail .row').length === 6")
    assert await tab.run("document.querySelector('[data-group=needs_you]').innerText.replace(/\\s+/g, ' ')") == "Needs you 3"
    assert await tab.run("[...document.querySelectorAll('.row.need')].map((row) => row.dataset.session)") == asked
    assert await tab.run("[...document.querySelectorAll('.rail .row .w')].every((why) => why.innerText.trim().length > 8)")


async def test_f32_questions_are_answered_in_the_inbox_one_after_the_other_by_keys(house: House, place: Place, tab: Tab) -> None:
    rig.questions(house)
    sessions = [(await place.talk.new("make a file")).id for _ in range(3)]
    for session in sessions:
        await place.talk.question(session)
    await signed_in(place, tab)
    await show(tab, "/inbox")
    await tab.until(f"document.querySelector('{CARD}')")
    await tab.run(f"document.querySelector('{CARD} h2').focus()")
    for left in (3, 2, 1):
        await tab.until(f"document.querySelectorAll('{CARD}').length === 1 && document.title.startsWith('({left})')")
        await asyncio.sleep(OLD_ENOUGH)
        await tab.type("a")
        await tab.until(f"!document.title.startsWith('({left})')")
    for session in sessions:
        await place.talk.turns(session, 1)


async def test_f53_markdown_of_claude_runs_and_loads_nothing(house: House, tab: Tab) -> None:
    house.rule("hostile", {"text": HOSTILE})
    async with rig.opened(house) as place:
        session = await place.talk.new("hostile", title=HOSTILE.replace("\n", " ")[:300])
        await place.talk.turns(session.id, 1)
        await signed_in(place, tab)
        await show(tab, f"/s/{session.id}")
        await tab.until("document.querySelector('.txt')?.innerText.includes('press me')")
        await tab.run(
            "[...document.querySelectorAll('.txt a')].filter((a) => !a.href.startsWith('http')).forEach((a) => a.click())"
        )
        await asyncio.sleep(0.3)
        assert await tab.run("window.__xss") is None
        assert await tab.run("document.querySelectorAll('.txt img, .txt script, .txt iframe, .txt style, .txt svg').length") == 0
        assert await tab.run(
            "[...document.querySelectorAll('.txt *')].every((one) => ![...one.attributes].some((a) => a.name.startsWith('on')))"
        )
        assert await tab.run(
            "[...document.querySelectorAll('.txt a')].every((link) => !link.hasAttribute('href') || /^https?:/.test(link.href))"
        )


async def test_f26_what_is_not_known_is_shown_whole_and_only_once(house: House, place: Place, tab: Tab) -> None:
    rig.questions(house)
    session = await place.talk.new("odd tool")
    await place.talk.question(session.id)
    await signed_in(place, tab)
    await show(tab, f"/s/{session.id}")
    await tab.until(f"document.querySelector('{CARD}')")
    words = await tab.text(CARD)
    assert "NewTool" in words and '"a": [' in words and "Only once" in words
    assert await tab.run(f"document.querySelectorAll('{CARD} .seg').length") == 0


async def test_a_whole_turn_reads_as_it_was_reading_folded_the_sub_agent_below_its_row(
    house: House, place: Place, tab: Tab
) -> None:
    rig.checkout(house)
    session = await place.talk.new("Switch checkout totals")
    await place.talk.question(session.id)
    await signed_in(place, tab)
    await show(tab, f"/s/{session.id}")
    await tab.until("document.querySelector('.wait')")
    words = await tab.text(".scroll")
    for wanted in (
        "Switch checkout totals",
        "three callers",
        "Read 3 files, 1 search",
        "+2 −1",
        "Sub-agent",
        "14 callers",
        "npm test",
    ):
        assert wanted in words, wanted
    assert await tab.run("document.querySelector('.txt strong').innerText") == "three callers"
    await place.talk.hub.session(MIA, session.id)
