"""What a client knows of its session, read off the connection. Refuses to ask the CLI: see ``requests`` for that."""

from __future__ import annotations

from typing import Any

from ..protocol.connection import Connection
from ..protocol.control import HookCallback, McpMessage
from ..protocol.versions import Version
from .options import ClientOptions
from .question import Question


class Known:
    """Mixed into Client."""

    _connection: Connection
    options: ClientOptions

    @property
    def questions(self) -> list[Question]:
        """The questions that wait for an answer."""
        asked = self._connection.questions
        return [Question(question) for question in asked if not isinstance(question.request, HookCallback | McpMessage)]

    @property
    def session_id(self) -> str | None:
        """The CLI's own id of the session: give it to ``resume``. Changes with ``/clear`` and forks."""
        return self._connection.session_id

    @property
    def mode(self) -> str:
        """The permission mode now; before the CLI has said it, the one that it was started in."""
        return self._connection.mode or self.options.permission_mode

    @property
    def model(self) -> str | None:
        """The model that really runs."""
        return self._connection.model

    @property
    def version(self) -> Version | None:
        """The CLI's version, once it has said it."""
        return self._connection.version

    @property
    def capabilities(self) -> frozenset[str]:
        """What a newer CLI says that it can do."""
        return self._connection.capabilities

    @property
    def cost_usd(self) -> float:
        """What this process has cost so far."""
        return self._connection.cost_usd

    @property
    def context_tokens(self) -> int:
        """How much the model read at its last call."""
        return self._connection.context_tokens

    @property
    def tasks(self) -> dict[str, str]:
        """Background work under way: its id → what it is. Older CLIs tell little of it."""
        return dict(self._connection.tasks)

    @property
    def idle(self) -> bool:
        """No turn runs and nothing waits."""
        return self._connection.idle

    @property
    def initialize_response(self) -> dict[str, Any]:
        """What the CLI told at the start: commands, models, account, output styles."""
        return self._connection.initialize_response or {}
