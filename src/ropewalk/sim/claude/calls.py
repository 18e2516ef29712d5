"""A tool call of the scripted model. Refuses behaviour: what happens to it is in tools.py and acts.py."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from .questions import Answer
from .scenario import Step
from .session import Json


@dataclass
class Call:
    """``given`` is the input as it stands now (an answer may change it), ``shown`` what the assistant line shows instead.

    ``asked`` is a question that was put early, ``done`` a call that was carried out while its message still streamed.
    """

    id: str
    name: str
    given: Json
    step: Step
    asked: tuple[str, asyncio.Future[Answer]] | None = None
    running: bool = False
    done: bool = False
    shown: Json | None = None
