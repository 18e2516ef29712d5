"""Acts as people over HTTP: each act has an id, is repeated until it is answered, and is noted with its answer.

Refuses to give up silently: a call that takes longer than 30 s while the hub serves is noted as a hang.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from .house import GUARD, House

PATIENCE = 60.0
"""Seconds over which an act is repeated while the hub is not there."""


@dataclass
class Act:
    """``status``: of the answer that settled it; None when none came. ``tries`` counts the requests."""

    client_id: str
    what: str
    session: str
    body: dict[str, Any]
    status: int | None = None
    answer: dict[str, Any] = field(default_factory=dict)
    tries: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class People:
    """``acts`` in the order of asking. ``verdicts``: question → behaviour that was, or may have been, given."""

    def __init__(self, house: House, rng: random.Random) -> None:
        self.house, self.rng = house, rng
        self.acts: list[Act] = []
        self.verdicts: dict[str, str] = {}
        self.hangs: list[str] = []
        self.paused_until = 0.0
        """Up to then the hub was stopped on purpose: what was asked before is not called a hang."""
        self.number = 0
        self.http = httpx.AsyncClient(timeout=GUARD, limits=httpx.Limits(max_connections=64))

    async def close(self) -> None:
        await self.http.aclose()

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.ask("GET", path, params=query)
        answer.raise_for_status()
        return answer.json()

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """One request, no repeat."""
        headers = {"Authorization": f"Bearer {self.house.token}", **more.pop("headers", {})}
        return await self.http.request(method, f"{self.house.url}/api/v1{path}", headers=headers, **more)

    async def act(self, what: str, path: str, session: str, body: dict[str, Any], method: str = "POST", again: int = 0) -> Act:
        """Repeat until there is a definite answer; ``again``: repeat it so often more after that."""
        self.number += 1
        act = Act(f"{what}-{self.number}-{self.rng.getrandbits(48):x}", what, session, body)
        self.acts.append(act)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if await self._tried(act, method, path):
                break
            await asyncio.sleep(0.05)
        for _ in range(again):
            await self._tried(act, method, path)
        return act

    async def _tried(self, act: Act, method: str, path: str) -> bool:
        act.tries += 1
        began = time.monotonic()
        try:
            answer = await self.ask(method, path, json={**act.body, "client_id": act.client_id})
        except httpx.TimeoutException:
            if self.house.up and began > self.paused_until:
                self.hangs.append(f"{act.what} {act.client_id} was not answered within {GUARD:g} s")
            return False
        except (httpx.TransportError, OSError):
            return False
        act.seconds = max(act.seconds, time.monotonic() - began)
        if answer.status_code in (500, 502, 503, 504, 507):
            act.status, act.answer = answer.status_code, _body(answer)
            return False
        first = act.status is None or not act.ok
        if first:
            act.status, act.answer = answer.status_code, _body(answer)
        return True

    # -- what people do

    async def create(self, name: str, **more: Any) -> str:
        act = await self.act("create", "/sessions", "", {"cwd": str(self.house.folder_for(name)), "title": name, **more})
        if not act.ok:
            raise RuntimeError(f"no session could be made: {act.status} {act.answer}")
        return str(act.answer["id"])

    async def prompt(self, session: str, text: str, when: str = "next", again: int = 0) -> Act:
        """The text ends with a name of its own, by which the CLI's ledger knows it."""
        named = f"{text} [p{self.number + 1}.{self.rng.getrandbits(32):x}]"
        body = {"text": named, "when": when}
        return await self.act("prompt", f"/sessions/{session}/prompts", session, body, again=again)

    async def answer(self, question: dict[str, Any], behavior: str, remember: dict[str, Any] | None = None) -> Act | None:
        """Until it counts; a question whose process is not heard is asked again later."""
        body: dict[str, Any] = {"behavior": behavior}
        if behavior == "deny":
            body["message"] = "not now"
        elif question.get("asks") == "choice":
            asked = (question.get("choices") or [{}])[0]
            body["answers"] = {str(asked.get("question", "Which way?")): "left"}
        if remember is not None:
            body["remember"] = remember
        name = str(question["id"])
        self.verdicts[name] = behavior
        act = None
        for _ in range(200):
            act = await self.act("answer", f"/questions/{name}/answer", str(question.get("session", "")), body)
            if act.ok or act.answer.get("code") not in ("unreachable",):
                return act
            await asyncio.sleep(0.1)
        return act


def _body(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {"text": answer.text[:300]}
    return found if isinstance(found, dict) else {"items": found}
