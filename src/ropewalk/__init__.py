"""ropewalk: hold many Claude Code sessions in one hand. The public names, re-exported; nothing is defined here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .client.ask import ask
from .client.blocks import document, image, text
from .client.client import Client
from .client.hooks import Hook, HookAnswer, HookInput, Later
from .client.options import ClientOptions
from .client.query import Query
from .client.question import Question
from .errors import (
    AlreadyAnswered,
    CliNotFound,
    CommandReused,
    Conflict,
    FolderMissing,
    HubError,
    HubUnreachable,
    LimitReached,
    LinkBroken,
    LocalProtocolError,
    NotAllowed,
    NotFound,
    RequestFailed,
    RequestTimedOut,
    RopewalkError,
    SessionGone,
    TurnFailed,
    UsageError,
)
from .protocol.answers import Allow, Choice, Deny, Option, Refusal, Reply, choose
from .protocol.connection import Connection
from .protocol.content import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from .protocol.control import ControlRequest
from .protocol.messages import Assistant, Message, Result, StreamEvent, User
from .protocol.stream import ContentBlockDelta, TextDelta, ThinkingDelta
from .protocol.system import Init

if TYPE_CHECKING:
    from .client.remote import Remote as Remote

__version__ = "0.1.0"

__all__ = [
    "Allow",
    "AlreadyAnswered",
    "Assistant",
    "Choice",
    "CliNotFound",
    "Client",
    "ClientOptions",
    "CommandReused",
    "Conflict",
    "Connection",
    "ContentBlockDelta",
    "ControlRequest",
    "Deny",
    "FolderMissing",
    "Hook",
    "HookAnswer",
    "HookInput",
    "HubError",
    "HubUnreachable",
    "Init",
    "Later",
    "LimitReached",
    "LinkBroken",
    "LocalProtocolError",
    "Message",
    "NotAllowed",
    "NotFound",
    "Option",
    "Query",
    "Question",
    "Refusal",
    "Remote",
    "Reply",
    "RequestFailed",
    "RequestTimedOut",
    "Result",
    "RopewalkError",
    "SessionGone",
    "StreamEvent",
    "TextBlock",
    "TextDelta",
    "ThinkingBlock",
    "ThinkingDelta",
    "ToolResultBlock",
    "ToolUseBlock",
    "TurnFailed",
    "UsageError",
    "User",
    "ask",
    "choose",
    "document",
    "image",
    "text",
]


def __getattr__(name: str) -> Any:
    """``Remote`` brings an HTTP client along: only who asks for it waits for that."""
    if name == "Remote":
        from .client.remote import Remote  # noqa: PLC0415 - see above

        return Remote
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
