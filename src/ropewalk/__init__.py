"""ropewalk: hold many Claude Code sessions in one hand. The public names, re-exported; nothing is defined here."""

from __future__ import annotations

from .client.ask import ask
from .client.blocks import document, image, text
from .client.client import Client
from .client.hooks import Hook, HookAnswer, HookInput, Later
from .client.options import ClientOptions
from .client.query import Query
from .client.question import Question
from .errors import (
    CliNotFound,
    FolderMissing,
    LinkBroken,
    LocalProtocolError,
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

__version__ = "0.1.0"

__all__ = [
    "Allow",
    "Assistant",
    "Choice",
    "CliNotFound",
    "Client",
    "ClientOptions",
    "Connection",
    "ContentBlockDelta",
    "ControlRequest",
    "Deny",
    "FolderMissing",
    "Hook",
    "HookAnswer",
    "HookInput",
    "Init",
    "Later",
    "LinkBroken",
    "LocalProtocolError",
    "Message",
    "Option",
    "Query",
    "Question",
    "Refusal",
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
