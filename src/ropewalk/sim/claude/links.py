"""``--sdk-url``: the CLI dials the controller and speaks over a WebSocket. Refuses to listen.

What each version does when the link is refused, lost or closed is in `Habits` (measured: 2.1.37, 2.1.62, 2.1.120). Imported only
when the flag is given: it needs the websockets library.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from .wire import Road

PING = 10.0
"""Seconds between pings; without a pong by the next one the link counts as lost."""


@dataclass(frozen=True)
class Habits:
    """Waits before each new dial, at the start and after a loss; None at the end = give up, else the last one repeats."""

    at_start: tuple[float | None, ...]
    after_loss: tuple[float | None, ...]
    leaves_on: frozenset[int] = frozenset()
    replays: bool = False
    leaves_when_refused: bool = False


HABITS = {
    "2.1.37": Habits((2.0, None), (1.0, 4.0, None)),
    "2.1.62": Habits((1.0, 2.0, 4.0, 9.0, 18.0), (1.0, 2.0, 4.0, 9.0, 18.0), frozenset({1002, 4001, 4003})),
    "2.1.120": Habits((1.0, 2.0, 4.0, 9.0, 18.0), (1.0, 2.0, 4.0, 9.0, 18.0), frozenset({1002, 4001, 4003}), True, True),
}


class Link(Road):
    """One road over changing connections. Lines said while it is down are lost, or (2.1.120) all said again."""

    def __init__(self, url: str, version: str, speed: float, sends: bool = True) -> None:
        self._url, self._habits, self._speed, self._sends = url, HABITS[version], speed, sends
        self._open: ClientConnection | None = None
        self._last_uuid: str | None = None
        self._said: list[str] = []
        self._lock = threading.Lock()

    def start(self, feed: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        threading.Thread(target=self._live, args=(feed,), name="link", daemon=True).start()

    def write(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        message = json.loads(text) if text.startswith("{") and text.endswith("}\n") else {}
        with self._lock:
            self._last_uuid = message.get("uuid", self._last_uuid)
            if self._habits.replays and message.get("type") not in ("control_request", "control_response"):
                self._said.append(text)
            self._send(text)

    def _send(self, text: str) -> None:
        if self._open is not None:
            try:
                self._open.send(text)
            except ConnectionClosed:
                self._open = None

    def _live(self, feed: Callable[[bytes], None]) -> None:
        waits, tried = self._habits.at_start, 0
        while True:
            try:
                code = self._once(feed)
                waits, tried = self._habits.after_loss, 0
                if code in self._habits.leaves_on:
                    os._exit(0)
            except (OSError, InvalidHandshake):
                if self._habits.leaves_when_refused and waits is self._habits.after_loss:
                    os._exit(0)
            wait = waits[min(tried, len(waits) - 1)]
            if wait is None:
                os._exit(0)
            tried += 1
            time.sleep(wait / self._speed if self._speed else 0.05)

    def _once(self, feed: Callable[[bytes], None]) -> int | None:
        """One connection from dial to end; returns the code that the other side closed with."""
        with connect(
            self._url, additional_headers=self._headers(), proxy=None, ping_interval=PING, ping_timeout=PING, max_size=None,
            user_agent_header=None,
        ) as connection:  # fmt: skip
            with self._lock:
                self._open = connection
                for text in self._said:
                    self._send(text)
            try:
                while True:
                    frame = connection.recv()
                    feed(frame if isinstance(frame, bytes) else frame.encode("utf-8", "surrogatepass"))
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else None
            finally:
                with self._lock:
                    self._open = None

    def _headers(self) -> dict[str, str]:
        headers = {}
        if token := os.environ.get("CLAUDE_CODE_SESSION_ACCESS_TOKEN"):
            headers["Authorization"] = f"Bearer {token}"
        if self._last_uuid is not None and self._sends:
            headers["X-Last-Request-Id"] = self._last_uuid
        return headers


def road(url: str, version: str, speed: float) -> Road:
    """The link for a URL; with CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2=1 what we say is posted instead."""
    if os.environ.get("CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2") == "1":
        return Hybrid(url, version, speed)
    return Link(url, version, speed)


class Hybrid(Link):
    """Lines come over the WebSocket and go by POST, in order: 5xx is tried again, 404 drops them (measured)."""

    def __init__(self, url: str, version: str, speed: float) -> None:
        super().__init__(url, version, speed, sends=False)
        self._post = Post(url, speed, together=self._habits.replays)

    def write(self, line: bytes) -> None:
        self._post.put(line)


class Post:
    """The sender thread of a hybrid link."""

    def __init__(self, url: str, speed: float, together: bool) -> None:
        self._host, self._path = _post_address(url)
        self._speed, self._together = speed, together
        self._waiting: list[bytes] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="post", daemon=True).start()

    def put(self, line: bytes) -> None:
        with self._changed:
            self._waiting.append(line.rstrip(b"\n"))
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                count = len(self._waiting) if self._together else 1
                lines, self._waiting = self._waiting[:count], self._waiting[count:]
            self._deliver(b'{"events":[' + b",".join(lines) + b"]}")

    def _deliver(self, body: bytes) -> None:
        wait = 0.5
        while not self._posted(body):
            time.sleep(wait / self._speed if self._speed else 0.02)
            wait = min(wait * 2, 8.0)

    def _posted(self, body: bytes) -> bool:
        """Taken, or dropped for good (4xx)."""
        headers = {"Content-Type": "application/json"}
        if token := os.environ.get("CLAUDE_CODE_SESSION_ACCESS_TOKEN"):
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection(self._host, timeout=30)
        try:
            connection.request("POST", self._path, body, headers)
            return connection.getresponse().status < 500
        except OSError:
            return False
        finally:
            connection.close()


def _post_address(url: str) -> tuple[str, str]:
    """``ws://H/v1/ws/ID`` → H and ``/v1/session/ID/events``."""
    host, _, path = url.partition("//")[2].partition("/")
    return host, f"/{path}".replace("/ws/", "/session/", 1).rstrip("/") + "/events"
