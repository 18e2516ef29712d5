"""The one file that knows both vocabularies: a message of the CLI → events of ours. Pure and total; refuses to raise."""

from __future__ import annotations

from ..events.events import Event
from ..protocol.lazy import LazyMessage
from ..protocol.messages import Message
from .known import Known


class Translator:
    """For one process of one session. The same lines give the same events; live ones are ``LiveEvent``s among them."""

    def __init__(self, session: str, process: str, cwd: str, known: Known | None = None) -> None:
        self.session, self.process, self.cwd = session, process, cwd
        self.known = known if known is not None else Known()

    def events(self, message: Message | LazyMessage, line: int, at: float) -> list[Event]:
        """What this line says, in order; ``part`` numbers them. Never raises."""
        return []

    def agent_words(self, agent: str | None) -> str | None:
        """What the sub-agent of this id (as questions name it) was sent to do; its id when that was never told."""
        return agent
