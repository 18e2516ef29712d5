"""The routes, by noun. Each says which role it needs; none does more than ask the hub. The table is ``HANDLERS``."""

from __future__ import annotations

from .audit import AUDIT
from .devices import DEVICES
from .page import PAGE
from .prompts import PROMPTS
from .questions import QUESTIONS
from .reports import REPORTS
from .rules import RULES
from .sessions import SESSIONS
from .steering import STEERING
from .watching import WATCHING

HANDLERS = [*SESSIONS, *WATCHING, *PROMPTS, *STEERING, *QUESTIONS, *RULES, *AUDIT, *REPORTS, *DEVICES, *PAGE]
