"""Lines that are made to be slow: each must be read in a time that the loop can bear. Measures CPU time, not load."""

from __future__ import annotations

from time import process_time

import pytest

from ropewalk.protocol.codec import decode
from ropewalk.protocol.control import ControlRequest
from ropewalk.protocol.messages import Assistant, Garbage, Message
from ropewalk.protocol.system import Init

QUESTION = b'{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":%s}}'
DEEP = 2000
SECONDS = 1.5
"""For 4 MB; what is quadratic, or costs an exception an entry, takes five times as long and more."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        pytest.param(b'{"type":"assistant","message":{"content":[' + b"1," * 1_000_000 + b"1]}}", Assistant, id="no blocks"),
        pytest.param(b'{"type":"system","subtype":"init","tools":[' + b"1," * 1_000_000 + b"1]}", Init, id="numbers for tools"),
        pytest.param(
            b'{"type":"system","subtype":"init","x":"\\ud800","tools":[' + b'"a",' * 1_000_000 + b'"a"]}', Init, id="many tools"
        ),
        pytest.param(b"[" + b"[]," * 1_300_000 + b"[]]", Garbage, id="a list of lists"),
        pytest.param(QUESTION % (b'{"a":' + b"[" * 2_000_000 + b"]" * 2_000_000 + b"}"), ControlRequest, id="brackets"),
        pytest.param(b'{"a":' + b"[" * DEEP + b'"a' * 2_000_000, Garbage, id="half strings"),
        pytest.param(b'{"type":"assistant","n":' + b"9" * 4_000_000 + b"}", Assistant, id="digits"),
    ],
)
def test_a_line_that_is_made_to_be_slow_does_not_hold_up_the_loop(line: bytes, kind: type[Message]) -> None:
    """ours: entries that don't fit cost an exception each, and those that do a long way round."""
    before = process_time()
    message = decode(line)
    assert process_time() - before < SECONDS
    assert type(message) is kind
    assert message.raw == line


def test_a_few_entries_that_do_not_fit_still_cost_only_themselves() -> None:
    """ours"""
    line = b'{"type":"assistant","message":{"content":[1,{"type":"text","text":"here"},2]}}'
    message = decode(line)
    assert isinstance(message, Assistant)
    assert message.text == "here"
