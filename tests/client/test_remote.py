"""Remote's own manners: one name a command, repeats, errors as ours, no redirects; events once and in order over breaks."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from ropewalk import (
    AlreadyAnswered,
    CommandReused,
    Conflict,
    HubError,
    HubUnreachable,
    LimitReached,
    NotAllowed,
    NotFound,
    Remote,
    RequestFailed,
    RopewalkError,
    UsageError,
)
from ropewalk.errors import StoreUnavailable
from ropewalk.events import events as e
from ropewalk.events.commands import Remember
from tests.client.scripted_hub import CUT, http_hub, live_hub, text, told

SESSION = {"id": "s", "title": "t", "status": "idle", "why": "Done", "status_at": 1.0, "group": "quiet", "cwd": "/"}
PROMPT = {"id": "p", "session": "s", "state": "queued", "text": "hello"}
RECEIPT = {"ok": True}
BUSY = (503, {"title": "busy", "status": 503, "detail": "The disk is full. Make room.", "code": "store_unavailable"})


def problem(status: int, code: str, **more: Any) -> tuple[int, dict[str, Any]]:
    return status, {"title": "no", "status": status, "detail": "Say it otherwise.", "code": code, **more}


# -- commands


@pytest.mark.slow
async def test_a_command_is_repeated_under_its_own_name_until_it_is_heard() -> None:
    """ours (G10): a broken connection and a busy hub do not make it two commands"""
    async with http_hub(CUT, BUSY, CUT, (200, PROMPT)) as hub, Remote(hub.url, "key") as remote:
        assert (await remote.prompt("s", "hello")).id == "p"
    bodies = [asked.object for asked in hub.asked]
    assert len(bodies) == 4 and all(body == bodies[0] for body in bodies) and bodies[0]["client_id"]
    assert {asked.heads["authorization"] for asked in hub.asked} == {"Bearer key"}


async def test_two_commands_have_two_names() -> None:
    """ours"""
    async with http_hub((200, PROMPT)) as hub, Remote(hub.url, "key") as remote:
        await remote.prompt("s", "hello")
        await remote.prompt("s", "hello")
        await remote.prompt("s", "hello", client_id="mine")
    names = [asked.object["client_id"] for asked in hub.asked]
    assert len(set(names)) == 3 and names[2] == "mine"


async def test_a_withdrawal_has_a_name_too() -> None:
    """ours: in the head, since bodies of DELETE get lost"""
    async with http_hub(CUT, (200, PROMPT)) as hub, Remote(hub.url, "key") as remote:
        await remote.withdraw("s", "p")
    assert [asked.path for asked in hub.asked] == ["/api/v1/sessions/s/prompts/p"] * 2
    assert len({asked.heads["client-id"] for asked in hub.asked}) == 1 and not hub.asked[0].body


@pytest.mark.slow
async def test_repeats_end_with_patience() -> None:
    """ours: and the error says what the hub said, or that none is there"""
    async with http_hub(BUSY) as hub, Remote(hub.url, "key", patience=0.5) as remote:
        with pytest.raises(StoreUnavailable, match="The disk is full"):
            await remote.stop("s")
    async with Remote(hub.url, "key", patience=0.5) as remote:
        with pytest.raises(HubUnreachable, match="ropewalk serve"):
            await remote.list()


async def test_after_a_break_the_hub_is_looked_for_again() -> None:
    """ours: one that was restarted may have another port and another token"""
    async with http_hub((200, {"items": [SESSION]})) as hub:
        places = iter([("http://127.0.0.1:1", "old"), (hub.url, "new")])
        async with Remote(find=lambda: next(places)) as remote:
            assert [one.id for one in await remote.list()] == ["s"]
        assert hub.asked[0].heads["authorization"] == "Bearer new"


async def test_a_redirect_is_not_followed() -> None:
    """seed (S37): neither by requests nor by the socket"""
    async with http_hub((200, {"items": []})) as other:
        async with http_hub((307, b"", {"location": f"{other.url}/api/v1/sessions"})) as hub, Remote(hub.url, "key") as remote:
            with pytest.raises(HubError, match="elsewhere"):
                await remote.list()
            with pytest.raises(HubError, match="elsewhere"):
                await anext(remote.attach("s"))
        assert other.asked == []


async def test_the_proxies_of_the_environment_do_not_see_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """ours"""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with http_hub((200, {"items": []})) as hub, Remote(hub.url, "key", patience=1) as remote:
        assert await remote.list() == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(404, "not_found"), NotFound),
        (problem(401, ""), NotAllowed),
        (problem(403, "not_allowed"), NotAllowed),
        (problem(409, "conflict"), Conflict),
        (problem(422, "client_id_reused"), CommandReused),
        (problem(429, "limit_reached"), LimitReached),
        (problem(400, "bad_body"), UsageError),
        (problem(500, ""), HubError),
        (problem(502, "claude_refused"), RequestFailed),
        (problem(503, "claude_not_found"), HubError),
    ],
)
async def test_what_the_hub_refuses_is_raised_as_our_own_error(answer: tuple[Any, ...], kind: type[RopewalkError]) -> None:
    """ours: with the hub's own sentence"""
    async with http_hub(answer) as hub, Remote(hub.url, "key") as remote:
        with pytest.raises(kind, match=r"Say it otherwise\.") as said:
            await remote.interrupt("s")
        assert type(said.value) is kind and len(hub.asked) == 1


async def test_a_question_that_was_answered_says_by_whom() -> None:
    """ours (F-55)"""
    late = problem(409, "already_answered", by="Jo", door="telegram")
    async with http_hub(late) as hub, Remote(hub.url, "key") as remote:
        with pytest.raises(AlreadyAnswered) as said:
            await remote.answer("q", behavior="allow")
        assert (said.value.by, said.value.door) == ("Jo", "telegram")


@pytest.mark.parametrize("answer", [(200, b"<html>"), (200, {"some": "thing"}), (404, b"<html>")])
async def test_what_is_no_hub_is_said_so(answer: tuple[Any, ...]) -> None:
    """ours: another server on that port"""
    async with http_hub(answer) as hub, Remote(hub.url, "key") as remote:
        with pytest.raises(HubError, match="another version"):
            await remote.list()


@pytest.mark.parametrize("url", ["127.0.0.1:7077", "ftp://x", "http://[::1"])
async def test_what_is_no_address_is_wrong_usage(url: str) -> None:
    """ours"""
    with pytest.raises(UsageError):
        async with Remote(url, "key", patience=0.1) as remote:
            await remote.list()


async def test_the_list_is_read_page_by_page() -> None:
    """ours"""
    pages = [{"items": [{**SESSION, "id": f"s{n}"}], "next": f"c{n}" if n < 2 else None} for n in range(3)]
    async with http_hub(*((200, page) for page in pages)) as hub, Remote(hub.url, "key") as remote:
        assert [one.id for one in await remote.list(status="working")] == ["s0", "s1", "s2"]
    assert "cursor=c1" in hub.asked[2].path and all("status=working" in asked.path for asked in hub.asked)


# -- rules

RULE = {"id": "r", "text": "Bash(make:*)", "behavior": "allow"}
TRIAL = {"total": 3, "more": 1, "conflicts": [{"what": "Run: make", "tool": "Bash", "before": "ask", "after": "allow"}]}


async def test_rules_are_listed_made_changed_and_ended_each_under_a_name_of_its_own() -> None:
    """ours: the hub's verbs, word for word"""
    async with http_hub((200, {"items": [RULE]}), (201, RULE), (200, RULE), (200, RULE)) as hub, Remote(hub.url, "k") as remote:
        assert [rule.text for rule in await remote.rules(ended=True)] == ["Bash(make:*)"]
        made = await remote.add_rule("Bash(make:*)", scope="folder", place="/srv", uses=3, for_seconds=60.0, note="n")
        assert made.id == "r"
        await remote.change_rule("built-in:env:read", enabled=False)
        await remote.end_rule("r")
    assert [(asked.method, asked.path) for asked in hub.asked] == [
        ("GET", "/api/v1/rules?ended=true"), ("POST", "/api/v1/rules"), ("PATCH", "/api/v1/rules/built-in:env:read"),
        ("DELETE", "/api/v1/rules/r"),
    ]  # fmt: skip
    body = hub.asked[1].object
    named = body.pop("client_id")
    assert body == {
        "text": "Bash(make:*)", "behavior": "allow", "scope": "folder", "place": "/srv", "uses": 3, "for_seconds": 60.0,
        "note": "n",
    }  # fmt: skip
    assert len({named, hub.asked[2].object["client_id"], hub.asked[3].heads["client-id"]}) == 3
    assert hub.asked[2].object["enabled"] is False


async def test_rules_are_tried_and_suggested_and_nothing_is_done_by_it() -> None:
    """ours: no name, since nothing is changed"""
    suggested = {"items": [{"rules": ["Bash(make)"], "times": 4, "example": "make"}]}
    verdict = {"behavior": "ask", "because": "no rule matches", "parts": []}
    async with http_hub((200, TRIAL), (200, verdict), (200, suggested)) as hub, Remote(hub.url, "k") as remote:
        trial = await remote.try_rule("Bash(make:*)", "deny", scope="session", place="s", last=50)
        assert (trial.total, trial.more, trial.conflicts[0].what) == (3, 1, "Run: make")
        assert (await remote.test_rules("Bash", {"command": "make"}, "/srv"))["behavior"] == "ask"
        assert [one.rules for one in await remote.suggested_rules()] == [["Bash(make)"]]
    tried = {"text": "Bash(make:*)", "behavior": "deny", "scope": "session", "place": "s"}
    assert hub.asked[0].object == {"rule": tried, "last": 50}
    assert hub.asked[1].object == {"tool": "Bash", "input": {"command": "make"}, "cwd": "/srv"}


async def test_an_answer_makes_rules_and_is_bound_to_what_was_shown() -> None:
    """ours: the question is read whole, its hash goes back with the answer; another one is refused"""
    step = {"rules": ["Bash(make)"], "matches": {"total": 2, "denied": 1, "of": 9}}
    view = {"id": "q", "session": "s", "asks": "permission", "hash": "h", "offers": [{"scope": "session", "steps": [step]}]}
    refused = problem(409, "not_as_shown")
    async with http_hub((200, view), (200, {**view, "state": "answered"}), refused) as hub, Remote(hub.url, "k") as remote:
        question = await remote.question("q")
        narrow = question.offers[0].steps[0]
        assert narrow.matches is not None and (narrow.matches.total, narrow.matches.denied) == (2, 1)
        kept = Remember(rules=narrow.rules, scope="session", uses=5)
        await remote.answer("q", behavior="allow", shown=question.hash, remember=kept)
        with pytest.raises(Conflict) as raised:
            await remote.answer("q", behavior="allow", shown="other")
        assert raised.value.code == "not_as_shown"
    body = hub.asked[1].object
    assert (body["behavior"], body["shown"]) == ("allow", "h")
    assert (body["remember"]["rules"], body["remember"]["scope"], body["remember"]["uses"]) == (["Bash(make)"], "session", 5)


# -- events


async def hear(remote: Remote, count: int, after: int = 0, live: bool = False) -> list[e.Event]:
    heard: list[e.Event] = []
    async with asyncio.timeout(30), aclosing(remote.attach("s", after, live=live)) as events:
        async for event in events:
            heard.append(event)
            if len(heard) == count:
                break
    return heard


async def test_events_come_once_and_in_order_over_breaks() -> None:
    """ours (F-36): each connection asks for what comes after the last one that was heard; repeats are dropped"""
    links: list[bool] = []

    async def first(socket: ServerConnection, asked: dict[str, Any]) -> None:
        await socket.send(told(text(1), text(2)))

    async def second(socket: ServerConnection, asked: dict[str, Any]) -> None:
        await socket.send(told(text(1), text(2), text(3)))
        await socket.send(told(text(3), text(4)))
        await socket.wait_closed()

    async with live_hub(first, second) as hub, Remote(hub.url, "key", on_link=links.append) as remote:
        heard = await hear(remote, 4)
    assert [event.seq for event in heard] == [1, 2, 3, 4] and all(isinstance(event, e.Text) for event in heard)
    assert [asked["after"] for asked in hub.asked] == [0, 2] and links == [False, True]
    assert hub.heads[0]["authorization"] == "Bearer key"


async def test_a_gap_is_never_passed_over() -> None:
    """ours: it is asked for again from the last whole place"""

    async def first(socket: ServerConnection, asked: dict[str, Any]) -> None:
        await socket.send(told(text(1), text(3)))
        await socket.wait_closed()

    async def second(socket: ServerConnection, asked: dict[str, Any]) -> None:
        await socket.send(told(text(2), text(3)))
        await socket.wait_closed()

    async with live_hub(first, second) as hub, Remote(hub.url, "key") as remote:
        assert [event.seq for event in await hear(remote, 3)] == [1, 2, 3]
    assert [asked["after"] for asked in hub.asked] == [0, 1]


async def test_live_pieces_come_only_to_who_wants_them_and_an_unknown_kind_is_kept() -> None:
    """ours: a newer hub may know more kinds"""

    async def say(socket: ServerConnection, asked: dict[str, Any]) -> None:
        delta = {"kind": "text_delta", "session": "s", "seq": 0, "block": "m:0", "text": "wo"}
        await socket.send(json.dumps({"session": "s", "live": [delta]}))
        await socket.send(json.dumps({"session": "another", "events": [text(9)]}))
        await socket.send(told({"kind": "sung", "seq": 1, "tune": "la"}))
        await socket.wait_closed()

    async with live_hub(say) as hub, Remote(hub.url, "key") as remote:
        (sung,) = await hear(remote, 1)
        assert isinstance(sung, e.Unrecognised) and (sung.what, sung.seq) == ("sung", 1) and '"la"' in sung.raw
        delta, _ = await hear(remote, 2, live=True)
        assert isinstance(delta, e.TextDelta) and delta.text == "wo"


@pytest.mark.slow
async def test_what_can_not_be_heard_is_raised() -> None:
    """ours: a session that is not there, a hub that never answers"""

    async def refuse(socket: ServerConnection, asked: dict[str, Any]) -> None:
        await socket.send(
            json.dumps({"session": "s", "problem": {"title": "no", "detail": "No such session.", "code": "not_found"}})
        )
        await socket.wait_closed()

    async with live_hub(refuse) as hub, Remote(hub.url, "key") as remote:
        with pytest.raises(NotFound, match="No such session"):
            await hear(remote, 1)
    async with Remote(hub.url, "key", patience=0.5) as remote:
        with pytest.raises(HubUnreachable):
            await hear(remote, 1)


def test_without_an_address_remote_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: the variables ROPEWALK_URL and ROPEWALK_TOKEN are its default"""
    monkeypatch.delenv("ROPEWALK_URL", raising=False)
    with pytest.raises(HubUnreachable, match="ROPEWALK_URL"):
        Remote()
    monkeypatch.setenv("ROPEWALK_URL", "http://127.0.0.1:7")
    monkeypatch.setenv("ROPEWALK_TOKEN", "key")
    assert (Remote().where.url, Remote().where.token) == ("http://127.0.0.1:7", "key")


def test_without_a_token_remote_says_where_one_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: an empty one is none; no header without words goes out"""
    monkeypatch.delenv("ROPEWALK_TOKEN", raising=False)
    for token in ("", None):
        with pytest.raises(NotAllowed, match="ropewalk token new"):
            Remote("http://127.0.0.1:7", token)
