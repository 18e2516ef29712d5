"""Asks a CLI which control requests it knows. Refuses requests that would call a model, write, or change more than this process.

Used by ``ropewalk doctor`` and by the tests on real CLIs, so both speak of the same thing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import LocalProtocolError, RequestFailed, RequestTimedOut
from .client import Client

Knows = Literal["yes", "no", "silent"]

NO_SUCH = "ropewalk_no_such_request"
"""The control: what this CLI says to a request that nobody knows. 2.1.37 says nothing at all."""

NOTHING = "00000000-0000-4000-8000-000000000000"
"""An id that names nothing: whoever knows the request says so, or does nothing."""

PROBES: Mapping[str, Mapping[str, Any]] = {
    "interrupt": {},
    "set_permission_mode": {"mode": "default"},
    "set_model": {},
    "set_max_thinking_tokens": {"max_thinking_tokens": None},
    "mcp_status": {},
    "mcp_set_servers": {"servers": {}},
    "mcp_reconnect": {"serverName": NOTHING},
    "mcp_toggle": {"serverName": NOTHING, "enabled": False},
    "rewind_files": {"user_message_id": NOTHING, "dry_run": True},
    "stop_task": {"task_id": NOTHING},
    "apply_flag_settings": {"settings": {}},
    "cancel_async_message": {"message_uuid": NOTHING},
    "get_settings": {},
    "get_session_cost": {},
    "get_binary_version": {},
    "get_plan": {},
    "get_usage": {},
    "background_tasks": {},
    "file_suggestions": {"query": ""},
    NO_SUCH: {},
}
"""What is asked, with arguments that name nothing. Measured on 2.1.37, 2.1.62 and 2.1.326: none of them reaches the model."""

UNSUPPORTED = "unsupported_request"
PATIENCE = 5.0
"""Seconds that an answer may take: all are asked at once, and a CLI that knows a request needs milliseconds."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """``knows``: "yes" also where the arguments were refused; "silent" when nothing came in time."""

    subtype: str
    knows: Knows
    said: str = ""
    """The CLI's own words, where it answered with an error."""
    seconds: float = 0.0


async def probe(client: Client, *, within: float = PATIENCE) -> list[ProbeResult]:
    """What a connected, idle client's CLI knows, one result for each of ``PROBES``. Raises ``SessionGone`` when it dies of it."""
    results = await asyncio.gather(*(_ask(client, subtype, fields, within) for subtype, fields in PROBES.items()))
    return list(results)


async def _ask(client: Client, subtype: str, fields: Mapping[str, Any], within: float) -> ProbeResult:
    began = time.monotonic()
    knows, said = await _outcome(client, subtype, fields, within)
    return ProbeResult(subtype, knows, said, time.monotonic() - began)


async def _outcome(client: Client, subtype: str, fields: Mapping[str, Any], within: float) -> tuple[Knows, str]:
    try:
        await client.control_request(subtype, within=within, **fields)
    except RequestTimedOut:
        return "silent", ""
    except RequestFailed as error:
        return ("no" if is_unsupported(error) else "yes"), error.reason
    except LocalProtocolError as error:
        return "no", str(error)
    return "yes", ""


def is_unsupported(error: RequestFailed) -> bool:
    """Newer CLIs say it by code; 2.1.62 only in words, which begin with the same two on both."""
    return error.code == UNSUPPORTED or (error.code is None and error.reason.startswith("Unsupported control request"))
