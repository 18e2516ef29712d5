"""A real CLI driven line by line, for facts about the CLI itself. Refuses to use the product or to interpret what it reads."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Wanted = Callable[[Line], bool]
GUARD = 30.0
STREAM = ("-p", "--output-format=stream-json", "--input-format=stream-json", "--verbose", "--permission-prompt-tool=stdio")
LONGEST = 64 * 1024 * 1024


class RawCli:
    """One process. ``expect`` walks through its lines in order; ``lines`` has all of them."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[Line] = []
        self.stderr: list[str] = []
        self._at = 0
        self._news = asyncio.Condition()
        self._ended = False
        self._ids = itertools.count(1)

    def send(self, *lines: Line | str | bytes) -> None:
        """Objects as JSON lines, text and bytes as they are; all in one write."""
        assert self.process.stdin
        self.process.stdin.write(b"".join(as_bytes(line) for line in lines))

    def prompt(self, content: str | list[Line], **more: Any) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": content}, **more})

    async def expect(self, wanted: Wanted, what: str = "a line") -> Line:
        """The next line like this, after the one that was expected last. Fails after 30 s, or at once when the CLI has gone."""
        try:
            async with asyncio.timeout(GUARD):
                while True:
                    for at in range(self._at, len(self.lines)):
                        if wanted(self.lines[at]):
                            self._at = at + 1
                            return self.lines[at]
                    assert not self._ended, f"the CLI ended before {what}\n{self.story()}"
                    await self._wait()
        except TimeoutError:
            raise AssertionError(f"no {what} within {GUARD} s\n{self.story()}") from None

    async def request(self, subtype: str, **fields: Any) -> Line:
        """Send a control request; its ``response`` object, success or error. Does not move past other lines."""
        name = f"raw-{next(self._ids)}"
        self.send({"type": "control_request", "request_id": name, "request": {"subtype": subtype, **fields}})
        return await self.response(name)

    async def response(self, request_id: str) -> Line:
        at, self._at = self._at, 0
        try:
            line = await self.expect(lambda line: response_id(line) == request_id, f"response to {request_id}")
        finally:
            self._at = at
        response: Line = line["response"]
        return response

    async def fence(self) -> list[Line]:
        """What was said since the last ``expect``, up to an answer to a harmless request; answers to requests are left out.

        This is how to see, without sleeping, that a line does not come.
        """
        at = self._at
        await self.request("mcp_status")
        return [line for line in self.lines[at:] if line["type"] != "control_response"]

    def skip(self) -> None:
        """What was said so far is not expected any more."""
        self._at = len(self.lines)

    async def question(self, tool: str | None = None) -> Line:
        return await self.expect(lambda line: asks(line) and tool in (None, line["request"]["tool_name"]), f"question ({tool})")

    def answer(self, question: Line, response: Line) -> None:
        inner = {"subtype": "success", "request_id": question["request_id"], "response": response}
        self.send({"type": "control_response", "response": inner})

    def allow(self, question: Line, **changed: Any) -> None:
        self.answer(question, {"behavior": "allow", "updatedInput": {**question["request"]["input"], **changed}})

    async def result(self) -> Line:
        return await self.expect(lambda line: line["type"] == "result", "result")

    async def quiet(self) -> None:
        """Wait for the end of a turn that has begun: the answer to an interrupt can come before the turn's result."""
        begun = [at for at, line in enumerate(self.lines) if line.get("subtype") == "init"]
        if begun and not any(line["type"] == "result" for line in self.lines[begun[-1] :]):
            self._at = begun[-1]
            await self.result()

    async def turn(self, content: str | list[Line], **more: Any) -> Line:
        """A prompt and its result, no questions asked."""
        self.prompt(content, **more)
        return await self.result()

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    async def exit_code(self) -> int:
        try:
            async with asyncio.timeout(GUARD):
                return await self.process.wait()
        except TimeoutError:
            raise AssertionError(f"still running after {GUARD} s\n{self.story()}") from None

    async def ended(self) -> None:
        """Wait until all of its output has been read: what follows the exit of a process, unless its children hold the pipe."""
        async with asyncio.timeout(GUARD):
            while not self._ended:
                await self._wait()

    async def end(self) -> int:
        self.close_input()
        return await self.exit_code()

    def story(self) -> str:
        lines = [json.dumps(line)[:400] for line in self.lines[-25:]]
        return "\n".join([f"{len(self.lines)} lines, the last:", *lines, "stderr:", *self.stderr[-20:]])

    async def _wait(self) -> None:
        async with self._news:
            await self._news.wait()

    async def read(self) -> None:
        """Both pipes until the CLI's own are closed or the owner cancels."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read_stdout())
            group.create_task(self._read_stderr())

    async def _read_stdout(self) -> None:
        assert self.process.stdout
        async for line in self.process.stdout:
            self.lines.append(json.loads(line))
            await self._tell()
        self._ended = True
        await self._tell()

    async def _read_stderr(self) -> None:
        assert self.process.stderr
        async for line in self.process.stderr:
            self.stderr.append(line.decode(errors="replace").rstrip())

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


RawStart = Callable[..., contextlib.AbstractAsyncContextManager[RawCli]]
"""``raw_cli("--flag", NAME="value")``: flags after the stream-json ones, variables over those of the place."""


@contextlib.asynccontextmanager
async def raw_cli(argv: Sequence[str], *args: str, cwd: Path, env: dict[str, str]) -> AsyncIterator[RawCli]:
    """Start ``argv`` with ``args`` (after the stream-json flags); at the end its input is closed, then it is killed."""
    pipe = asyncio.subprocess.PIPE
    words = [*argv, *args]
    process = await asyncio.create_subprocess_exec(
        *words, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST, start_new_session=True
    )
    cli = RawCli(process)
    reading = asyncio.get_running_loop().create_task(cli.read())
    try:
        yield cli
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def as_bytes(line: Line | str | bytes) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line) + "\n").encode()


def asks(line: Line) -> bool:
    return bool(line["type"] == "control_request" and line["request"].get("subtype") == "can_use_tool")


def response_id(line: Line) -> str | None:
    return line["response"].get("request_id") if line["type"] == "control_response" else None
