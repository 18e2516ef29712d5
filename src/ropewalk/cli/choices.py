"""An AskUserQuestion on a terminal: numbers, several, or own words. Refuses to send before the person has seen what goes out."""

from __future__ import annotations

from ..client.question import Question
from ..protocol.answers import Choice, Deny
from .hand import Decision, Hand

SKIPPED = "The user skipped the question."


async def choose_answers(hand: Hand, question: Question) -> Decision:
    """Ask one after the other, show all answers, send on ``y``."""
    choices, settled = question.choices, False
    while True:
        answers: dict[str, str] = {}
        for number, choice in enumerate(choices, 1):
            _draw(hand, choice, f"{number} of {len(choices)}" if len(choices) > 1 else "")
            if not settled:
                await hand.keyboard.settle()
                settled = True
            answer = await _answer(hand, choice)
            if answer is None:
                break
            answers[choice.question] = answer
        decision = await _send(hand, question, answers)
        if decision is not None:
            return decision


async def _answer(hand: Hand, choice: Choice) -> str | None:
    """None when the person wants out (^D); an empty line is no answer."""
    shown = "numbers or own words" if choice.multiple else "number or own words"
    while True:
        typed = await hand.line(f"{shown} (^D: skip)")
        if typed is None:
            return None
        if typed:
            return meant(choice, typed)


def meant(choice: Choice, typed: str) -> str:
    """``1``, ``1,3`` or ``1, something else`` → labels and words; what is no number of an option is taken as written."""
    parts = [part.strip() for part in typed.split(",")] if choice.multiple else [typed]
    if choice.multiple and len(parts) == 1 and all(word.isdecimal() for word in typed.split()):
        parts = typed.split()
    return ", ".join(_label(choice, part) for part in parts if part)


def _label(choice: Choice, part: str) -> str:
    number = int(part) if part.isdecimal() and len(part) < 4 else 0
    return choice.options[number - 1].label if 1 <= number <= len(choice.options) else part


async def _send(hand: Hand, question: Question, answers: dict[str, str]) -> Decision | None:
    for text, answer in answers.items():
        hand.screen.say(f"  {hand.screen.letters(text)}  {hand.screen.look.glyphs.go} {hand.screen.letters(answer)}")
    whole = len(answers) == len(question.choices)
    keys = ("y", "n", "d", "D") if whole else ("n", "d", "D")
    key = await hand.key(keys, ("Send? y, " if whole else "") + "n: answer again, d: skip, D: skip and stop")
    match key:
        case "y":
            return Decision(question.choose(answers), f"answered: {', '.join(answers.values())}")
        case "d":
            return Decision(Deny(SKIPPED), "denied: skipped")
        case "D":
            return Decision(Deny(SKIPPED, interrupt=True), "denied: skipped, stopped", stops=True)
    return None


def _draw(hand: Hand, choice: Choice, where: str) -> None:
    screen = hand.screen
    several = "several" if choice.multiple else ""
    notes = "   ".join(note for note in (where, several) if note)
    screen.say()
    head = screen.letters(choice.question)
    screen.say(screen.paint("amber", f"{screen.look.glyphs.asks} {head}") + (f"   {notes}" if notes else ""))
    room = max((len(option.label) for option in choice.options), default=0)
    for number, option in enumerate(choice.options, 1):
        label = screen.letters(option.label)
        words = screen.wrapped(option.description or "", screen.look.width - room - 10)
        screen.say(f"  {screen.key(f'{number:>2}', label)}{' ' * (room - len(option.label))}   {words[0]}".rstrip())
        screen.lines(f"{' ' * (room + 9)}{more}" for more in words[1:])
