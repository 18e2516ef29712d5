"""A hub in a process of its own over real CLIs, driven through its API. Refuses to leave hub, runner or CLI behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from ropewalk import Remote
from ropewalk.events.views import QuestionView
from ropewalk.sim.model import SimModel
from tests.hub.house import until
from tests.real.rig import Place


class ServedHub:
    """``serve`` as often as wished, in the same folder; ``kill`` in between."""

    def __init__(self, folder: Path, cli: Path) -> None:
        self.folder, self._cli = folder, cli
        self._child: subprocess.Popen[bytes] | None = None
        self._runner: int | None = None
        self._remotes: list[Remote] = []

    async def serve(self) -> Remote:
        address = self.folder / "hub.json"
        address.unlink(missing_ok=True)
        env = {**os.environ, "ROPEWALK_HOME": str(self.folder), "ROPEWALK_CLI": str(self._cli)}
        with open(self.folder / "serve.log", "ab") as words:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "ropewalk", "serve", "--port", "0"],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
            )

        async def there() -> bool:
            assert self._child is not None and self._child.poll() is None, (self.folder / "serve.log").read_text()
            return address.exists()

        await until(there, "hub")
        remote = Remote(json.loads(address.read_text())["url"], (self.folder / "token").read_text().strip())
        self._remotes.append(remote)
        self._runner = (await remote.runners())[0].pid
        return remote

    def kill(self) -> None:
        assert self._child is not None
        self._child.kill()
        self._child.wait()

    async def end(self) -> None:
        for remote in self._remotes:
            await remote.close()
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()
            await asyncio.to_thread(self._child.wait, 30)
        if self._runner is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._runner, signal.SIGTERM)

            async def gone() -> bool:
                return not os.path.exists(f"/proc/{self._runner}")

            await until(gone, "end of the runner")


@contextlib.asynccontextmanager
async def served_hub(here: Place, version: str, model: SimModel) -> AsyncIterator[ServedHub]:
    """The CLI is a wrapper that gives it its own user and environment, as on every other road of these tests."""
    with tempfile.TemporaryDirectory(prefix="ropewalk-hub-") as made:
        folder = Path(made)
        cli = folder / "claude"
        cli.write_text(f'#!/bin/sh\nexec {shlex.join(here.argv(version, here.env(model.url)))} "$@"\n')
        cli.chmod(0o755)
        hub = ServedHub(folder, cli)
        try:
            yield hub
        finally:
            await hub.end()


async def question_of(remote: Remote, session: str) -> QuestionView:
    async def look() -> QuestionView | None:
        return next(iter(await remote.questions(session=session)), None)

    return await until(look, "question")
