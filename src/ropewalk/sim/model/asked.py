"""One call of a CLI to the model, read for tests: who asks, what for, with what. Pure; refuses to raise over a strange body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
SUMMARY = re.compile(r"create a detailed summary of (the|this|our) conversation|summary of the conversation so far")
OWN_WORDS = "[Image: source: "
"""2.1.326 adds the path of every image as a text of the user's."""
AGENT_HEADER, AGENT_WORDS = "x-claude-code-agent-id", "cc_is_subagent=true"
"""How 2.1.326 marks the calls of sub-agents."""
MAIN_TOOLS, MAIN_WORDS = {"Task", "Agent"}, re.compile("You are an interactive|You are an agent working with the user")
"""How the main thread is known on CLIs without that mark (2.1.37, 2.1.62, 2.1.120): it can start agents, or opens so."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to ``/v1/messages``. ``body`` is all of it; the rest are views of it."""

    number: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        return [m for m in self.body.get("messages") or [] if isinstance(m, Mapping)]

    @property
    def tools(self) -> list[str]:
        return [str(t.get("name", "")) for t in self.body.get("tools") or [] if isinstance(t, Mapping)]

    @property
    def system(self) -> str:
        return "\n".join(words_of(self.body.get("system")))

    @property
    def thinking(self) -> Mapping[str, Any] | None:
        return self.body.get("thinking")

    @property
    def prompts(self) -> list[str]:
        """Texts of the user's side without what the CLI puts in by itself between reminder marks."""
        texts = [w for m in self.messages if m.get("role") == "user" for w in words_of(m.get("content"))]
        return [bare for w in texts if (bare := REMINDER.sub("", w).strip()) and not bare.startswith(OWN_WORDS)]

    @property
    def prompt(self) -> str:
        """The last of them: what this call answers, also after tool results."""
        return self.prompts[-1] if self.prompts else ""

    @property
    def results(self) -> dict[str, str]:
        """Tool results by tool_use_id, as text, again without reminders (2.1.37 puts some inside)."""
        blocks = [b for m in self.messages for b in blocks_of(m.get("content")) if b.get("type") == "tool_result"]
        texts = {str(b.get("tool_use_id")): "\n".join(words_of(b.get("content"))) for b in blocks}
        return {name: REMINDER.sub("", words).strip() for name, words in texts.items()}

    @property
    def images(self) -> list[Mapping[str, Any]]:
        """Image blocks, those inside tool results too."""
        tops = [b for m in self.messages for b in blocks_of(m.get("content"))]
        inner = [c for b in tops if b.get("type") == "tool_result" for c in blocks_of(b.get("content"))]
        return [b for b in [*tops, *inner] if b.get("type") == "image"]

    @property
    def kind(self) -> str:
        """``main``, ``agent``, ``helper`` or ``summary``; see the notes at ``kind_of``."""
        return kind_of(self)


def kind_of(asked: Asked) -> str:
    if SUMMARY.search(asked.prompt):
        return "summary"
    if not asked.tools:
        return "helper"  # titles, quota probes, file names of a command: none of them is given tools (measured, all)
    if AGENT_HEADER in asked.headers or AGENT_WORDS in asked.system:
        return "agent"
    if MAIN_TOOLS & set(asked.tools) or MAIN_WORDS.search(asked.system):
        return "main"
    return "agent" if asked.headers.get("user-agent", "").startswith("claude-cli/") else "main"


def blocks_of(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, Mapping)] if isinstance(content, list) else []


def words_of(content: Any) -> list[str]:
    return [str(b.get("text", "")) for b in blocks_of(content) if b.get("type") == "text"]
