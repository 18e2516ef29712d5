"""sim claude on a link: it dials us, and behaves as its version when the link is refused, lost or closed."""

from __future__ import annotations

import contextlib
import http.server
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from .conftest import Start
from .play import GUARD, Sim

pytestmark = pytest.mark.slow
Json = dict[str, Any]
ASKING: list[Json] = [{"tool": "Bash", "input": {"command": "touch x"}}, {"text": "Done."}]


class Listener:
    """Our side: each connection is handed to the test, with what it sent as it dialled."""

    def __init__(self) -> None:
        self.dials: queue.Queue[ServerConnection] = queue.Queue()
        self.refuse = False
        self.refused = 0
        self._server: Server = serve(self._accepted, "127.0.0.1", 0, process_request=self._may_enter)
        self.port = self._server.socket.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}/v1/ws/session-1"
        self._serving = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._serving.start()

    def _may_enter(self, connection: ServerConnection, request: Request) -> Response | None:
        if not self.refuse:
            return None
        self.refused += 1
        return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "closed")

    def _accepted(self, connection: ServerConnection) -> None:
        self.dials.put(connection)
        while connection.close_code is None:
            time.sleep(0.005)

    def next(self) -> ServerConnection:
        return self.dials.get(timeout=GUARD)

    def close(self) -> None:
        self._server.shutdown()
        self._serving.join(GUARD)


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def dial(
    start: Start, listener: Listener, version: str, steps: list[Json] | None = None, **environment: str
) -> tuple[Sim, ServerConnection]:
    given = {"CLAUDE_CODE_SESSION_ACCESS_TOKEN": "secret", "ROPEWALK_SIM_SPEED": "20"} | environment
    sim = start(steps or [{"text": "Hello."}], "--sdk-url", listener.url, version=version, **given)
    return sim, listener.next()


def send(link: ServerConnection, *lines: Json) -> None:
    link.send("".join(json.dumps(line) + "\n" for line in lines))


def prompt(text: str) -> Json:
    return {"type": "user", "message": {"role": "user", "content": text}}


def hear(link: ServerConnection, wanted: Callable[[Json], bool], heard: list[Json] | None = None) -> Json:
    """Read on until a wanted line comes; what came is added to ``heard``."""
    while True:
        text = link.recv(timeout=GUARD)
        assert isinstance(text, str) and text.endswith("\n") and text.count("\n") == 1
        line: Json = json.loads(text)
        if heard is not None:
            heard.append(line)
        if wanted(line):
            return line


def is_result(line: Json) -> bool:
    return bool(line["type"] == "result")


def is_question(line: Json) -> bool:
    return bool(line["type"] == "control_request")


@pytest.mark.parametrize("version", ["2.1.37", "2.1.62", "2.1.120"])
def test_it_dials_with_its_token_and_speaks_only_when_spoken_to(start: Start, listener: Listener, version: str) -> None:
    """Measured (2.1.37, 2.1.62, 2.1.120): bearer token, one line a frame with its newline, several lines a frame taken."""
    _, link = dial(start, listener, version)
    assert link.request is not None and link.request.headers["Authorization"] == "Bearer secret"
    assert "X-Last-Request-Id" not in link.request.headers
    with pytest.raises(TimeoutError):
        link.recv(timeout=0.3)
    send(link, {"type": "control_request", "request_id": "i", "request": {"subtype": "initialize"}}, prompt("hi"))
    assert hear(link, lambda line: line["type"] == "control_response")["response"]["request_id"] == "i"
    assert hear(link, is_result)["result"] == "Hello."


def test_a_frame_without_its_newline_waits_for_it(start: Start, listener: Listener) -> None:
    """Measured (2.1.37, 2.1.62): [ws_two_lines_one_frame]."""
    _, link = dial(start, listener, "2.1.62")
    link.send(json.dumps(prompt("hi")))
    with pytest.raises(TimeoutError):
        link.recv(timeout=0.3)
    link.send("\n")
    assert hear(link, is_result)["result"] == "Hello."


def test_questions_come_without_the_prompt_tool_flag(start: Start, listener: Listener) -> None:
    """Measured (2.1.37, 2.1.62): [ws_no_ask_flag]."""
    start(ASKING, "-p", "--sdk-url", listener.url, version="2.1.62", flags=[])
    link = listener.next()
    send(link, prompt("hi"))
    assert hear(link, is_question)["request"]["tool_name"] == "Bash"


@pytest.mark.parametrize("version", ["2.1.37", "2.1.62", "2.1.120"])
def test_after_a_loss_it_dials_again_and_a_second_initialize_lists_the_open_question(
    start: Start, listener: Listener, version: str
) -> None:
    """Measured (all three): the question is not said again; the error answer of initialize holds it, and its answer works."""
    _, link = dial(start, listener, version, ASKING)
    send(link, {"type": "control_request", "request_id": "i", "request": {"subtype": "initialize"}}, prompt("hi"))
    question = hear(link, is_question)
    link.close()
    again = listener.next()
    assert again.request is not None and again.request.headers["X-Last-Request-Id"]
    send(again, {"type": "control_request", "request_id": "i2", "request": {"subtype": "initialize"}})
    answer = hear(again, lambda line: line["type"] == "control_response")["response"]
    assert answer["subtype"] == "error"
    assert answer["pending_permission_requests"] == [question]
    allow = {"behavior": "allow", "updatedInput": question["request"]["input"]}
    inner = {"subtype": "success", "request_id": question["request_id"], "response": allow}
    send(again, {"type": "control_response", "response": inner})
    assert hear(again, is_result)["result"] == "Done."


def test_what_is_said_while_the_link_is_down_is_lost(start: Start, listener: Listener) -> None:
    """Measured (2.1.37, 2.1.62): 14 to 17 deltas were missing."""
    _, link = dial(
        start, listener, "2.1.62", [{"text": "one"}, {"wait": 3.0}, {"text": "two"}, {"wait": 25.0}, {"text": "three"}]
    )
    send(link, prompt("hi"))
    hear(link, lambda line: line["type"] == "assistant")
    listener.refuse = True
    link.close()
    _wait_until(lambda: listener.refused >= 3)
    listener.refuse = False
    again = listener.next()
    heard: list[Json] = []
    assert hear(again, is_result, heard)["result"] == "three"
    assert all("two" not in str(line.get("message")) for line in heard)


def test_the_last_version_with_links_says_everything_again(start: Start, listener: Listener) -> None:
    """Measured (2.1.120): init, assistant and result come a second time, questions do not."""
    _, link = dial(start, listener, "2.1.120")
    send(link, prompt("hi"))
    result = hear(link, is_result)
    link.close()
    again = listener.next()
    heard: list[Json] = []
    assert hear(again, is_result, heard) == result
    assert [line["type"] for line in heard] == ["system", "assistant", "result"]


@pytest.mark.parametrize(("version", "leaves"), [("2.1.37", False), ("2.1.62", True)])
def test_the_close_code_4001_ends_the_versions_that_know_it(start: Start, listener: Listener, version: str, leaves: bool) -> None:
    """Measured: 2.1.62 exits 0 at once, 2.1.37 dials again."""
    sim, link = dial(start, listener, version)
    link.close(4001)
    if leaves:
        assert sim.process.wait(GUARD) == 0
    else:
        assert listener.next() is not None


def test_the_oldest_gives_up_after_two_refusals_the_next_one_dials_on(start: Start, listener: Listener) -> None:
    """Measured: 2.1.37 exits 0, 2.1.62 goes on for minutes."""
    listener.refuse = True
    old = start([], "--sdk-url", listener.url, version="2.1.37", ROPEWALK_SIM_SPEED="20")
    assert old.process.wait(GUARD) == 0
    assert listener.refused == 2
    new = start([], "--sdk-url", listener.url, version="2.1.62", ROPEWALK_SIM_SPEED="50")
    _wait_until(lambda: listener.refused >= 6)
    assert new.process.poll() is None


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + GUARD
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


class Ingress(http.server.BaseHTTPRequestHandler):
    """Takes posted events; `answers` says with which status, one a request, then 200."""

    answers: list[int]
    taken: list[tuple[str, str, list[Json]]]
    told: threading.Condition

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.told:
            status = self.answers.pop(0) if self.answers else 200
            if status == 200:
                self.taken.append((self.path, self.headers["Authorization"], body["events"]))
            self.told.notify_all()
        self.send_response(status)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def ingress() -> Iterator[type[Ingress]]:
    """A class of its own for each test: its lists are not shared."""
    yield type("Mine", (Ingress,), {"answers": [], "taken": [], "told": threading.Condition()})


@pytest.mark.parametrize(("statuses", "first"), [([], "system"), ([500, 503, 500], "system"), ([404], "assistant")])
def test_hybrid_lines_are_posted_in_order(start: Start, ingress: type[Ingress], statuses: list[int], first: str) -> None:
    """Measured (2.1.37, 2.1.62): 5xx is tried again with nothing lost, 404 drops the line."""
    ingress.answers.extend(statuses)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ingress) as posts:
        threading.Thread(target=posts.serve_forever, daemon=True).start()
        front = Front(posts.server_port)
        environment = {"CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2": "1", "CLAUDE_CODE_SESSION_ACCESS_TOKEN": "secret"}
        start([{"text": "Hello."}], "--sdk-url", front.url, version="2.1.62", **environment)
        link = front.listener.next()
        send(link, prompt("hi"))
        with ingress.told:
            assert ingress.told.wait_for(
                lambda: any(is_result(event) for _, _, events in ingress.taken for event in events), GUARD
            )
        front.close()
        posts.shutdown()
    assert {(path, token, len(events)) for path, token, events in ingress.taken} == {
        ("/v1/session/session-1/events", "Bearer secret", 1)
    }
    assert ingress.taken[0][2][0]["type"] == first
    with pytest.raises((TimeoutError, ConnectionClosed)):
        link.recv(timeout=0.1)


class Front:
    """One address for both halves of a hybrid link: WebSocket dials and posts are told apart by their first word."""

    def __init__(self, posts: int) -> None:
        self.listener = Listener()
        self._posts = posts
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self._socket.getsockname()[1]}/v1/ws/session-1"
        self._open: list[socket.socket] = []
        self._pumps: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._run, daemon=True)
        self._accepting.start()

    def _run(self) -> None:
        while True:
            try:
                near, _ = self._socket.accept()
            except OSError:
                return
            first = near.recv(65536)
            far = socket.create_connection(("127.0.0.1", self._posts if first.startswith(b"POST") else self.listener.port))
            far.sendall(first)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                pump = threading.Thread(target=_pump, args=(source, sink), daemon=True)
                self._pumps.append(pump)
                pump.start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._accepting.join(GUARD)
        self.listener.close()
        for end in [self._socket, *self._open]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for pump in self._pumps:
            pump.join(GUARD)
        for end in [self._socket, *self._open]:
            end.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
