"""What the scripted CLI says in a proof: short turns of every kind, by the first word of the prompt."""

from __future__ import annotations

TALK = "the rope is laid strand by strand and what one hand lets go the other holds until the walk is done"

TURNS = f"""
pace = 0.015

[[rule]]
regex = "^talk"
steps = [ {{ thinking = "{TALK}" }}, {{ text = "{TALK} {TALK}" }} ]

[[rule]]
regex = "^work"
steps = [
  {{ text = "I look first." }},
  {{ tool = "Bash", input = {{ command = "ls" }}, result = "a\\nb", ask = false, lasts = 0.2 }},
  {{ text = "{TALK}" }},
  {{ tool = "Read", input = {{ file_path = "{{cwd}}/a" }}, result = "x = 1", ask = false }},
  {{ text = "Done with it." }},
]

[[rule]]
regex = "^ask"
steps = [
  {{ text = "I must ask." }},
  {{ tool = "Bash", input = {{ command = "touch made" }}, result = "", ask = true, if_denied = [ {{ text = "Then not." }} ] }},
  {{ text = "{TALK}" }},
]

[[rule]]
regex = "^pair"
steps = [
  {{ together = [
    {{ tool = "Bash", input = {{ command = "touch one" }}, result = "", ask = true }},
    {{ tool = "Bash", input = {{ command = "touch two" }}, result = "", ask = true }},
  ] }},
  {{ text = "Both are answered." }},
]

[[rule]]
regex = "^ruled"
steps = [
  {{ together = [
    {{ tool = "Bash", input = {{ command = "make all" }}, result = "", ask = true }},
    {{ tool = "Bash", input = {{ command = "curl there" }}, result = "", ask = true }},
    {{ tool = "Bash", input = {{ command = "touch three" }}, result = "", ask = true }},
  ] }},
  {{ tool = "Bash", input = {{ command = "make more" }}, result = "", ask = true }},
  {{ text = "Rules and people have spoken." }},
]

[[rule]]
regex = "^choose"
steps = [
  {{ ask = [ {{ question = "Which way?", header = "Way", options = [ "left", "right" ] }} ] }},
  {{ text = "So it is {{answer}}." }},
]

[[rule]]
regex = "^many"
steps = [ {{ text = "Much now." }}, {{ fault = "flood", count = 300 }}, {{ text = "That was it." }} ]

[[rule]]
regex = "^slow"
steps = [ {{ text = "Wait." }}, {{ wait = 1.2 }}, {{ text = "Here." }} ]

[[rule]]
regex = "^exit 0"
steps = [ {{ text = "I go." }}, {{ fault = "crash", code = 0 }} ]

[[rule]]
regex = "^exit 1"
steps = [ {{ text = "I go." }}, {{ stderr = "it went wrong" }}, {{ fault = "crash", code = 1 }} ]

[[rule]]
regex = "^exit 143"
steps = [ {{ text = "I go." }}, {{ fault = "crash", code = 143 }} ]

[[rule]]
regex = "^exit held"
steps = [ {{ text = "I go." }}, {{ fault = "leave_child", way = "setsid", hold = true }}, {{ fault = "crash", code = 1 }} ]
"""

EXITS = ("exit 0", "exit 1", "exit 143", "exit held")
"""Turns in which the CLI ends by itself; in the last a child holds its pipes."""

RULES = """[rules]
allow = ["Bash(make:*)"]
deny = ["Bash(curl:*)"]
"""


def ruled(command: str) -> str:
    """What these rules say of a command, known without asking them; empty: it is for people."""
    return {"make": "allow", "curl": "deny"}.get(command.split(" ")[0], "")


KINDS = ("talk", "work", "ask", "ask", "pair", "ruled", "choose", "many", "slow")
"""Kinds of turns to draw from."""
