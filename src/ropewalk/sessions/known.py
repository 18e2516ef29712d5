"""What translation knows of a session beyond one line, as one struct that can be stored. Refuses behaviour."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class Known(Struct, kw_only=True, omit_defaults=True):
    """Goes with the session over all its processes. The Translator changes it; whoever changes the mode or the model by a
    request of ours sets it here too, so that the CLI's own word of it is not told as another change.

    After a restart: feed a Translator with the process's stored lines (its own small memory comes back), then give it the Known
    that was stored with the last of them.
    """

    turn: int = 0
    running: bool = False
    """Between an init and its result."""
    mode: str | None = None
    model: str | None = None
    cli_session: str | None = None
    cost_usd: float = 0.0
    plan_file: str | None = None
    """What it wrote last while it planned."""
    context_tokens: int = 0
    context_window: int | None = None
    servers: list[dict[str, Any]] = field(default_factory=list)
    todos: list[dict[str, Any]] = field(default_factory=list)
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tasks and sub-agents that have not ended: id → {title, does, tool_use, background, last_tool, tools, tokens}."""
