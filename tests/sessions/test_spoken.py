"""The quick way of answers and tools' results: nothing that comes by it is told otherwise than by the long one."""

from __future__ import annotations

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from ropewalk.protocol.spoken import Returned, Spoken, spoken
from tests.protocol.captures import Process, every_line
from tests.protocol.strategies import SPEAKING, drop_key, flip, insert, swap_two, swap_value, tries
from tests.protocol.wire import connection
from tests.sessions.told import Told, assistant, text, tool, tool_result


def compact(raw: bytes) -> bytes:
    """As the CLI writes it, without blanks between."""
    return msgspec.json.format(raw, indent=-1)


SPOKEN_LINES = [raw for _, raw in every_line() if spoken(raw) is not None]


@st.composite
def odd_spoken(draw: st.DrawFn) -> bytes:
    """A recorded answer or result with something done to it; still without blanks, so that the quick way looks at it."""
    raw = draw(st.sampled_from(SPOKEN_LINES))
    chance = draw(st.randoms(use_true_random=False))
    for _ in range(draw(st.integers(1, 3))):
        raw = draw(st.sampled_from([flip, insert, drop_key, swap_value, swap_two]))(raw, chance)
    try:
        return compact(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw.replace(b"\n", b" ")


class Quickly(Told):
    """As a session's wire hears: the quick way first, the long one for what it refuses."""

    def hear_one(self, raw: bytes) -> bool:
        """Whether the quick way took it."""
        message = self.connection.receive_spoken(raw)
        if message is None:
            self.hear(raw)
            return False
        self.number += 1
        self.events += self.translator.spoken(message, self.number, 1000.0 + self.number)
        return True


def both(lines: list[bytes]) -> tuple[Quickly, Told]:
    quick, long = Quickly(), Told()
    for raw in lines:
        quick.hear_one(raw)
    long.hear(*lines)
    return quick, long


@tries(60)
@given(st.sampled_from(SPEAKING))
def test_a_real_conversation_is_told_alike_on_both_ways(process: Process) -> None:
    """measured (2.1.37 … 2.1.326), ours"""
    quick, long = both(process.out)
    assert quick.events == long.events
    assert quick.translator.known == long.translator.known
    assert quick.connection.snapshot() == long.connection.snapshot()


@tries(400)
@given(st.lists(odd_spoken(), min_size=1, max_size=4))
@example([b'{"type":"user","message":{"content":[{"type":"tool_result","content":"\\ud83d\\ude00"}]}}'])
@example([b'{"type":"user","message":{"content":[{"type":"tool_result","content":"\\ud83d"}]}}'])
@example([b'{"type":"assistant","message":{"content":[{"type":"text","text":"\xed\xa0\x80"}]}}'])
@example([b'{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]},"request_id":7}'])
@example([b'{"type":"assistant","message":{"usage":{"input_tokens":3,"output_tokens":"x"},"content":[]}}'])
def test_a_mutated_line_is_told_alike_on_both_ways(lines: list[bytes]) -> None:
    """ours: the quick reader skips what it does not need, and must not thereby read another line."""
    quick, long = both(lines)
    assert quick.events == long.events
    assert quick.translator.known == long.translator.known


def test_a_receipt_and_the_end_of_a_sub_agent_go_the_long_way() -> None:
    """ours: they change what the connection knows."""
    conn = connection(lazy=True)
    assert conn.receive_spoken(b'{"type":"user","message":{"content":"hi"},"isReplay":true,"uuid":"u"}') is None
    assert conn.receive_spoken(compact(tool_result(details={"status": "completed", "agentId": "a1"}))) is None
    assert type(conn.receive_spoken(compact(tool_result(details={"stdout": "x"})))) is Returned


def test_an_answer_tells_how_much_the_model_has_read() -> None:
    """ours: as by the long way, whatever the quick one leaves unread."""
    conn = connection(lazy=True)
    raw = compact(assistant(text("x"))).replace(b'"content"', b'"usage":{"input_tokens":5,"cache_read_input_tokens":7},"content"')
    assert type(conn.receive_spoken(raw)) is Spoken
    assert conn.context_tokens == 12
    assert conn.receive_spoken(raw.replace(b'"parent_tool_use_id":null', b'"parent_tool_use_id":"t"').replace(b":5", b":6"))
    assert conn.context_tokens == 12


def test_a_connection_that_is_not_lazy_or_hears_another_line_refuses() -> None:
    """ours: such lines are still to be received."""
    raw = compact(assistant(tool("Bash", {"command": "ls"})))
    assert connection().receive_spoken(raw) is None
    lazy = connection(lazy=True)
    assert lazy.receive_spoken(raw + b"\r") is None
    assert lazy.receive_spoken(b'{"type":"system","subtype":"init"}') is None
    assert lazy.receive_spoken(b'{"type":"assistant","message":{"content":[{"type":"new_kind"}]}}') is None
    assert lazy.receive_spoken(b'{"type":"assistant"') is None
