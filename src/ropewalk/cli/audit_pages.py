"""The help pages of ``ropewalk audit`` and ``why``: one screen each. Refuses examples that do not work as typed."""

from __future__ import annotations

AUDIT = """\
What was allowed and denied, newest first: by whom, by which rule, or by claude
itself (its settings, hooks or mode).
usage: ropewalk audit [filters] [-n N] [--json] [--csv] [-q]

  ropewalk audit                                the last fifty
  ropewalk audit --since 1h --verdict deny      30m, 1h, 7d, or 2026-11-17
  ropewalk audit --wildcard -n 10               answered by rules with a star
  ropewalk audit --because cli --tool Bash      what claude let run by itself
  ropewalk audit --csv > audit.csv              all of it, for a spreadsheet

filters --session ID  --tool NAME  --verdict allow|deny  --by NAME  --door NAME
        --because person|rule|grant|built_in|mode|policy|cli  --text WORDS
        --since TIME  --until TIME  --wildcard
        --outside (names files outside of the session's folder)
output  -n, --last N  --json (a line each; all, without -n)  --csv (all)
        -q (ids, for ropewalk why)  --color WHEN  --ascii
exit: 0 listed, or none there - 2 wrong usage - 3 no hub - 4 no such session
"""

WHY = """\
Why did this run, or not? The rule or the person, the parts, the input as asked
and as run, and what takes it back.
usage: ropewalk why [ID] [CALL] [--json] [--color WHEN] [--ascii]

  ropewalk why                                  the last call in this folder
  ropewalk why . last                           the same
  ropewalk why -                                of the session used last
  ropewalk why - --json                         all that is known
  ropewalk why - --ascii --color never

ID: four letters or more of a session's start - . the session of this folder
    - the last one used - or a verdict, as ropewalk audit -q prints them
CALL: last, '#12' (a number of ropewalk logs), or its own id (toolu_...)
exit: 0 said - 2 wrong usage - 3 no hub - 4 no such call, or not decided yet
"""

AUDIT_PAGES = {"audit": AUDIT, "why": WHY}
