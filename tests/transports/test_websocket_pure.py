"""The parts of a link that do no I/O: heads, admission, posted bodies, what we say. Opens no socket."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.transports.websocket.admission import Admission, Errand, posting_path
from ropewalk.transports.websocket.head import MAX_HEAD, Head, HeadReader, Refused
from ropewalk.transports.websocket.outbox import FRAME, Outbox
from ropewalk.transports.websocket.posted import REMEMBERED, Posted, events_in

UPGRADE = (
    b"GET /v1/ws/s1 HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Authorization: Bearer secret\r\nX-Environment-Runner-Version: 9.9\r\nX-Last-Request-Id: last\r\n\r\n"
)


def cuts(data: bytes) -> st.SearchStrategy[list[bytes]]:
    """Any way to cut these bytes into pieces, empty ones too."""

    def pieces(at: list[int]) -> list[bytes]:
        edges = [0, *sorted(at), len(data)]
        return [data[a:b] for a, b in pairwise(edges)]

    return st.lists(st.integers(0, len(data)), max_size=12).map(pieces)


# Heads


@given(st.data())
def test_a_head_is_the_same_however_it_is_cut(data: st.DataObject) -> None:
    """ours: TCP knows no messages."""
    stream = UPGRADE + b"\x81\x05after"
    reader = HeadReader()
    found, after = None, b""
    for piece in data.draw(cuts(stream)):
        if found is not None:
            after += piece
        elif (got := reader.feed(piece)) is not None:
            found, after = got
    assert found is not None and found.raw == UPGRADE
    assert (found.method, found.target, found.get("x-last-request-id")) == ("GET", "/v1/ws/s1", "last")
    assert after == b"\x81\x05after"


def test_a_head_without_end_is_refused_before_it_fills_our_memory() -> None:
    """ours: strangers get 16 KiB."""
    reader = HeadReader()
    with pytest.raises(Refused) as refused:
        for _ in range(MAX_HEAD):
            reader.feed(b"GET / HTTP/1.1\r\nA: b\r\n")
    assert refused.value.status == 431
    assert len(reader._held) < MAX_HEAD + 64


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET /x HTTP/1.0\r\n\r\n",
        b"GET http://elsewhere/x HTTP/1.1\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET /x HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        b"GET /x HTTP/1.1\r\nA: b\x00c\r\n\r\n",
        b"GET /x HTTP/1.1\nA: b\n\r\n\r\n",
        b"GET /x HTTP/1.1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        b"POST /x HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\n",
    ],
)
def test_a_doubtful_head_is_refused(raw: bytes) -> None:
    """ours: what two readers could read in two ways is read by none."""
    with pytest.raises(Refused) as refused:
        HeadReader().feed(raw)
    assert refused.value.status == 400


# Admission


def head(method: str = "GET", target: str = "/v1/ws/s1", **headers: str) -> Head:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Head(method, target, {"host": "127.0.0.1:4000", "authorization": "Bearer secret"} | named)


DOOR = Admission("secret", "/v1/ws/s1", frozenset({"127.0.0.1", "[::1]"}))


def test_the_holder_of_the_token_may_dial_and_post() -> None:
    """measured (2.1.37 … 2.1.120): the two requests that a CLI sends."""
    assert DOOR.check(head()) is Errand.DIAL
    assert DOOR.check(head("POST", "/v1/session/s1/events")) is Errand.POST
    assert DOOR.check(head(authorization="bearer secret")) is Errand.DIAL


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (head(authorization="Bearer wrong"), 401),
        (head(authorization="Bearer secret2"), 401),
        (head(authorization="Bearer sécret"), 401),
        (head(authorization="Basic secret"), 401),
        (head(authorization=""), 401),
        (head("POST", "/v1/session/s1/events", authorization="Bearer "), 401),
        (head(target="/v1/ws/s2", authorization="Bearer wrong"), 401),
        (head(target="/v1/ws/s2"), 404),
        (head(target="/v1/ws/s1?token=secret"), 404),
        (head("PUT", "/v1/session/s1/events"), 405),
        (head(host="evil.example:4000"), 403),
        (head(origin="https://evil.example"), 403),
        (head(origin="null"), 403),
        (head(origin="http://127.0.0.1:4001"), 403),
    ],
)
def test_everyone_else_is_refused(request_head: Head, status: int) -> None:
    """seed; and a web page is refused even with the token (the hole of CVE-2025-52882, and names bound anew to loopback)."""
    with pytest.raises(Refused) as refused:
        DOOR.check(request_head)
    assert refused.value.status == status


def test_a_request_without_host_or_token_is_refused() -> None:
    """ours."""
    with pytest.raises(Refused):
        DOOR.check(Head("GET", "/v1/ws/s1", {"authorization": "Bearer secret"}))
    with pytest.raises(Refused):
        DOOR.check(Head("GET", "/v1/ws/s1", {"host": "127.0.0.1:4000"}))


@pytest.mark.parametrize(
    ("dialled", "posted"),
    [("/v1/ws/s1", "/v1/session/s1/events"), ("/api/v1/ws/cli/s1", "/api/v1/session/cli/s1/events")],
)
def test_the_path_for_posts_is_derived_from_the_dialled_one(dialled: str, posted: str) -> None:
    """measured (2.1.37 … 2.1.120)."""
    assert posting_path(dialled) == posted


# Posted bodies

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=4), max_size=4)


@given(EVENTS, st.dictionaries(st.text(max_size=6).filter(lambda key: key != "events"), JSON, max_size=2), st.booleans())
def test_events_come_out_of_a_body_byte_for_byte(events: list[object], more: dict[str, object], ascii_only: bool) -> None:
    """measured (2.1.37 … 2.1.120): {"events": [line, …]}. Nothing is written anew: numbers, escapes, order."""
    body = json.dumps({**more, "events": events}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert events_in(body) == [json.dumps(event, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") for event in events]


def test_a_lone_surrogate_and_strange_numbers_survive() -> None:
    """ours: JavaScript writes lone surrogates; a body that we refuse would be thrown away by the CLI."""
    events = [rb'{"uuid":"a","text":"\ud83d"}', b'{"uuid":"b","n":1e999,"m":123456789012345678901234567890, "o":1.0}']
    assert events_in(b'{"events": [' + b" , ".join(events) + b"]}") == events


def test_an_event_written_over_several_lines_is_one_line() -> None:
    """ours: between tokens a line break is a blank; inside a string JSON allows none."""
    assert Posted().take(b'{\r\n"events":\n[\n{"a":\r\n1},\n{"b": [\n]}]}') == b'{"a": 1}\n{"b": [ ]}\n'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing",
        b"[]",
        b"{}",
        b'{"events": {}}',
        b'{"events": [{}',
        b'{"events": [1]}',
        b'{"events": ["a"]}',
        b'{"events": [{},]}',
        b'{"events": [,{}]}',
        b'{"events": [{"a":1}} ',
        b'{"a": {"events": [{}]}}',
        b'{"a": "\\"events\\": [{}]"}',
    ],
)
def test_a_body_without_a_list_of_events_is_refused(body: bytes) -> None:
    """ours: 400, and nothing was taken."""
    with pytest.raises(Refused) as refused:
        Posted().take(body)
    assert refused.value.status == 400


def body_of(*events: dict[str, object]) -> bytes:
    return json.dumps({"events": list(events)}).encode()


def test_a_body_sent_again_is_taken_once() -> None:
    """seed, measured (2.1.37, 2.1.62): sent again until a reply is heard; 2.1.120 may put further events behind the old ones."""
    posted = Posted()
    first: dict[str, object] = {"type": "assistant", "uuid": "u1"}
    question: dict[str, object] = {"type": "control_request", "request_id": "q1"}
    answer: dict[str, object] = {"type": "control_response", "response": {"request_id": "c1"}}
    assert posted.take(body_of(first, question, answer)).count(b"\n") == 3
    assert posted.take(body_of(first, question, answer)) == b""
    assert posted.take(body_of(first, question, {"type": "result", "uuid": "u2"})) == b'{"type": "result", "uuid": "u2"}\n'


def test_two_answers_of_one_request_are_both_taken() -> None:
    """measured (2.1.37): set_permission_mode is answered with two lines that differ."""
    answers: list[dict[str, object]] = [
        {"type": "control_response", "response": {"request_id": "c1", "response": {"mode": "plan"}}},
        {"type": "control_response", "response": {"request_id": "c1"}},
    ]
    assert Posted().take(body_of(*answers)).count(b"\n") == 2


def test_a_line_without_any_name_may_come_twice() -> None:
    """ours: a second keep_alive is a second sign of life."""
    posted = Posted()
    assert [posted.take(body_of({"type": "keep_alive"})) for _ in range(2)] == [b'{"type": "keep_alive"}\n'] * 2


def test_what_is_remembered_of_bodies_is_bounded() -> None:
    """ours."""
    posted = Posted()
    for number in range(REMEMBERED + 10):
        posted.take(b'{"events":[{"uuid":"%d"}]}' % number)
    assert len(posted._taken) == REMEMBERED
    assert posted.take(b'{"events":[{"uuid":"%d"}]}' % (REMEMBERED + 9)) == b""


# What we say

Step = tuple[str, bool]


@given(st.lists(st.tuples(st.sampled_from(["put", "take", "arrive", "lose"]), st.booleans()), max_size=40))
def test_nothing_that_waits_is_lost_and_nothing_that_was_written_is_repeated(steps: list[Step]) -> None:
    """ours: the other side is played here; what arrives does so in order, a broken link takes with it what is under way."""
    outbox, said, heard, in_doubt = Outbox(), list[bytes](), list[bytes](), list[bytes]()
    flying: list[tuple[int, bytes]] = []
    unconfirmed = 0
    for what, confirmed in [*steps, *[("take", True), ("arrive", True)] * 45]:
        if what == "put":
            said.append(b"%d\n" % len(said))
            outbox.put(said[-1])
        elif what == "take" and (frame := outbox.take()):
            flying.append((outbox.mark, frame))
            unconfirmed += len(frame)
        elif what == "arrive" and flying:
            mark, frame = flying.pop(0)
            heard += frame.splitlines(keepends=True)
            if confirmed:
                outbox.confirm(mark)
                unconfirmed = sum(len(frame) for _, frame in flying)
        elif what == "lose":
            outbox.lost()
            assert outbox.in_doubt == unconfirmed
            outbox.write_off()
            in_doubt += [line for _, frame in flying for line in frame.splitlines(keepends=True)]
            flying, unconfirmed = [], 0
    assert sorted(heard + in_doubt, key=int) == said and heard == sorted(heard, key=int)
    outbox.confirm(outbox.mark)
    assert (outbox.size, outbox.total, outbox.waiting) == (0, sum(map(len, said)), False)


def frames_of(outbox: Outbox) -> list[bytes]:
    frames = []
    while frame := outbox.take():
        frames.append(frame)
    return frames


def test_waiting_lines_are_joined_but_a_long_one_has_its_own_frame() -> None:
    """ours: one frame costs one wake-up of the CLI."""
    outbox = Outbox()
    for line in (b"a\n", b"b\n", b"x" * FRAME + b"\n", b"c\n"):
        outbox.put(line)
    assert [len(frame) for frame in frames_of(outbox)] == [4, FRAME + 1, 2]
