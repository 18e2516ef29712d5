"""The help pages: one screen each, examples that work as typed. Refuses to list what does not exist."""

from __future__ import annotations

from .audit_pages import AUDIT_PAGES
from .hub_pages import HUB_PAGES
from .rules_pages import RULES_PAGES

CODES = """\
exit: 0 done - 1 the turn failed - 2 wrong usage - 3 no hub - 6 a question is
      open, nobody may answer it - 8 no claude or not signed in - 9 timed out"""

MAIN = """\
ropewalk holds many Claude Code sessions in one hand: prompts in, answers and
questions out. Bare `ropewalk` says what needs you and what is at work.
usage: ropewalk COMMAND [options]          ropewalk COMMAND --help

  serve                    the hub: sessions live in it, and outlive terminals
  run                      one prompt to its end; questions answered by a key
  new  prompt              begin a session, speak to one; don't wait
  inbox  answer            what is asked, over all sessions; answer it
  ls  show  logs           the list, one session, what happened in it
  interrupt  stop  wake    its turn, its process
  rules                    what runs unasked, what is asked, what never runs
  audit  why               what was allowed and denied, and because of what
  token  runner            who may come in; where the work is done
  doctor  sim  completion  what is amiss; stand-ins; for bash, zsh, fish
  version  help            this; help [command], or: questions

  ropewalk run --sim "hello"                    try it; needs no account
  ropewalk run "Why does test_login fail?"      with claude, in this folder
  git diff | ropewalk run "Review this"         stdin is added to the prompt
  ropewalk run --json --no-input "List the TODOs" > answer.json
  ropewalk doctor                               when something is amiss

exit: 0 done - 1 failed - 2 wrong usage - 3 no hub - 4 not found - 5 not allowed
      6 question open - 7 answered already - 8 no claude - 9 timed out - 130 ^C
"""

RUN = f"""\
Run one prompt to its end; Claude's questions are answered with a key. The hub
has the session; where none runs, one is started. --no-hub: without it.
usage: ropewalk run [options] PROMPT              ("-" reads it from stdin)

  ropewalk run --sim "hello"                        try it; needs no account
  ropewalk run "Why does test_login fail?"          with claude, in this folder
  git diff | ropewalk run "Review this"             stdin is added to it
  ropewalk run --continue "And now fix it"          the last session goes on
  ropewalk run --no-input --allow 'Bash(git log:*)' --json "Who wrote this?"

where   --cwd DIR  --sim[=SCENARIO]  --no-hub, and with it: --cli PATH
        --api-billing  --system-prompt TEXT  --transport websocket|hybrid
session --resume ID  --continue  --fork  --model NAME
rights  --mode default|acceptEdits|plan|dontAsk|bypassPermissions|auto
        --allow RULE  --deny RULE (claude's own rules; again and again)
        --on-question wait|deny|fail (where nobody can be asked)  --no-input
limits  --max-turns N  --max-budget-usd X  --timeout 90s|5m|1h
output  --output text|json|stream-json  --json  --thinking  -q  -v
        --color auto|always|never  --ascii

{CODES}
"""

DOCTOR = """\
Look at the claude of this machine: found, speaks, signed in, safe, known to us;
and at the hub: its database (read whole where no hub runs), its runner.
usage: ropewalk doctor [--cli PATH] [--probe] [--json] [--ascii] [--color WHEN]
       ropewalk doctor --salvage [--yes] [--json]

  ropewalk doctor                               the claude on the PATH
  ropewalk doctor --probe                       and each request that it knows
  ropewalk doctor --json                        for programs
  ropewalk doctor --cli ~/bin/claude            another one
  ROPEWALK_CLI=~/bin/claude ropewalk doctor     the same by environment

No model is called and no session is left behind. --salvage saves what can be
read of a damaged database into a new file; --yes puts that in its place without
asking. The damaged one is kept.
exit: 0 all is well, or warnings only; salvaged and in place - 1 something has
      to be put right - 4 no database - 6 salvaged, not in place: nobody agreed
"""

SIM = """\
Stand-ins to try things and to test your own programs against.
usage: ropewalk sim claude [flags of claude]
       ropewalk sim model [SCENARIO] [--port N] [--host ADDRESS] [--record FILE]

  ropewalk run --no-hub --sim --on-question deny "hello"      through run
  ropewalk run --no-hub --sim=my.toml "hello"   with a scenario of your own
  ropewalk sim claude --version                 it takes claude's own flags
  ropewalk sim model --port 8765                a Messages API on loopback
  ropewalk sim model --help                     this page

claude reads ROPEWALK_SIM_SCENARIO, _VERSION, _LEDGER, _SPEED, _FAULT; the pages
docs/how-to/sim-claude.md and docs/how-to/sim-model.md describe the scenarios.
"""

COMPLETION = """\
Print a completion script for a shell.
usage: ropewalk completion bash|zsh|fish

  eval "$(ropewalk completion bash)"            bash, now
  ropewalk completion bash >> ~/.bashrc         bash, from now on
  eval "$(ropewalk completion zsh)"             zsh, now
  ropewalk completion zsh >> ~/.zshrc           zsh, from now on
  ropewalk completion fish | source             fish, now
"""

VERSION = """\
Say what this is.
usage: ropewalk version [--json]
"""

QUESTIONS = """\
Questions: what claude may not do by itself it asks; you answer with a key.

  a  allow once            d  deny; your reason goes to claude, which goes on
  s  allow, and what the rules beside it say, till this session ends
  A  the same in this folder from now on       + -  wider, narrower rules
  c  claude's own offer: kept in its settings, and it asks no more
  D  deny and end the turn      e  your own version, in $EDITOR or on a line
  w  why am I asked             ?  help           ^C  interrupts the turn
Rules are shown letter by letter, with what they matched before, and granted
after a y. Without a hub, s and A grant claude's own offers.

A plan:  1  fresh start: a new conversation that knows only the plan
         2  go on and accept edits      3  go on and ask before each edit
         d  not yet, with your words    D  keep the plan, stop here
         o  not yet, an outline first   t  tick what it asks to be allowed
Choices: a number, several numbers with commas, or your own words; then y sends.

What was typed before a card was drawn does not count; Enter answers nothing.
Where nobody can be asked (no terminal, or --no-input), --on-question says what
happens: wait (another face answers; the default with a hub), deny (claude goes
on without), fail (exit 6; the default without a hub). Later, from any terminal:
  ropewalk inbox                                what is asked, longest first
"""

PAGES = {
    "": MAIN,
    "run": RUN,
    "doctor": DOCTOR,
    "sim": SIM,
    "sim model": SIM,
    "completion": COMPLETION,
    "version": VERSION,
    "help": MAIN,
    "questions": QUESTIONS,
    **HUB_PAGES,
    **RULES_PAGES,
    **AUDIT_PAGES,
}
"""By the words behind ``ropewalk help``."""
