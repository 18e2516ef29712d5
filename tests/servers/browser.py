"""A real browser, driven over its debugging socket: go somewhere, run a line, take a picture. Refuses to hide errors."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import websockets

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
GUARD = 30.0


class Tab:
    """One page. ``said`` collects what its console and its security policy complained about."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._ids = socket, itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self.said: list[str] = []
        self.asked: list[str] = []
        self.session = ""

    async def listen(self) -> None:
        async for text in self._socket:
            message = json.loads(text)
            if (waiter := self._waiting.pop(message.get("id", 0), None)) is not None:
                waiter.set_result(message)
            elif message.get("method") == "Log.entryAdded":
                self.said.append(message["params"]["entry"]["text"])
            elif message.get("method") == "Runtime.exceptionThrown":
                self.said.append(json.dumps(message["params"])[:500])
            elif message.get("method") == "Network.requestWillBeSent":
                self.asked.append(message["params"]["request"]["url"])

    async def call(self, method: str, **params: Any) -> Any:
        number = next(self._ids)
        waiter = self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        await self._socket.send(json.dumps(message))
        found = await asyncio.wait_for(waiter, GUARD)
        assert "error" not in found, found
        return found["result"]

    async def go(self, address: str) -> None:
        await self.call("Page.navigate", url=address)

    async def run(self, script: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, script: str, within: float = GUARD) -> None:
        """Wait for a condition of the page."""
        ends = asyncio.get_running_loop().time() + within
        while not await self.run(f"Boolean({script})"):
            assert asyncio.get_running_loop().time() < ends, (script, self.said, await self.text())
            await asyncio.sleep(0.05)

    async def text(self, selector: str = "body") -> str:
        return str(await self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    async def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """As a device of this size has it; below 800 it is a phone."""
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 800)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def type(self, text: str) -> None:
        """As keys of a keyboard, into whatever has the focus."""
        for letter in text:
            known = {"\r": ("Enter", 13), " ": (" ", 32), "\t": ("Tab", 9)}
            key, number = known.get(letter, (letter, ord(letter.upper())))
            told = {"key": key, "code": "Enter" if letter == "\r" else "", "windowsVirtualKeyCode": number}
            await self.call("Input.dispatchKeyEvent", type="keyDown", text=letter, **told)
            await self.call("Input.dispatchKeyEvent", type="keyUp", **told)

    async def click(self, selector: str) -> None:
        """With the pointer, in its middle."""
        script = f"(() => {{const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();" \
            "return [box.x + box.width / 2, box.y + box.height / 2]})()"  # fmt: skip
        x, y = await self.run(script)
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def another(self) -> Tab:
        """A second one, signed in as this one is."""
        tab = Tab(self._socket)
        tab._ids, tab._waiting = self._ids, self._waiting
        self_session, self.session = self.session, ""
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        tab.session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        self.session = self_session
        for domain in ("Page", "Runtime"):
            await tab.call(f"{domain}.enable")
        return tab

    async def picture(self, path: Path) -> None:
        found = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))


@asynccontextmanager
async def open_tab(folder: Path, width: int = 900, height: int = 700) -> AsyncIterator[Tab]:
    assert PROGRAM is not None
    folder.mkdir(parents=True, exist_ok=True)
    flags = ["--headless=new", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0", f"--user-data-dir={folder}",
             "--disable-background-networking", f"--window-size={width},{height}",
             *(["--no-sandbox"] if os.geteuid() == 0 else [])]  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *flags,
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(GUARD):
            while not (port := folder / "DevToolsActivePort").exists() or len(port.read_text().splitlines()) < 2:
                await asyncio.sleep(0.05)
        number, path = port.read_text().splitlines()[:2]
        async with websockets.connect(f"ws://127.0.0.1:{number}{path}", max_size=None) as socket:
            tab = Tab(socket)
            listener = asyncio.get_running_loop().create_task(tab.listen())
            target = (await tab.call("Target.createTarget", url="about:blank"))["targetId"]
            tab.session = (await tab.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                await tab.call(f"{domain}.enable")
            yield tab
            tab.session = ""
            with suppress(AssertionError, TimeoutError, websockets.ConnectionClosed):
                await tab.call("Browser.close")
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
