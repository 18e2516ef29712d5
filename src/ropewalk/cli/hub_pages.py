"""The help pages of the commands that speak to a hub: one screen each. Refuses examples that do not work as typed."""

from __future__ import annotations

IDS = """\
ID: four letters or more of its start - . the session of this folder - - the
    last one used"""

SERVE = """\
Run the hub: sessions live in it and outlive terminals, this one too.
usage: ropewalk serve [--port N] [--host ADDRESS] [--sim] [--detach] [--stop]

  ropewalk serve                                in this terminal; ^C stops it
  ropewalk serve --detach                       in the background
  ropewalk serve --stop                         end it; turns go on
  ropewalk serve --detach --port 0              on any free port
  ropewalk serve --detach --sim --json          every session on the stand-in

The link that it prints signs a browser in, once. It listens on this machine
alone; beyond it only with TLS or a declared proxy: docs/how-to/hub.md.
exit: 0 stopped, or started - 2 wrong usage, or the port is taken - 1 failed
"""

NEW = f"""\
Begin a session and leave it to the hub.
usage: ropewalk new [PROMPT] [options]

  ropewalk new "Upgrade to pytest 9"            at work, in this folder
  ropewalk new --cwd . --title "Tax API"        without a prompt yet
  ropewalk new --mode plan "Rename tables"      plan first
  ropewalk new --sim "hello"                    on the stand-in
  ropewalk new -q "List the TODOs"              prints the id alone

options --cwd DIR  --title TEXT  --tag WORD  --model NAME  --mode MODE
        --resume ID (a session of claude's own)  --sim
        --json  -q  --color WHEN  --ascii
{IDS}
exit: 0 begun - 2 wrong usage - 3 no hub - 5 not allowed
"""

LS = """\
List sessions: those that need you first, then those at work, then the rest.
usage: ropewalk ls [options]

  ropewalk ls                                   all but the archived ones
  ropewalk ls --status needs_you                also: working, quiet, failed ...
  ropewalk ls --text "tax" --tag shop           by words and tags
  ropewalk ls --archived --limit 20
  ropewalk ls -q --status quiet                 ids alone

options --status WORD  --text WORDS  --tag WORD  --archived  --limit N
        --json  -q  --color auto|always|never  --ascii
exit: 0 listed, or none there - 2 wrong usage - 3 no hub
"""

SHOW = f"""\
Show one session: status and why, questions, queue, Claude's last words.
usage: ropewalk show ID [--json] [-q] [--color WHEN] [--ascii]

  ropewalk show .                               the session of this folder
  ropewalk show -                               the last one used
  ropewalk show . --json                        the snapshot, as the API has it
  ropewalk show - -q                            its whole id
  ropewalk show . --ascii --color never

{IDS}
exit: 0 shown - 2 wrong usage - 3 no hub - 4 no such session
"""

PROMPT = f"""\
Send a prompt to a session. It is stored, then queued; --wait follows it.
usage: ropewalk prompt ID [PROMPT] [options]      (no PROMPT: read from stdin)

  ropewalk prompt . "And now the docs"          after the turns before it
  ropewalk prompt . --now "Use the test db"     into the turn that runs
  ropewalk prompt . --instead "Stop, do this"   in place of that turn
  ropewalk prompt - --wait "Done?"              like run: to the end of its turn
  git diff | ropewalk prompt . "Review this"    stdin is added to the prompt

waiting --wait  --timeout 90s|5m|1h  --on-question wait|deny|fail  --no-input
output  --json  -q  --color WHEN  --ascii
{IDS}
exit: 0 stored, or done - 1 the turn failed - 3 no hub - 4 no such session
      6 a question is open - 9 timed out - 130 ^C
"""

INBOX = """\
List what is asked, over all sessions, longest waiting first.
usage: ropewalk inbox [--json] [-q] [--color WHEN] [--ascii]

  ropewalk inbox
  ropewalk inbox --json                         the questions, whole
  ropewalk inbox -q                             their ids alone
  ropewalk inbox --ascii                        ! in place of a diamond
  ropewalk inbox --color never

exit: 0 listed, or nobody needs you - 2 wrong usage - 3 no hub
"""

ANSWER = """\
Answer an open question: shows the card and asks; with a verdict it does not.
usage: ropewalk answer ID [verdict]    (ID of a session, or of a question)

  ropewalk answer .                             the card, then a key, as in run
  ropewalk answer . --allow                     once
  ropewalk answer . --deny "use the test db"    Claude goes on with that
  ropewalk answer . --always --yes              and grant the narrowest rule
  ropewalk answer . --choose 1 --choose "2=VAT, the Norwegian one"
  ropewalk answer . --plan keep-ask             keep-edits fresh outline ...

verdict --allow  --deny REASON [--stop: and end the turn]  --edit (your version)
        --choose [Q=]ANSWER  --plan fresh|keep-edits|keep-ask|outline|stop,
        --plan revise WORDS
grant   --session (till it ends)  --always [--in DIR|everywhere]  with them:
        --rule RULE  --for 10m  --uses N; read and agreed to, unless --yes
        --suggestion N: hand the Nth of claude's own offers back to it
output  --no-input  --json  -q  --color WHEN  --ascii
exit: 0 answered - 2 can't be meant - 3 no hub - 4 no such question - 5 not
      allowed - 6 open, and nobody may answer here - 7 somebody was first
"""

STEERING = f"""\
A session's turn and process. Its conversation stays; a prompt wakes it.
usage: ropewalk interrupt|wake ID [--json] [-q]
       ropewalk stop ID [--patience SECONDS] [--json] [-q]

  ropewalk interrupt .                          end the turn that runs
  ropewalk stop .                               end the process, rung by rung
  ropewalk stop - --patience 2                  two seconds between the rungs
  ropewalk wake .                               start it again
  ropewalk wake - --json

{IDS}
exit: 0 done - 1 it could not be - 2 wrong usage - 3 no hub - 4 no such session
      5 not allowed
"""

LOGS = f"""\
What happened in a session: events, or the wire; as it was, and as it comes.
usage: ropewalk logs ID [-f] [--after SEQ] [-n N] [--lines] [--json]

  ropewalk logs .                               everything, oldest first
  ropewalk logs . -n 20                         the last twenty
  ropewalk logs . --after 4812 --json           events as the API has them
  ropewalk logs - --lines                       what claude was told and said
  ropewalk logs - --last 5 --ascii --color never

-f, --follow goes on as it happens, over a restart of the hub too: no line is
missing or doubled. -n, --last N. With --lines, --after takes a cursor.
{IDS}
exit: 0 - 3 no hub - 4 no such session - 130 ^C
"""

TOKEN = """\
Who may come in: one-time codes for browsers, tokens for programs.
usage: ropewalk token new [--role ROLE] [--name TEXT] [--expires 1h] [--qr]
       ropewalk token new --program [--role ROLE] [--name TEXT] [--expires 1h]
       ropewalk token ls | ropewalk token revoke ID    [--json] [-q]

  ropewalk token new                            a link that signs in, once
  ropewalk token new --role watch --name tv     may look, no more
  ropewalk token new --program --name ci -q     a token for a program
  ropewalk token ls                             what is in use
  ropewalk token new --qr                       the link for a phone's camera

roles: watch, prompt and answer (side by side), admin; --role again and again.
A secret is shown once: the hub keeps its hash.
exit: 0 done - 2 wrong usage - 3 no hub - 4 no such token - 5 not allowed
"""

RUNNER = """\
Where the work is done: the processes that hold claude while the hub is away.
usage: ropewalk runner ls [--json] [-q]

  ropewalk runner ls                            each with what it holds
  ropewalk runner ls --json                     for programs
  ropewalk runner ls -q                         ids alone
  ropewalk runner ls --help                     this page
  ropewalk runner                               the same

exit: 0 listed - 3 no hub
"""

HUB_PAGES = {
    "serve": SERVE,
    "new": NEW,
    "ls": LS,
    "show": SHOW,
    "prompt": PROMPT,
    "inbox": INBOX,
    "answer": ANSWER,
    "interrupt": STEERING,
    "stop": STEERING,
    "wake": STEERING,
    "logs": LOGS,
    "token": TOKEN,
    "runner": RUNNER,
}
