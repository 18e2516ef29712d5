"""Links to real CLIs (``--sdk-url``): dialled, refused, lost, found again, posted over, encrypted, given up. Up to 2.1.120."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from ropewalk import Allow, Client, LocalProtocolError, Result, SessionGone
from ropewalk.protocol.control import ControlRequest
from ropewalk.protocol.messages import LinkLost, LinkRestored
from ropewalk.sim.model import Rule, SimModel, reply, tool
from ropewalk.transports.launch import Launch
from ropewalk.transports.websocket import WebSocketTransport
from ropewalk.transports.websocket.link import State
from ropewalk.transports.websocket.peer import Peer
from tests.contract.listening import Ear, until
from tests.demand import demand
from tests.real.conftest import cannot
from tests.real.rig import Place, give_away, place, versions
from tests.real.rig_client import Reading, client_at, run
from tests.real.rig_raw import STREAM
from tools.install_clis import CannotInstall, cli_path

OpenClient = Callable[..., AbstractAsyncContextManager[Client]]
Linked = Callable[..., Awaitable[tuple[WebSocketTransport, Ear]]]

LINKED = ("2.1.37", "2.1.62", "2.1.120")
by_link = versions(*LINKED)
roads = pytest.mark.parametrize("road", ["websocket", "hybrid"])


def transport_of(client: Client) -> WebSocketTransport:
    assert isinstance(client._transport, WebSocketTransport)
    return client._transport


async def lose(client: Client) -> None:
    """Cut the link and wait until the CLI has dialled in again."""
    link = transport_of(client).link
    assert link.dial is not None
    before = link.dial.number
    transport_of(client).drop_link("a test cut it")
    await until(lambda: link.dial is not None and link.dial.number > before, "the CLI to dial again")


def touch(name: str) -> Any:
    return reply(tool("Bash", command=f"touch {name}", description="make a file"))


def count(name: str) -> Any:
    """The model calls a command that leaves one line in a file each time it runs."""
    return reply(tool("Bash", command=f"echo run >> {name}", description="count"))


def runs(place: Place, name: str) -> int:
    return (place.project / name).read_text().count("run")


def uuids(messages: list[Any]) -> list[str]:
    return [one.uuid for one in messages if getattr(one, "uuid", None)]


def prompt_line(content: str) -> bytes:
    line = {"type": "user", "message": {"role": "user", "content": content}, "uuid": "0f0f0f0f-0000-4000-8000-000000000001"}
    return json.dumps(line).encode() + b"\n"


async def results(ear: Ear) -> list[str]:
    """The text of each result, as soon as there is one."""
    await until(lambda: b'"type":"result"' in ear.heard or ear.ends, "the result")
    assert not ear.ends, ear.ends
    return [json.loads(line)["result"] for line in ear.heard.splitlines() if b'"type":"result"' in line]


def model_prompts(model: SimModel) -> list[str]:
    return [asked.prompt for asked in model.requests if asked.kind == "main"]


@pytest.fixture
async def linked(place: Place, cli_version: str, model: SimModel) -> AsyncIterator[Linked]:
    """Start a transport by itself, without a Client; (transport, what it hears)."""
    started: list[WebSocketTransport] = []

    async def start(
        url: str = "ws://127.0.0.1", tls: ssl.SSLContext | None = None, args: tuple[str, ...] = (), **env: str
    ) -> tuple[WebSocketTransport, Ear]:
        program = tuple(place.argv(cli_version, place.env(model.url, **env)))
        transport = WebSocketTransport(Launch(program, (*STREAM, *args), str(place.project), {}), url=url, ssl_context=tls)
        started.append(transport)
        await transport.start(ear := Ear())
        return transport, ear

    yield start
    for transport in started:
        await transport.stop(patience=1)


@pytest.fixture
def quick(open_client: OpenClient, cli_version: str) -> OpenClient:
    """As ``open_client``, but in the end 2.1.37 is not left its 5 s: it dials twice more before it believes that we are gone."""

    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[Client]:
        async with open_client(**options) as client:
            yield client
            if cli_version == "2.1.37" and client.pid is not None:
                os.kill(client.pid, signal.SIGKILL)

    return opened


# Connected


@pytest.mark.parametrize(
    "road",
    [
        pytest.param("websocket", marks=demand("001-01", "001-09", "001-12", "001-13", "001-80", tag="real")),
        pytest.param("hybrid", marks=demand("001-15", tag="real")),
    ],
)
@by_link
async def test_a_cli_dials_in_asks_and_ends(
    open_client: OpenClient, model: SimModel, place: Place, road: str, caplog: pytest.LogCaptureFixture
) -> None:
    """seed 001, measured (2.1.37 … 2.1.120): initialize, prompt, question, answer, result, all over the link; 0 at the end."""
    model.add(touch("one.txt"), "Made it.", "Again.")
    async with open_client(transport=road) as client:
        link = transport_of(client).link
        assert (client.road, link.state) == (road, State.UP)
        token = transport_of(client)._token
        shown = Path(f"/proc/{client.pid}/cmdline").read_bytes(), Path(f"/proc/{client.pid}/environ").read_bytes()
        assert token.encode() not in shown[0] and f"CLAUDE_CODE_SESSION_ACCESS_TOKEN={token}".encode() in shown[1]
        assert client.initialize_response["commands"], "answered before any prompt, and before any init"
        played = await run(client, "make one.txt")
        assert (played.result.result, len(played.questions)) == ("Made it.", 1)
        assert (place.project / "one.txt").exists()
        assert (await run(client, "again")).result.result == "Again."
        assert link.dial is not None and link.dial.number == 1 and transport_of(client).unsent == 0
    assert client.end is not None and client.end.code == 0
    assert "refused" not in "".join(record.message for record in caplog.records if "ended" not in record.message)


@demand("001-05", tag="real")
@versions("2.1.37", "2.1.120")
async def test_a_prompt_on_the_command_line_is_ignored_over_a_link_too(linked: Linked, model: SimModel) -> None:
    """seed 001, measured [ws_argv_prompt]: the first prompt is a message."""
    model.add("Over the wire.")
    transport, ear = await linked(args=("from argv",))
    transport.send(prompt_line("from the wire"))
    assert await results(ear) == ["Over the wire."]
    assert model_prompts(model) == ["from the wire"]


@demand("001-01", tag="real")
@versions("2.1.326")
async def test_a_newer_cli_gets_the_same_session_by_stdio(open_client: OpenClient, model: SimModel) -> None:
    """measured (2.1.121, 2.1.326): they refuse every host but their vendor's; only a word in the details tells."""
    model.add("By the other road.")
    async with open_client(transport="websocket") as client:
        assert client.road.startswith("stdio") and "2.1.326" in client.road
        assert (await run(client, "hello")).result.result == "By the other road."


@versions("2.1.326")
async def test_a_newer_cli_that_is_told_to_dial_us_ends_with_a_sentence(linked: Linked) -> None:
    """measured (2.1.121, 2.1.326): exit 1 at once."""
    transport, ear = await linked()
    end = await ear.hears_the_end()
    assert end.code == 1 and "use stdio" in end.why
    assert any("sdk-url" in line for line in end.stderr)
    assert transport.link.state is State.ENDED


# Who is let in


@demand("001-08", tag="real")
@by_link
async def test_a_stranger_is_refused_and_the_session_goes_on(
    quick: OpenClient, model: SimModel, caplog: pytest.LogCaptureFixture
) -> None:
    """seed 001: wrong or missing token: refused, logged, nothing changed."""
    model.add("Undisturbed.")
    async with quick(transport="websocket") as client:
        transport = transport_of(client)
        url = transport._address.url(port_of(transport))
        dial = transport.link.dial
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Origin": "https://evil.example"}):
            with caplog.at_level(logging.WARNING), pytest.raises(InvalidStatus) as refused:
                await connect(url, additional_headers=headers, proxy=None)
            assert refused.value.response.status_code == (403 if "Origin" in headers else 401)
        assert caplog.text.count("refused a connection") == 3
        assert transport.link.dial is dial
        assert (await run(client, "still there?")).result.result == "Undisturbed."


@demand("001-08", tag="real")
@versions("2.1.37", "2.1.120")
async def test_a_cli_with_another_token_is_not_let_in(linked: Linked) -> None:
    """seed 001; measured: 2.1.37 dials twice, then exits with 0; 2.1.120 leaves at once."""
    transport, ear = await linked(CLAUDE_CODE_SESSION_ACCESS_TOKEN="of-another-session")
    transport.send(b'{"type":"control_request","request_id":"i","request":{"subtype":"initialize"}}\n')
    end = await ear.hears_the_end()
    assert "never dialled in" in end.why
    assert transport.link.dial is None and ear.heard == b"" and transport.unsent > 0


def port_of(transport: WebSocketTransport) -> int:
    server = transport._listener._server
    assert server is not None
    return int(server.sockets[0].getsockname()[1])


# Lost and found again


@demand("001-44", "001-86", tag="real")
@roads
@by_link
async def test_a_question_that_is_open_when_the_link_breaks_is_answered_over_the_next(
    quick: OpenClient, model: SimModel, place: Place, road: str
) -> None:
    """measured (2.1.37 … 2.1.120): dialled again after a second; the second initialize lists the question; the answer counts."""
    model.add(count("after"), "Made it.", "Second.")
    async with quick(transport=road) as client:
        reading = Reading(client.query("make after"))
        question = await reading.question()
        await lose(client)
        await client.mcp_status()  # answered after the second initialize
        await client.control_response(question.request_id, Allow())
        result = await reading.until(Result)
        assert (result.result, runs(place, "after")) == ("Made it.", 1)
        assert (await run(client, "second")).result.result == "Second."
        assert len(uuids(reading.seen)) == len(set(uuids(reading.seen))), "2.1.120 says old lines again"
        assert len([one for one in reading.seen if isinstance(one, ControlRequest)]) == 1
    assert len(model_prompts(model)) == 3


@roads
@by_link
async def test_an_answer_in_the_last_and_in_the_first_instant_of_a_link_runs_the_tool_once(
    quick: OpenClient, model: SimModel, place: Place, road: str
) -> None:
    """ours: whether it arrived is learnt from the second initialize; on 2.1.37 a second allow could run the tool again."""
    model.add(count("last"), reply("One.", hold="last"), count("first"), "Two.")
    async with quick(transport=road) as client:
        reading = Reading(client.query("one"))
        question = await reading.question()
        await client.control_response(question.request_id, Allow())
        await lose(client)
        model.release("last")
        await reading.until(Result)
        reading = Reading(client.query("two"))
        question = await reading.question()
        await lose(client)
        await client.control_response(question.request_id, Allow())
        await reading.until(Result)
        await client.mcp_status()
        assert (runs(place, "last"), runs(place, "first")) == (1, 1)


@by_link
async def test_an_allow_that_comes_twice_runs_its_tool_once_where_we_send_it_so(
    linked: Linked, model: SimModel, place: Place, cli_version: str
) -> None:
    """measured: all ignore the second one; only 2.1.37 may run the tool again, and only if the allow names it (toolUseID)."""
    model.add(count("twice"), "One.", "Two.")
    transport, ear = await linked()
    transport.send(prompt_line("go"))
    await until(lambda: b'"can_use_tool"' in ear.heard, "the question")
    asked = next(json.loads(line) for line in ear.heard.splitlines() if b'"can_use_tool"' in line)
    verdict = {"behavior": "allow", "updatedInput": asked["request"]["input"]}
    verdict |= {"toolUseID": asked["request"]["tool_use_id"]} if cli_version != "2.1.37" else {}
    inner = {"subtype": "success", "request_id": asked["request_id"], "response": verdict}
    transport.send((json.dumps({"type": "control_response", "response": inner}) + "\n").encode() * 2)
    await until(lambda: b'"type":"result"' in ear.heard, "the result")
    transport.send(b'{"type":"control_request","request_id":"fence","request":{"subtype":"mcp_status"}}\n')
    await until(lambda: b'"fence"' in ear.heard, "everything before")
    assert runs(place, "twice") == 1


@by_link
async def test_a_question_that_is_asked_while_the_link_is_down_is_found_by_the_second_initialize(
    quick: OpenClient, model: SimModel, place: Place
) -> None:
    """measured (2.1.37, 2.1.62): lines written while the link is down are lost; the question is not."""
    model.add(reply(tool("Bash", command="touch lost.txt", description="make a file"), hold="down"), "Made it.")
    async with quick(transport="websocket") as client:
        reading = Reading(client.query("make lost.txt"))
        await model.asked(lambda asked: asked.kind == "main")
        transport_of(client).drop_link("a test cut it")
        model.release("down")
        question = await reading.question()
        await client.control_response(question.request_id, Allow())
        await reading.until(Result)
        assert (place.project / "lost.txt").exists()


@demand("001-17", tag="real")
@by_link
async def test_a_turn_goes_on_while_the_link_is_away_and_what_may_be_lost_is_named(
    quick: OpenClient, model: SimModel, cli_version: str
) -> None:
    """seed 001; measured: the CLI works on; what it says after the link is back is heard, what it said meanwhile may be gone."""
    model.add(reply("After all.", hold="away"))
    told: list[Any] = []
    async with quick(transport="websocket", on_message=told.append) as client:
        reading = Reading(client.query("take your time"))
        await model.asked(lambda asked: asked.kind == "main")
        await lose(client)
        model.release("away")
        assert (await reading.until(Result)).result == "After all."
    (restored,) = [one for one in told if isinstance(one, LinkRestored)]
    assert [type(one) for one in told if isinstance(one, LinkLost | LinkRestored)][:2] == [LinkLost, LinkRestored]
    assert restored.may_lack_lines is (cli_version != "2.1.120") and restored.repeated


@by_link
async def test_what_was_said_in_the_last_instant_of_a_link_happens_once(quick: OpenClient, model: SimModel) -> None:
    """measured (2.1.37 … 2.1.120): a prompt in doubt is said again, known by its uuid; one said meanwhile waits."""
    model.add(reply("One.", hold="until it is back"), "Two.", "Three.")
    async with quick(transport="websocket") as client:
        reading = Reading(client.query("first"))
        await lose(client)
        model.release("until it is back")  # what the CLI says while the link is down would be lost
        assert (await reading.until(Result)).result == "One."
        transport_of(client).drop_link("before the prompt is written")
        await until(lambda: transport_of(client).link.state is State.DOWN, "the loss")
        assert (await run(client, "second")).result.result == "Two."
        assert (await run(client, "third")).result.result == "Three."
    assert model_prompts(model) == ["first", "second", "third"]


@by_link
async def test_a_posted_line_whose_reply_is_lost_is_handled_once(
    quick: OpenClient, model: SimModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """seed 001, measured: sent again after half a second, byte for byte the same."""
    model.add("Once.")
    lost: list[Peer] = []
    answer = Peer._answer

    def lose_some(peer: Peer, status: int, *args: Any, **more: Any) -> None:
        if status == 200 and len(lost) < 2:
            lost.append(peer)
            peer.drop("a test lost the reply")
        else:
            answer(peer, status, *args, **more)

    async with quick(transport="hybrid") as client:
        monkeypatch.setattr(Peer, "_answer", lose_some)
        played = await run(client, "say it once")
        assert played.result.result == "Once."
        assert len(lost) == 2
        assert len(set(uuids(played.messages))) == len(uuids(played.messages))
        heard = [one.raw for one in played.messages]
        assert len(heard) == len(set(heard))


# Quiet, ended, given up


@demand("001-06", "001-14", tag="real")
@pytest.mark.slow
async def test_a_cli_without_a_prompt_waits_and_its_pings_are_answered(offline: None) -> None:
    """measured (2.1.37, 2.1.62): a ping every 10 s; without a pong it dials anew. All at once: it takes 21 s."""
    await asyncio.gather(*(quiet(version) for version in LINKED))


async def quiet(version: str) -> None:
    try:
        cli_path(version)
    except CannotInstall as why:
        cannot(str(why))
    async with SimModel() as model:
        with place() as here:
            model.add("Ready all the time.")
            async with client_at(here, version, model, transport="websocket") as client:
                since = asyncio.get_running_loop().time()
                await until(lambda: asyncio.get_running_loop().time() > since + 21, "two pings of the CLI")
                link = transport_of(client).link
                assert link.dial is not None and (link.dial.number, link.state) == (1, State.UP)
                assert client.connected and client.idle
                client.keep_alive()
                played = await run(client, "still there?")
                assert played.result.result == "Ready all the time."
                assert not [one for one in played.messages if b'"keep_alive"' in one.raw]


@demand("001-19", "001-68", tag="real")
@versions("2.1.37")
async def test_a_cli_that_gives_up_says_so_and_can_be_resumed(open_client: OpenClient, model: SimModel, place: Place) -> None:
    """measured: with nobody to dial 2.1.37 ends after 5 s with 0 (later ones dial on); what was open is lost with a reason."""
    model.add(Rule([reply("Resumed.")], when="and now"), "Remember me.", touch("never.txt"))
    async with open_client(transport="websocket") as client:
        await run(client, "first")
        reading = Reading(client.query("make never.txt"))
        question = await reading.question()
        server = transport_of(client)._listener._server
        assert server is not None
        server.close()
        transport_of(client).drop_link("the server is gone")
        with pytest.raises(SessionGone, match="after the link was lost") as gone:
            await reading.until(Result)
        assert gone.value.exit_code == 0
        with pytest.raises(SessionGone):
            await client.control_response(question.request_id, Allow())
        with pytest.raises(LocalProtocolError, match="lost"):
            client._connection.questions.get(question.request_id)
    async with open_client(transport="websocket", resume=client.session_id) as again:
        assert (await run(again, "and now?")).result.result == "Resumed."
    assert any("first" in prompt for prompt in model.requests[-1].prompts)
    assert not (place.project / "never.txt").exists()


# Encrypted


@demand("001-02", tag="real")
@by_link
async def test_a_cli_dials_over_tls_too(linked: Linked, model: SimModel, place: Place) -> None:
    """seed 001: wss; ws is what all the others use. The CLI trusts our certificate through NODE_EXTRA_CA_CERTS."""
    model.add("Encrypted.")
    server, cert = certificate(place.home)
    transport, ear = await linked("wss://localhost", server, NODE_EXTRA_CA_CERTS=str(cert))
    transport.send(prompt_line("hello"))
    assert await results(ear) == ["Encrypted."]


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run([*words.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)
    if os.geteuid() == 0:
        give_away(folder)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, cert
