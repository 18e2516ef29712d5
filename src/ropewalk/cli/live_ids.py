"""Ids for a shell's Tab, asked from the hub. Refuses to be slow, to complain, or to hand a shell more than letters and digits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from ..config import load
from ..errors import RopewalkError
from .found import Found, find_hub
from .safe import cut, one_line

PATIENCE = 0.5
"""Seconds: somebody sits at the keyboard. A hub that does not answer in this time offers nothing."""
LONGEST = 60
PATHS = {"sessions": "/sessions?limit=200", "questions": "/questions", "tokens": "/devices", "rules": "/rules"}
NAMES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sessions": ("id", ("title", "why")),
    "questions": ("session", ("line", "title_words")),
    "tokens": ("id", ("name",)),
    "rules": ("id", ("text",)),
}
"""What is offered → the field with the id, and those with the words beside it."""


def live_ids(kind: str) -> list[str]:
    """``id<TAB>words``, one a line; none where there is no hub, or it does not answer."""
    if kind not in PATHS:
        return []
    try:
        return lines_of(kind, _asked(find_hub(load()), PATHS[kind]))
    except (RopewalkError, OSError, HTTPException, ValueError):
        return []


def lines_of(kind: str, told: Any) -> list[str]:
    """Pure. An entry without a plain id is left out: a shell gets to see it."""
    items = told.get("items") if isinstance(told, dict) else None
    key, words = NAMES[kind]
    found: dict[str, str] = {}
    for one in items if isinstance(items, list) else ():
        name = one.get(key) if isinstance(one, dict) else None
        if isinstance(name, str) and name.isascii() and name.replace("-", "").isalnum() and not name.startswith("-"):
            said = next((one[word] for word in words if isinstance(one.get(word), str) and one[word]), "")
            found.setdefault(name, cut(one_line(said), LONGEST, "…"))
    return [f"{name}\t{said}" for name, said in found.items()]


def _asked(hub: Found, path: str) -> Any:
    where = urlsplit(hub.url)
    kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
    connection = kind(where.hostname or "", where.port, timeout=PATIENCE)
    try:
        connection.request("GET", f"{where.path.rstrip('/')}/api/v1{path}", headers={"Authorization": f"Bearer {hub.token}"})
        answer = connection.getresponse()
        return json.loads(answer.read()) if answer.status == 200 else None
    finally:
        connection.close()
