"""Makes generated actions each one of its own, and whole numbers whole. Nothing else is taken from what is generated.

A repeated client id under another body is refused by design; schemathesis likes to repeat values.
"""

from __future__ import annotations

import itertools
from typing import Any

import schemathesis

_ids = itertools.count(1)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """The field counts more than the header, so that naming the body is enough."""
    if isinstance(case.body, dict):
        case.body = _whole(case.body)
        if "code" not in case.body and ("client_id" not in case.body or _is_name(case.body["client_id"])):
            case.body["client_id"] = f"action-{next(_ids)}"


def _is_name(value: Any) -> bool:
    return value is None or (isinstance(value, str) and 1 <= len(value) <= 200 and all("!" <= letter <= "~" for letter in value))


def _whole(value: Any) -> Any:
    """5.0 is a whole number for JSON schema; the hub takes only 5."""
    if isinstance(value, dict):
        return {name: _whole(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
