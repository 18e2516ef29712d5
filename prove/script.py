"""What the scripted CLI says in a proof: short turns of every kind, by the first word of the prompt."""

from __future__ import annotations

WORDS = "the rope is laid strand by strand and what one hand lets go the other holds until the walk is done".split()
TALK = " ".join(WORDS)

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
"""

KINDS = ("talk", "work", "ask", "ask", "pair", "choose", "many", "slow")
"""Kinds of turns to draw from."""
