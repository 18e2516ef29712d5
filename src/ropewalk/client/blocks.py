"""Content blocks for prompts: words, pictures, documents. Refuses to guess: an unknown kind of picture is an error, not a try."""

from __future__ import annotations

import base64
import os
from typing import Any

from ..errors import UsageError

PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
"""How the kinds of pictures that the API takes begin; WebP has its name behind the size."""


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def image(source: str | os.PathLike[str] | bytes, media_type: str | None = None) -> dict[str, Any]:
    """A picture block from a file or from bytes; the kind is read off its first bytes. Raises ``UsageError`` for other kinds."""
    content = _bytes_of(source)
    kind = media_type or _kind_of(content)
    if kind is None:
        raise UsageError("this is no PNG, JPEG, GIF or WebP picture; name its media_type if you know better")
    encoded = base64.b64encode(content).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": encoded}}


def document(
    source: str | os.PathLike[str] | bytes, media_type: str = "application/pdf", title: str | None = None
) -> dict[str, Any]:
    """A document block (PDF)."""
    content = _bytes_of(source)
    encoded = base64.b64encode(content).decode("ascii")
    block: dict[str, Any] = {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": encoded}}
    return {**block, "title": title} if title else block


def _kind_of(content: bytes) -> str | None:
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in PICTURES.items() if content.startswith(start)), None)


def _bytes_of(source: str | os.PathLike[str] | bytes) -> bytes:
    if isinstance(source, bytes):
        return source
    with open(source, "rb") as file:
        return file.read()
