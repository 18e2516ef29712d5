"""The help pages of ``rules add``, ``rm``, ``try`` and the like: one screen each. Refuses examples that do not work as typed."""

from __future__ import annotations

RULES = """\
Rules: what runs unasked, what is asked, what never runs. Bare: the list.
usage: ropewalk rules [ls] [--all] [--ended] [--json] [-q]
       ropewalk rules add|try|rm|off|on|suggest|claude|test ...    each --help

  ropewalk rules                                your own; --all: built in too
  ropewalk rules try 'Bash(git diff:*)'         what it would have changed
  ropewalk rules add allow 'Bash(git diff:*)' --in .
  ropewalk rules suggest                        what would have saved questions
  ropewalk rules claude                         Claude Code's own, for show
  ropewalk rules test --rules my.toml 'git status; rm -rf ~'

A rule is written as Claude Code writes it: Bash(git diff:*) is git diff with
any arguments, Bash(npm run test) exactly that, Read(src/**) and Edit(src/**)
files of this folder (//x from the root, ~/x from home), WebFetch(domain:h).
Deny beats ask beats allow; where no rule says anything you are asked. A command
is taken apart, and each of its parts needs a rule. More: docs/how-to/rules.md
options --all  --ended  --json  -q  --color WHEN  --ascii
exit: 0 done - 2 wrong usage - 3 no hub - 4 no such rule - 5 not allowed
"""

RULES_ADD = """\
Make a rule, after it was tried on the last 1000 requests.
usage: ropewalk rules add allow|ask|deny RULE [where] [end] [options]

  ropewalk rules add allow 'Bash(git diff:*)'           everywhere
  ropewalk rules add allow 'Edit(src/**)' --in .        in this folder
  ropewalk rules add ask 'Bash(git push:*)' --note "look twice"
  ropewalk rules add allow 'Bash(npm ci)' --for 10m --uses 3
  ropewalk rules add deny 'Bash(curl:*)' -q             prints its id

Where people decided otherwise before, that is shown and a y is asked for; --yes
is the y of somebody who has read it.
where   --in DIR (and below)  --session ID  (neither: everywhere)
end     --for 10m|8h  --uses N  (an allow only; a session's ends with it)
options --note TEXT  --yes  --json  -q  --color WHEN  --ascii
exit: 0 saved - 2 no such rule can be meant - 3 no hub - 5 not allowed
      6 not saved: people decided otherwise, and nobody agreed
"""

RULES_RM = """\
End a rule or a grant: from now on it answers nothing. What it let run stays
known. Built-in rules are switched off and on instead.
usage: ropewalk rules rm RULE      RULE: its text, or a start of its id
       ropewalk rules off|on NAME  NAME: as in ropewalk rules --all

  ropewalk rules add allow 'Bash(make:*)' && ropewalk rules rm 'Bash(make:*)'
  ropewalk rules off env:read                   .env files may be read
  ropewalk rules on env:read                    no more
  ropewalk rules off pem                        both, reading and changing
  ropewalk rules on pem

options --json  -q  --color WHEN  --ascii
exit: 0 done - 2 several are meant - 3 no hub - 4 no such rule - 5 not allowed
"""

RULES_TRY = """\
What one rule more would have changed among what was asked. Saves nothing.
usage: ropewalk rules try [allow|ask|deny] RULE [--in DIR | --session ID]

  ropewalk rules try 'Bash(npm run:*)'
  ropewalk rules try 'Edit(src/**)' --in .
  ropewalk rules try deny 'Bash(curl:*)'
  ropewalk rules try 'Bash(git:*)' --last 10000
  ropewalk rules try ask 'WebFetch' --json

What people decided otherwise comes first.
options --in DIR  --session ID  --last N (1000)  --json  --color WHEN  --ascii
exit: 0 tried - 2 no such rule can be meant - 3 no hub
"""

RULES_SUGGEST = """\
Rules that would have answered what people keep allowing. None is wider than
what was allowed, and none is saved.
usage: ropewalk rules suggest [--json] [-q] [--color WHEN] [--ascii]

  ropewalk rules suggest
  ropewalk rules suggest -q                     the rules alone
  ropewalk rules suggest --json
  ropewalk rules suggest --ascii
  ropewalk rules suggest --color never

exit: 0 said, or nothing to suggest - 3 no hub
"""

RULES_CLAUDE = """\
Show the rules of Claude Code's own settings for a folder. It applies them
before it asks anybody: what they decide never comes to ropewalk. Needs no hub.
usage: ropewalk rules claude [--cwd DIR] [--json] [--color WHEN] [--ascii]

  ropewalk rules claude
  ropewalk rules claude --cwd ~
  ropewalk rules claude --json
  ropewalk rules claude --ascii
  ropewalk rules claude --color never

Read: .claude/settings.local.json and .claude/settings.json of the folder, and
~/.claude/settings.json (or that of CLAUDE_CONFIG_DIR). Managed settings of an
organisation are not looked for.
exit: 0 shown - 2 wrong usage
"""

RULINGS_PAGES = {
    "rules": RULES,
    "rules ls": RULES,
    "rules add": RULES_ADD,
    "rules rm": RULES_RM,
    "rules off": RULES_RM,
    "rules on": RULES_RM,
    "rules try": RULES_TRY,
    "rules suggest": RULES_SUGGEST,
    "rules claude": RULES_CLAUDE,
}
