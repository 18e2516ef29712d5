"""The help pages of ``ropewalk rules``, and that of ``rules test``: one screen. Refuses examples that do not work as typed."""

from __future__ import annotations

from .rulings_pages import RULINGS_PAGES

RULES_TEST = """\
Say what rules would do with one request, or with many. Nothing runs.
usage: ropewalk rules test COMMAND [--cwd DIR] [--rules FILE] [options]

  ropewalk rules test --rules my.toml 'git status; rm -rf ~'
  ropewalk rules test --rules my.toml --tool Read src/a.py
  ropewalk rules test --rules my.toml --tool Edit --input '{"file_path": "a"}'
  ropewalk rules test --rules my.toml --json 'npm test' | head -c 20
  ropewalk rules test --jsonl < requests.jsonl    a line out for each line in

A request is {"tool": "Bash", "input": {"command": "ls"}, "cwd": "/home/mia",
"rules": {"allow": ["Bash(ls:*)"]}}; one on stdin is answered in JSON.
With rules, in the request or in --rules FILE (TOML or JSON), no hub is needed;
the built-in ones, about secrets, count too. Without, the hub's are tried.
Links are followed where the folder exists; with --jsonl only for --resolve.
options --tool NAME (Bash)  --input JSON (all that the tool gets)  --cwd DIR
        --rules FILE  --jsonl  --resolve  --json  --color WHEN  --ascii
exit: 0 said, whatever the verdict - 2 wrong usage - 3 no rules and no hub
"""

RULES_PAGES = {**RULINGS_PAGES, "rules test": RULES_TEST}
