"""The link without a socket: its states over dials, losses and ends, driven by hand with times of our own. Opens no socket."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.transports.websocket.admission import Admission, Errand
from ropewalk.transports.websocket.head import Head, Refused
from ropewalk.transports.websocket.link import Beat, Link, State
from tests.demand import demand


def head(target: str = "/v1/ws/s1", **headers: str) -> Head:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Head("GET" if "ws" in target else "POST", target, {"authorization": "Bearer secret"} | named)


def new_link() -> Link:
    return Link(Admission("secret", "/v1/ws/s1"))


def up_link() -> Link:
    link = new_link()
    link.dialled(head(), 1.0)
    return link


def written(link: Link) -> bytes:
    out = b""
    while frame := link.next_frame():
        out += frame
    return out


@demand("001-10")
def test_what_the_cli_says_of_itself_when_it_dials_is_kept() -> None:
    """seed: X-Environment-Runner-Version; measured: X-Last-Request-Id names the CLI's own last line, so it is only kept."""
    link = new_link()
    assert (link.state, link.since) == (State.WAITING, None)
    dial = link.dialled(head(x_environment_runner_version="9.9", x_last_request_id="u7"), 3.0)
    assert (dial.number, dial.at, dial.runner_version, dial.last_request_id) == (1, 3.0, "9.9", "u7")
    assert (link.state, link.since, link.dial) == (State.UP, 3.0, dial)


def test_what_is_said_before_the_cli_dials_in_waits_for_it() -> None:
    """measured (2.1.37 … 2.1.120): the CLI is silent until spoken to, and dials in a second or more after its start."""
    link = new_link()
    link.send(b"one\n")
    link.send(b"two\n")
    assert written(link) == b"" and link.unsent == 8
    link.dialled(head(), 1.0)
    assert written(link) == b"one\ntwo\n" and link.unsent == 8
    link.pong_received(link.mark)
    assert link.unsent == 0


def test_what_was_said_while_the_link_is_down_goes_out_first_and_what_was_in_doubt_is_the_owners() -> None:
    """measured (2.1.37): an allow that comes twice can run its tool twice, so we don't repeat what we can't understand."""
    link = up_link()
    assert link.dial is not None
    link.send(b"confirmed\n")
    written(link)
    link.pong_received(link.mark)
    link.send(b"in doubt\n")
    written(link)
    assert link.lost(link.dial, 5.0)
    assert (link.in_doubt, link.unsent) == (9, 9)
    link.send(b"while down\n")
    assert (link.state, link.since, link.next_frame()) == (State.DOWN, 5.0, b"")
    link.dialled(head(), 6.0)
    assert (link.in_doubt, link.unsent) == (0, 11)
    assert written(link) == b"while down\n"


@pytest.mark.parametrize("payload", [b"", b"0", b"hello", b"\xb2", b"9" * 40, b"-1"])
def test_a_pong_that_names_nothing_confirms_nothing(payload: bytes) -> None:
    """ours: a CLI may pong by itself."""
    link = up_link()
    link.send(b"one\n")
    written(link)
    link.pong_received(payload)
    assert link.unsent == 4


def test_the_loss_of_an_older_link_changes_nothing() -> None:
    """ours: the socket of a replaced link closes late."""
    link = up_link()
    older = link.dial
    assert older is not None
    link.lost(older, 2.0)
    link.dialled(head(), 3.0)
    assert not link.lost(older, 4.0)
    assert (link.state, link.since) == (State.UP, 3.0)


LINES = st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"") + b"\n"), max_size=8).map(b"".join)


def cuts(stream: bytes) -> st.SearchStrategy[list[bytes]]:
    """Any way to cut these bytes into pieces, empty ones too."""
    edges = st.lists(st.integers(0, len(stream)), max_size=12).map(lambda at: [0, *sorted(at), len(stream)])
    return edges.map(lambda at: [stream[a:b] for a, b in pairwise(at)])


@demand("001-20")
@given(st.data())
def test_any_framing_of_lines_gives_the_same_bytes(data: st.DataObject) -> None:
    """seed: several lines in a frame, one line over several frames, blank lines."""
    link, stream = up_link(), data.draw(LINES)
    assert b"".join(map(link.frame_received, data.draw(cuts(stream)))) == stream
    assert link.dial is not None and link.lost(link.dial, 2.0)
    link.dialled(head(), 3.0)
    assert link.frame_received(b"next\n") == b"next\n"


@pytest.mark.slow
@given(st.data())
def test_half_a_line_of_a_broken_link_never_meets_the_next_one(data: st.DataObject) -> None:
    """ours: it ends before the next line begins; as a line of its own it is no JSON, and harmless."""
    stream, after = data.draw(LINES), data.draw(LINES)
    half = data.draw(st.binary(min_size=1, max_size=20).filter(lambda line: b"\n" not in line))
    link = up_link()
    heard = b"".join(map(link.frame_received, data.draw(cuts(stream + half))))
    assert link.dial is not None
    link.lost(link.dial, 2.0)
    if data.draw(st.booleans(), "posted while the link is down"):
        assert link.body_received(b'{"events":[{}]}') == b"\n{}\n"
        half += b"\n{}"
        heard += b"\n{}\n"
    link.dialled(head(), 3.0)
    heard += link.frame_received(after)
    assert heard == stream + half + (b"\n" + after if after else b"") or heard == stream + half + b"\n" + after


def test_a_refused_dial_changes_nothing() -> None:
    """seed: wrong token = refused, nothing changed."""
    link = up_link()
    before = (link.state, link.since, link.dial)
    with pytest.raises(Refused):
        link.check(head(authorization="Bearer wrong"))
    assert (link.state, link.since, link.dial) == before
    assert link.check(head()) is Errand.DIAL


def test_a_link_without_a_sign_of_life_for_two_rounds_is_given_up() -> None:
    """ours: a CLI that is suspended, or a half-open connection."""
    link = up_link()
    assert [link.beat(21.0), link.beat(41.0), link.beat(61.0)] == [Beat.PING, Beat.PING, Beat.GIVE_UP]


def give(link: Link, sign: str) -> None:
    if sign == "pong":
        link.pong_received(b"")
    elif sign == "ping":
        link.control_received()
    else:
        link.frame_received(b"x")


@pytest.mark.parametrize("sign", ["pong", "ping", "line"])
def test_any_sign_of_life_keeps_a_link(sign: str) -> None:
    """ours: a CLI that sends a long line can't pong in between."""
    link = up_link()
    for now in range(21, 400, 20):
        assert link.beat(now) is Beat.PING
        if now % 40 == 1:
            give(link, sign)


def test_a_link_that_is_down_is_not_pinged() -> None:
    """ours."""
    link = up_link()
    assert link.dial is not None
    link.beat(21.0)
    link.lost(link.dial, 22.0)
    assert link.beat(41.0) is Beat.REST
    link.dialled(head(), 50.0)
    assert [link.beat(70.0), link.beat(90.0)] == [Beat.PING, Beat.PING]


def test_goodbye_is_said_once_and_after_everything_else() -> None:
    """measured: 2.1.62 and 2.1.120 leave on it; 2.1.37 dials again, and leaves when it is refused."""
    link = up_link()
    assert not link.goodbye_due()
    link.send(b"last\n")
    link.close()
    assert not link.goodbye_due()
    assert written(link) == b"last\n"
    assert link.goodbye_due() and not link.goodbye_due()
    with pytest.raises(Refused) as refused:
        link.check(head())
    assert refused.value.status == 503
    assert link.check(head("/v1/session/s1/events")) is Errand.POST, "its last lines are still taken"


def test_goodbye_waits_for_a_cli_that_is_away() -> None:
    """ours: 2.1.62 would dial for ten minutes if nobody told it."""
    link = up_link()
    assert link.dial is not None
    link.lost(link.dial, 2.0)
    link.send(b"last\n")
    link.close()
    assert not link.goodbye_due()
    assert link.check(head()) is Errand.DIAL
    link.dialled(head(), 3.0)
    assert written(link) == b"last\n"
    assert link.goodbye_due()


def test_after_the_end_nobody_is_let_in() -> None:
    """ours."""
    link = up_link()
    link.ended(9.0)
    assert (link.state, link.since) == (State.ENDED, 9.0)
    for target in ("/v1/ws/s1", "/v1/session/s1/events"):
        with pytest.raises(Refused):
            link.check(head(target))
