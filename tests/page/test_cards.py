"""Questions on the page, in a real browser, against a real hub with scripted CLIs."""

from __future__ import annotations

import asyncio

from ropewalk.errors import AlreadyAnswered
from ropewalk.events import commands as c
from tests.hub.house import JO, MIA, House, until
from tests.servers.browser import Tab

from . import rig
from .rig import MIGRATE, Place

CARD = ".card:not(.closed)"
ALLOW = f"{CARD} .allow"
OLD_ENOUGH = 0.9
"""Seconds after which a press on a card is meant."""


async def at_card(place: Place, tab: Tab, prompt: str) -> tuple[str, str]:
    """Signed in, in front of the session's open card. Its ids."""
    session = await place.talk.new(prompt)
    question = await place.talk.question(session.id)
    await tab.go(await place.link())
    await tab.until("document.querySelector('[data-link=live]')")
    await show(tab, f"/s/{session.id}")
    await tab.until(f"document.querySelector('{CARD}')")
    return session.id, question.id


async def show(tab: Tab, path: str) -> None:
    await tab.run(f"history.pushState(null, '', '{path}'); dispatchEvent(new PopStateEvent('popstate'))")


async def answered(place: Place, question: str) -> None:
    async def look() -> bool:
        return (await place.talk.hub.question(MIA, question)).state == "answered"

    await until(look, "answer")


async def test_f04_a_card_that_opens_while_somebody_types_takes_nothing_and_enter_sends_the_prompt(
    house: House, tab: Tab
) -> None:
    rig.questions(house)
    house.rule("slowly", {"wait": 1.5}, {"tool": "Bash", "input": {"command": "touch late.txt"}, "ask": True}, {"text": "Late."})
    house.variables["ROPEWALK_SIM_SPEED"] = "1"
    async with rig.opened(house) as place:
        session = await place.talk.new("hello")
        await place.talk.turns(session.id, 1)
        await tab.go(await place.link())
        await tab.until("document.querySelector('[data-link=live]')")
        await show(tab, f"/s/{session.id}")
        await tab.until("document.querySelector('#composer') && document.querySelector('.turn')")
        await place.talk.hub.prompt(MIA, session.id, c.Prompt(text="slowly"))
        await tab.run("document.querySelector('#composer').focus()")
        await tab.type("half a sen")
        before = await tab.run("document.querySelector('.comp').getBoundingClientRect().bottom")
        await tab.until(f"document.querySelector('{CARD}')")
        await tab.type("tence")
        assert await tab.run("document.activeElement.id") == "composer"
        assert await tab.run("document.querySelector('#composer').value") == "half a sentence"
        assert await tab.run("document.querySelector('#composer').selectionStart") == len("half a sentence")
        assert abs(await tab.run("document.querySelector('.comp').getBoundingClientRect().bottom") - before) <= 1
        await tab.type("\r")
        await tab.until("document.querySelector('.queue')?.innerText.includes('half a sentence')")
        question = await place.talk.question(session.id)
        assert question.state == "open"


async def test_f05_keys_and_clicks_that_come_too_soon_or_from_elsewhere_answer_nothing(
    house: House, place: Place, tab: Tab
) -> None:
    rig.questions(house)
    session, question = await at_card(place, tab, "make a file")
    await asyncio.sleep(OLD_ENOUGH)
    await tab.run("document.activeElement.blur()")
    await tab.type("ad1 \r")  # the focus is outside of the card
    await place.talk.hub.answer(MIA, question, c.Answer(behavior="allow"))
    await place.talk.turns(session, 1)
    await tab.until(f"!document.querySelector('{CARD}')")
    # a second card: a press at the moment of its coming, and keys right after it
    await tab.run(
        "new MutationObserver(() => { const card = document.querySelector('.card:not(.closed)');"
        "if (card && !window.hit) { window.hit = 1; card.querySelector('.allow')?.click(); card.querySelector('h2').focus(); } })"
        ".observe(document.body, {subtree: true, childList: true})"
    )
    await place.talk.hub.prompt(MIA, session, c.Prompt(text="make a file"))
    await tab.until("window.hit && document.querySelector('.card:not(.closed)')")
    await tab.type("a")
    await asyncio.sleep(0.5)
    view = await place.talk.question(session)
    assert view.state == "open"
    await asyncio.sleep(OLD_ENOUGH)
    await tab.type("a")  # the focus is in it, and it stood there long enough
    await answered(place, view.id)


async def test_f09_each_part_of_a_command_is_a_row_with_its_own_verdict_below_the_whole_command(
    house: House, place: Place, tab: Tab
) -> None:
    rig.checkout(house)
    await at_card(place, tab, "Switch checkout totals")
    assert await tab.text(f"{CARD} .cmd") == f"$ {MIGRATE}"
    rows = await tab.run(
        f"[...document.querySelectorAll('{CARD} .parts tbody tr')].map((row) =>"
        " [row.children[1].querySelector('code').innerText, row.dataset.verdict, row.children[2].innerText])"
    )
    assert [row[:2] for row in rows] == [
        ["cd db", "allow"],
        ["npm run migrate -- --env local", "ask"],
        ["> /tmp/migrate.log", "ask"],
    ]
    assert all(row[2] for row in rows)


async def test_f11_a_reload_shows_the_same_card_and_an_answer_elsewhere_closes_it_with_who_and_where(
    house: House, place: Place, tab: Tab
) -> None:
    rig.questions(house)
    session, question = await at_card(place, tab, "make a file")
    other = await tab.another()
    await tab.call("Page.reload")
    await tab.until(f"document.querySelector('{CARD}')?.dataset.question === '{question}'", 5)
    await other.go(f"{place.address.url}/s/{session}#q{question}")
    await other.until(f"document.querySelector('{CARD}')?.dataset.question === '{question}'")
    await asyncio.sleep(OLD_ENOUGH)
    await other.run(f"document.querySelector('{ALLOW}').click()")
    await tab.until("document.querySelector('.card.closed')?.innerText.includes('you')", 3)
    await place.talk.turns(session, 1)
    await tab.until("document.querySelector('[data-receipt]')?.innerText.includes('Mia')")
    # two answers at once: one wins, and Claude hears one
    await place.talk.hub.prompt(MIA, session, c.Prompt(text="make a file"))
    second = await place.talk.question(session)
    both = await asyncio.gather(
        *(place.talk.hub.answer(who, second.id, c.Answer(behavior="allow")) for who in (MIA, JO)), return_exceptions=True
    )
    assert sum(isinstance(one, AlreadyAnswered) for one in both) == 1
    await place.talk.turns(session, 2)
    assert sum(line["type"] == "control_response" for line in house.heard_by_cli()) == 2


async def test_f12_once_is_chosen_on_every_card_whatever_was_chosen_before(house: House, place: Place, tab: Tab) -> None:
    rig.checkout(house)
    rig.questions(house)
    session, question = await at_card(place, tab, "Switch checkout totals")
    chosen = f"document.querySelector('{CARD} .seg input:checked')?.parentElement.innerText"
    assert await tab.run(chosen) == "Once" and await tab.text(ALLOW) == "Allow once"
    await asyncio.sleep(OLD_ENOUGH)
    await tab.run(f"document.querySelectorAll('{CARD} .seg input')[1].click()")
    await tab.run(f"document.querySelector('{ALLOW}').click()")
    await answered(place, question)
    await place.talk.turns(session, 1)
    await place.talk.hub.prompt(MIA, session, c.Prompt(text="make a file"))
    await tab.until(f"document.querySelector('{CARD}') && document.querySelector('{CARD}').dataset.question !== '{question}'")
    assert await tab.run(chosen) == "Once"


async def test_f13_the_rules_of_a_grant_are_shown_first_and_stored_as_they_were_shown(
    house: House, place: Place, tab: Tab
) -> None:
    rig.checkout(house)
    session, question = await at_card(place, tab, "Switch checkout totals")
    await asyncio.sleep(OLD_ENOUGH)
    await tab.run(f"document.querySelectorAll('{CARD} .seg input')[1].click()")
    await tab.until(f"document.querySelector('{CARD} .granted')")
    shown = await tab.run(f"[...document.querySelectorAll('{CARD} .granted')].map((rule) => rule.innerText)")
    words = await tab.text(f"{CARD} .rule")
    assert "until the session ends" in words and ("Matches" in words or "recorded before" in words)
    assert await tab.text(ALLOW) == "Allow for this session"
    await tab.run(f"document.querySelector('{ALLOW}').click()")
    await answered(place, question)
    stored = [rule for rule in await place.talk.hub.rules(MIA) if rule.question == question]
    assert sorted(rule.text for rule in stored) == sorted(shown) and all(rule.place == session for rule in stored)


async def test_f18_a_reason_that_was_typed_is_what_claude_hears_and_the_turn_goes_on(
    house: House, place: Place, tab: Tab
) -> None:
    rig.questions(house)
    session, _ = await at_card(place, tab, "make a file")
    await asyncio.sleep(OLD_ENOUGH)
    await tab.run(f"document.querySelector('{CARD} .ft .d').click()")
    await tab.until(f"document.querySelector('{CARD} .reason') === document.activeElement")
    await asyncio.sleep(OLD_ENOUGH)
    await tab.type("use the test folder\r")
    end = (await place.talk.turns(session, 1))[0]
    assert end["text"] == "Refused: use the test folder" and not end.get("interrupted")
    await tab.until("document.querySelector('[data-receipt]')?.innerText.includes('use the test folder')")


async def test_f20_choices_are_sent_together_with_own_words_and_by_no_single_press(house: House, place: Place, tab: Tab) -> None:
    rig.questions(house)
    session, question = await at_card(place, tab, "keep the old view?")
    await asyncio.sleep(OLD_ENOUGH)
    await tab.run(f"document.querySelectorAll('{CARD} fieldset')[0].querySelectorAll('input[type=radio]')[0].click()")
    await tab.run(f"document.querySelectorAll('{CARD} fieldset')[1].querySelectorAll('input[type=checkbox]')[0].click()")
    assert (await place.talk.hub.question(MIA, question)).state == "open"
    await tab.run(f"document.querySelectorAll('{CARD} fieldset')[1].querySelector('.own').focus()")
    await tab.type("the Norwegian one")
    await tab.until(f"!document.querySelector('{ALLOW}').disabled")
    await tab.run(f"document.querySelector('{ALLOW}').click()")
    await place.talk.turns(session, 1)
    given = next(line for line in house.heard_by_cli() if line["type"] == "control_response")
    answers = given["response"]["response"]["updatedInput"]["answers"]
    assert answers == {
        "Keep the old view for a release?": "Keep it",
        "Which reports should I check?": "Revenue, the Norwegian one",
    }


async def test_f21_a_plan_preselects_the_careful_way_and_feedback_keeps_planning(house: House, place: Place, tab: Tab) -> None:
    rig.questions(house)
    session, question = await at_card(place, tab, "flaky test, plan")
    ways = await tab.run(f"[...document.querySelectorAll('{CARD} input[type=radio]')].map((way) => [way.value, way.checked])")
    assert ways == [["fresh", False], ["keep_edits", False], ["keep_ask", True]]
    assert "Replace sleep(0.1) by the ready event" in await tab.text(f"{CARD} .plan")
    await asyncio.sleep(OLD_ENOUGH)
    await tab.run(f"document.querySelector('{CARD} .reason').focus()")
    await tab.type("also CI\r")
    await answered(place, question)
    end = (await place.talk.turns(session, 1))[0]
    assert "also CI" in end["text"]


async def test_what_a_plan_wishes_is_granted_only_when_it_is_ticked_and_word_for_word(
    house: House, place: Place, tab: Tab
) -> None:
    rig.questions(house)
    session, question = await at_card(place, tab, "flaky test, plan")
    wish = f"document.querySelector('{CARD} input[type=checkbox]')"
    assert await tab.run(f"{wish}.checked") is False
    assert await tab.text(f"{CARD} .granted") == "Bash(npm test)"
    await asyncio.sleep(OLD_ENOUGH)
    await tab.run(f"{wish}.click()")
    await tab.run(f"document.querySelector('{ALLOW}').click()")
    await answered(place, question)
    given = [rule for rule in await place.talk.hub.rules(MIA) if rule.question == question]
    assert [(rule.text, rule.place) for rule in given] == [("Bash(npm test)", session)]


async def test_f19_and_f06_an_edit_is_a_difference_to_the_file_and_its_buttons_are_in_view(
    house: House, place: Place, tab: Tab
) -> None:
    rig.checkout(house)
    rig.questions(house)
    await at_card(place, tab, "edit it")
    text = await tab.text(f"{CARD} .diff")
    assert "return roundHalfEven(sum(exact), 2)" in text and 'import { round } from "./money"' in text
    for width, height in ((390, 844), (1280, 720)):
        await tab.size(width, height)
        await asyncio.sleep(0.3)
        assert await tab.run(
            f"[...document.querySelectorAll('{CARD} .ft button')].filter((button) => button.offsetParent)"
            ".every((button) => { const box = button.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight"
            " && box.left >= 0 && box.right <= innerWidth; })"
        )
