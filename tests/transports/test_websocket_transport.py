"""The whole transport: a real process beside a real socket, whose dialling the test does itself. Refuses to know lines."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from ropewalk.errors import FolderMissing, LinkBroken, SessionGone, UsageError
from ropewalk.transports.launch import Launch
from ropewalk.transports.websocket import WebSocketTransport
from ropewalk.transports.websocket.link import State
from tests.contract.listening import Belongings, Ear, until
from tests.contract.rig import GRACES
from tests.demand import demand
from tests.transports.websocket_cli import abort

SCRIPT = "; ".join(
    [
        "hybrid=$CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2",
        r"""printf '%s\n' "$CLAUDE_CODE_SESSION_ACCESS_TOKEN" "$hybrid" "$NO_PROXY" "$@" > told.part""",
        "mv told.part told",
        "echo this goes nowhere",
        "read code < orders",
        "echo last words >&2",
        'exit "${code:-99}"',
    ]
)
"""A CLI that tells what it was told, and ends with the code that it reads from a named pipe."""


@dataclass
class Stage:
    """A transport whose CLI does not dial by itself."""

    transport: WebSocketTransport
    folder: Path
    ear: Ear

    async def told(self) -> list[str]:
        """Token, hybrid, NO_PROXY, then the arguments."""
        await until((self.folder / "told").exists, "the process to start")
        return (self.folder / "told").read_text().split("\n")[:-1]

    async def dial(self, **options: object) -> connect:
        token, _, _, *words = await self.told()
        (url,) = (word.removeprefix("--sdk-url=") for word in words if word.startswith("--sdk-url="))
        headers = {"Authorization": f"Bearer {token}"}
        return connect(url, additional_headers=headers, ping_interval=None, proxy=None, **options)  # type: ignore[arg-type]

    async def exit(self, code: int) -> None:
        await asyncio.to_thread((self.folder / "orders").write_text, f"{code}\n")


def launch(folder: Path, **env: str) -> Launch:
    return Launch(("/bin/sh", "-c", SCRIPT, "cli"), ("-p", "--verbose"), str(folder), {"PATH": "/usr/bin:/bin", **env})


class Stages:
    """Makes stages; ends them all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[Stage] = []

    async def start(self, url: str = "ws://127.0.0.1", env: dict[str, str] | None = None, **options: object) -> Stage:
        (self._folder / "orders").exists() or subprocess.run(["mkfifo", self._folder / "orders"], check=True)
        transport = WebSocketTransport(launch(self._folder, **env or {}), url=url, graces=GRACES, **options)  # type: ignore[arg-type]
        stage = Stage(transport, self._folder, Ear())
        self._made.append(stage)
        await transport.start(stage.ear)
        return stage

    async def close(self) -> None:
        for stage in self._made:
            await stage.transport.stop(patience=0)


@pytest.fixture
async def stages(tmp_path: Path) -> AsyncIterator[Stages]:
    before = Belongings.now()
    stages = Stages(tmp_path)
    yield stages
    await stages.close()
    await until(lambda: not Belongings.now().more_than(before), "what was opened to be closed")


# Before the start


@demand("001-07")
@pytest.mark.parametrize("url", ["http://127.0.0.1", "https://127.0.0.1", "127.0.0.1:80", "wsx://127.0.0.1", "", "file:///etc/x"])
def test_any_other_scheme_than_ws_and_wss_is_refused_before_the_launch(tmp_path: Path, url: str) -> None:
    """seed: with a clear error."""
    with pytest.raises(UsageError, match="ws:// and wss:// only"):
        WebSocketTransport(launch(tmp_path), url=url)
    assert not (tmp_path / "told").exists()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ws://0.0.0.0", "this machine only"),
        ("ws://example.org", "this machine only"),
        ("ws://127.0.0.1:99999", "no URL"),
        ("ws://127.0.0.1/?token=x", "header"),
        ("ws://user:secret@127.0.0.1/", "header"),
        ("wss://127.0.0.1", "ssl_context"),
    ],
)
def test_an_address_that_can_not_be_meant_is_refused(tmp_path: Path, url: str, says: str) -> None:
    """ours: the sentence says what to change."""
    with pytest.raises(UsageError, match=says):
        WebSocketTransport(launch(tmp_path), url=url)


def test_a_second_sdk_url_is_refused(tmp_path: Path) -> None:
    """ours: the CLI would dial a stranger."""
    given = Launch(("/bin/true",), ("--sdk-url=ws://elsewhere",), str(tmp_path), {})
    with pytest.raises(UsageError, match="--sdk-url"):
        WebSocketTransport(given)


async def test_a_start_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """ours: not even a listening socket."""
    before = Belongings.now()
    transport = WebSocketTransport(launch(tmp_path / "missing"))
    with pytest.raises(FolderMissing):
        await transport.start(ear := Ear())
    await until(lambda: not Belongings.now().more_than(before), "nothing to be left")
    assert ear.ends == []


async def test_a_port_that_is_taken_is_a_broken_link(stages: Stages, tmp_path: Path) -> None:
    """ours."""
    stage = await stages.start()
    (*_, url) = await stage.told()
    port = url.rpartition(":")[2].partition("/")[0]
    with pytest.raises(LinkBroken, match="could not listen"):
        await WebSocketTransport(launch(tmp_path), url=f"ws://127.0.0.1:{port}").start(Ear())


async def test_one_that_is_stopped_while_it_starts_starts_nothing(tmp_path: Path) -> None:
    """ours: a client that is closed while it is being opened must not leave a CLI behind."""
    transport = WebSocketTransport(launch(tmp_path))
    async with asyncio.TaskGroup() as group:
        starting = group.create_task(outcome(transport.start(Ear())))
        await asyncio.sleep(0)
        end = await transport.stop()
    assert isinstance(starting.result(), SessionGone) and transport.end is end
    assert not (tmp_path / "told").exists()


async def outcome(work: object) -> object:
    try:
        return await work  # type: ignore[misc]
    except SessionGone as gone:
        return gone


# What the CLI is told


async def test_the_token_is_in_the_environment_and_never_in_argv(stages: Stages) -> None:
    """seed: argv is everybody's to read."""
    stage = await stages.start()
    token, hybrid, proxies, *words = await stage.told()
    assert len(token) >= 40 and not any(token in word for word in words)
    assert words[:2] == ["-p", "--verbose"] and words[2].startswith("--sdk-url=ws://127.0.0.1:") and "/v1/ws/" in words[2]
    assert (hybrid, proxies) == ("", "")


def test_no_two_sessions_share_a_token_or_a_path(tmp_path: Path) -> None:
    """ours."""
    one, other = (WebSocketTransport(launch(tmp_path)) for _ in range(2))
    assert one._token != other._token and one._address.path != other._address.path


async def test_a_hybrid_cli_is_told_to_post(stages: Stages) -> None:
    """measured (2.1.37 … 2.1.120)."""
    stage = await stages.start(hybrid=True)
    assert (await stage.told())[1] == "1"


async def test_a_proxy_is_not_in_the_way_to_loopback(stages: Stages) -> None:
    """ours: a company's proxy knows nothing of our listener."""
    stage = await stages.start(env={"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "inside.example"})
    assert (await stage.told())[2] == "inside.example,127.0.0.1,localhost,::1"


# Links


async def test_the_first_dial_is_no_change_of_the_link_but_every_later_one_is(stages: Stages) -> None:
    """ours: base.Receiver.link_changed speaks of a link that was lost."""
    stage = await stages.start()
    stage.transport.send(b"early\n")
    async with await stage.dial() as cli:
        assert await cli.recv() == "early\n"
        await stage.transport.drain()
        assert stage.ear.links == []
        await abort(cli)
        await until(lambda: stage.ear.links == [False], "the loss")
    async with await stage.dial() as again:
        await until(lambda: stage.ear.links == [False, True], "the link")
        await again.send("back\n")
        assert await stage.ear.hears(5) == b"back\n"
    await stage.exit(0)
    assert (await stage.ear.hears_the_end()).code == 0


async def test_wss_is_served_with_a_certificate_of_the_caller(stages: Stages, tmp_path: Path) -> None:
    """seed: ws and wss."""
    server, client = contexts(tmp_path)
    stage = await stages.start("wss://localhost", ssl_context=server)
    async with await stage.dial(ssl=client) as cli:
        stage.transport.send(b"x" * 300_000 + b"\n")
        assert len(await cli.recv()) == 300_001
        await cli.send("over tls\n")
        assert await stage.ear.hears(9) == b"over tls\n"
        assert (await stage.told())[-1].startswith("--sdk-url=wss://localhost:")
        await stage.transport.drain()
        stage.transport.close_input()
        await cli.wait_closed()
        assert cli.close_code == 4001


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A certificate for localhost, signed by itself."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    )
    subprocess.run([*words.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=str(cert))


# Ends


@pytest.mark.slow
async def test_a_cli_that_never_dials_in_is_ended_with_a_sentence(stages: Stages) -> None:
    """ours."""
    stage = await stages.start(dial_patience=0.3)
    end = await stage.ear.hears_the_end()
    assert "did not dial in within 0.3 s" in end.why
    assert end.code not in (0, 1) and stage.transport.end is end


@pytest.mark.slow
async def test_a_cli_that_never_dials_in_again_is_ended_with_a_sentence(stages: Stages) -> None:
    """measured (2.1.62): it dials for ten minutes; one that lives on after that is broken."""
    stage = await stages.start(redial_patience=0.3)
    async with await stage.dial() as cli:
        await until(lambda: stage.transport.link.state is State.UP, "the link")
        await abort(cli)
    end = await stage.ear.hears_the_end()
    assert "did not dial in again within 0.3 s" in end.why
    assert stage.ear.links == [False]


async def test_a_cli_that_refuses_our_host_is_told_in_words(stages: Stages) -> None:
    """measured (2.1.121, 2.1.326): exit 1 before any dial."""
    stage = await stages.start()
    stage.transport.send(b"waits\n")
    await stage.exit(1)
    end = await stage.ear.hears_the_end()
    assert "never dialled in" in end.why and "2.1.121" in end.why and "stdio" in end.why
    assert (end.code, end.stderr) == (1, ("last words",))
    with pytest.raises(SessionGone, match="stdio"):
        await stage.transport.drain()


@pytest.mark.slow
async def test_a_cli_that_gives_up_a_lost_link_is_told_in_words(stages: Stages) -> None:
    """measured (2.1.37): exit 0 some 5 s after the loss."""
    stage = await stages.start()
    async with await stage.dial() as cli:
        await until(lambda: stage.transport.link.state is State.UP, "the link")
        await abort(cli)
    await until(lambda: stage.ear.links == [False], "the loss")
    since = asyncio.get_running_loop().time()
    await until(lambda: asyncio.get_running_loop().time() > since + 0.6, "it to try for a while")
    await stage.exit(0)
    end = await stage.ear.hears_the_end()
    assert "after the link was lost" in end.why and end.code == 0


async def test_what_it_wrote_last_is_heard_before_the_end(stages: Stages) -> None:
    """ours: the exit is seen before its socket is read to the end."""
    stage = await stages.start()
    async with await stage.dial() as cli:
        line = b"x" * 3_000_000 + b"\n"
        await asyncio.gather(cli.send(line), stage.exit(0))
        await cli.close()
    await stage.ear.hears_the_end()
    assert stage.ear.heard == line and not stage.ear.after_the_end


async def test_its_stdout_is_read_and_told_to_nobody(stages: Stages) -> None:
    """ours: over a link stdout has no meaning; left unread it would block the CLI."""
    stage = await stages.start()
    await stage.exit(0)
    await stage.ear.hears_the_end()
    assert stage.ear.heard == b""
