"""``answer``: an open question, decided by a card and keys or by flags. Refuses two verdicts at once, and to decide unasked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from ...errors import AlreadyAnswered, Conflict, NotFound, UsageError
from ...events.commands import Answer, Remember
from ...events.events import QuestionClosed
from ...events.views import QuestionView, SessionView
from ...protocol.answers import DENIED, Choice, choices_of
from ..choices import meant
from ..codes import UNANSWERED, Complaint
from ..keys import PersonGone
from ..relay.answers import AtDesk
from ..relay.drive import AGAIN
from ..relay.question import answer_of, closed_words, question_of
from ..run import complain, keyboard_here
from ..safe import one_line
from ..screen import Screen, look_around
from ..statuses import span
from ..which import checked
from .asking import Asking
from .granting import Granting
from .verdict import PLANS, YES, Verdict


async def answer(asking: Asking, word: str, verdict: Verdict) -> int:
    verdict.check()
    view = await question_meant(asking, word)
    if not verdict.given:
        return await _by_hand(asking, view, verdict)
    given = await Granting(asking, view, verdict).answer() if verdict.grants else flags_answer(view, verdict)
    if given is None:
        return UNANSWERED
    return _told(asking, await asking.remote.answer(view.id, given), _because(verdict, view, given))


async def question_meant(asking: Asking, word: str) -> QuestionView:
    """A question by its own id, or the oldest open one of a session. Raises ``AlreadyAnswered``, ``NotFound``."""
    open_ones = await asking.remote.questions()
    if word not in (".", "-"):
        own = [one for one in open_ones if one.id.startswith(checked(word))]
        if len(own) == 1:
            return own[0]
        for state in ("answered", "withdrawn", "lost", "expired"):
            closed = [one for one in await asking.remote.questions(state) if one.id == word]
            if closed:
                raise late(closed[0])
    session = await asking.session(word)
    found = [one for one in open_ones if one.session == session.id]
    if found:
        return found[0]
    raise await _none_open(asking, session)


async def _none_open(asking: Asking, session: SessionView) -> Exception:
    answered = await asking.remote.questions("answered", session=session.id)
    if answered:
        return late(max(answered, key=lambda one: one.closed_at or 0.0))
    return NotFound("no question is open in this session; ropewalk inbox lists those that are")


def late(view: QuestionView) -> AlreadyAnswered:
    """Who was first, where and when, and what the answer was."""
    verdict = view.verdict or {}
    kind = str(verdict.get("because_kind") or "")
    ago = f" {span(time.time() - view.closed_at)} ago" if view.closed_at else ""
    behavior = str(verdict.get("behavior") or "")
    closed = QuestionClosed(
        question=view.id, fate=cast(Any, view.state), behavior=cast(Any, behavior or None), because_kind=kind,
        because=str(verdict.get("because") or ""),
    )  # fmt: skip
    what = closed_words(closed)
    if view.asks == "choice" and behavior == "allow":
        what = one_line("; ".join(map(str, (verdict.get("answers") or {}).values()))) or "answered"
    if view.state != "answered":
        return AlreadyAnswered(f"{what}{f' That was{ago}.' if ago else ''}", fate=view.state)
    who = f" by {view.by}" if view.by else ""
    where = f" in {view.door}" if view.door else ""
    return AlreadyAnswered(f"already answered{who}{where}{ago}: {what}.", by=view.by, door=view.door)


# -- by flags


def flags_answer(view: QuestionView, verdict: Verdict) -> Answer:
    """Raises ``UsageError`` when this question can't be answered so."""
    if verdict.deny is not None:
        return Answer(behavior="deny", message=verdict.deny or DENIED, interrupt=verdict.stop)
    if verdict.plan is not None:
        return _plan(view, verdict)
    if verdict.choose:
        return Answer(behavior="allow", answers=_chosen(view, verdict.choose))
    if view.asks == "plan":
        raise UsageError("this is a plan: say how to go on with --plan keep-ask (or keep-edits, fresh, revise, stop)")
    if view.asks == "choice":
        raise UsageError("this is a choice: answer it with --choose 1, or skip it with --deny")
    if verdict.suggestion is None:
        return Answer(behavior="allow")
    if not 1 <= verdict.suggestion <= len(view.suggestions):
        raise UsageError(f"--suggestion {verdict.suggestion}: this question offers {len(view.suggestions)}")
    return Answer(behavior="allow", remember=Remember(suggestion=verdict.suggestion - 1))


def _plan(view: QuestionView, verdict: Verdict) -> Answer:
    if view.asks != "plan":
        raise UsageError("this is no plan; answer it with --allow or --deny")
    way = PLANS[verdict.plan or ""]
    behavior = "deny" if way in ("revise", "outline", "stop") else "allow"
    return Answer(behavior=cast(Any, behavior), plan=cast(Any, way), message=verdict.words, interrupt=way == "stop")


def _chosen(view: QuestionView, given: Sequence[str]) -> dict[str, str]:
    """``1`` for the only (or first unanswered) one, ``2=Revenue,the Norwegian one`` for the second."""
    choices = choices_of(question_of(view).input)
    answers: dict[str, str] = {}
    for place, one in enumerate(given, 1):
        head, sign, rest = one.partition("=")
        number, words = (int(head), rest) if sign and head.isdecimal() else (place, one)
        if not 1 <= number <= len(choices):
            raise UsageError(f"--choose {one}: this asks {len(choices)} question{'' if len(choices) == 1 else 's'}")
        answers[choices[number - 1].question] = meant(choices[number - 1], _offered(choices[number - 1], words))
    missing = [choice.question for choice in choices if choice.question not in answers]
    if missing:
        raise UsageError(f"--choose is missing for: {missing[0]}")
    return answers


def _offered(choice: Choice, words: str) -> str:
    """A bare number means an option. Where the options are numbers themselves, another one may be meant as written."""
    count = len(choice.options)
    numbers = any(option.label.isdecimal() for option in choice.options)
    wrong = [part for part in words.replace(",", " ").split() if part.isdecimal() and not 1 <= int(part) <= count]
    if wrong and not numbers and all(part.isdecimal() for part in words.replace(",", " ").split()):
        listed = ", ".join(f"{number} {option.label}" for number, option in enumerate(choice.options, 1))
        raise UsageError(f"--choose {wrong[0]}: there are {count} options: {listed}; or say it in words of your own")
    return words


def _because(verdict: Verdict, view: QuestionView, given: Answer) -> str:
    if verdict.deny is not None:
        said = f": {verdict.deny}" if verdict.deny else ""
        return f"denied{' and stopped' if verdict.stop else ''}{said}"
    if verdict.plan is not None:
        return f"plan: {verdict.plan}"
    if verdict.choose:
        return f"answered {'; '.join(_chosen(view, verdict.choose).values())}"
    if given.remember is not None and given.remember.rules:
        return f"allowed, and granted {'  '.join(given.remember.rules)}"
    return "allowed, and granted" if verdict.suggestion is not None else "allowed once"


def _told(asking: Asking, view: QuestionView, because: str) -> int:
    if asking.as_json:
        asking.object(view)
    elif not asking.ids_only:
        line = one_line(view.line or view.tool, ascii_only=asking.screen.look.ascii)
        asking.screen.row(f"{because}: {line.partition(': ')[2] or line}")
    return 0


# -- by hand


async def _by_hand(asking: Asking, view: QuestionView, verdict: Verdict) -> int:
    """The card on stderr, the key from the terminal."""
    screen = Screen(look_around("auto" if asking.screen.look.color else "never", ascii_only=asking.screen.look.ascii))
    keyboard = keyboard_here(verdict.no_input)
    if keyboard is None:
        words = f"a question is open and nobody may answer it here: {view.line or view.tool} (question {view.id})."
        complain(screen, Complaint(UNANSWERED, f"{words} Use {YES.get(view.asks, '--allow')} or --deny."))
        return UNANSWERED
    session = await asking.remote.get(view.session)
    desk = AtDesk(asking.remote, screen, keyboard, session.cli_version, far=not asking.found.near, edit=verdict.edit)
    while True:
        try:
            decision = await desk.decide(view, 0)
        except PersonGone:
            decision = None
        if decision is None:
            return UNANSWERED
        try:
            return _told(asking, await asking.remote.answer(view.id, answer_of(view, decision)), decision.because)
        except (Conflict, UsageError) as refused:
            if isinstance(refused, Conflict) and refused.code not in AGAIN:
                raise
            screen.say(f"  {screen.harmless(str(refused))}")
