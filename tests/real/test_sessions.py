"""The life of a session on real CLIs through our Client: ready, resumed, forked, killed, closed; what is left of it on disk."""

from __future__ import annotations

import itertools
import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ropewalk import Assistant, Client, ClientOptions, Init, Result, SessionGone, User
from ropewalk.client.transcripts import find_transcript, read_transcript, transcript_path
from ropewalk.protocol.words import why_it_ended
from ropewalk.sim.model import SimModel
from tests.demand import demand
from tests.real.rig import Place, give_away, place
from tests.real.rig_client import Played, Reading, Stage, client_at
from tests.real.rig_talk import LOOP, command
from tests.real.rig_work import Pipe

pytestmark = LOOP
FOLDER = "wörk & 🐢_v1.0"
"""Where the sessions live: a name that only just is one."""


@dataclass
class Past:
    """A session of two turns that has ended, and where it ran."""

    version: str
    model: SimModel
    place: Place
    ready: dict[str, Any]
    session_id: str
    first: Played
    second: Played
    cost: float
    counter: itertools.count[int]

    @property
    def newest(self) -> bool:
        return self.version == "2.1.326"

    @property
    def cwd(self) -> Path:
        return self.place.project / FOLDER

    @property
    def config(self) -> Path:
        return self.place.home / ".claude"

    @property
    def transcript(self) -> Path:
        return transcript_path(self.cwd, self.session_id, self.config)

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[Stage]:
        """A new process in the same folder."""
        cli = self.place.argv(self.version, self.place.env(self.model.url))
        async with Client(ClientOptions(cli=cli, cwd=self.cwd, **options)) as client:
            yield Stage(self.version, self.model, self.place, client, self.counter)


async def lived(version: str, model: SimModel, here: Place) -> Past:
    (here.project / FOLDER).mkdir()
    give_away(here.project)
    wanted = str(uuid.uuid4())
    async with client_at(here, version, model, cwd=here.project / FOLDER, session_id=wanted) as client:
        for _ in range(3):
            await client.mcp_status()  # nobody hurries it
        ready = {"connected": client.connected, "idle": client.idle, "asked": len(model.requests), "session": client.session_id}
        stage = Stage(version, model, here, client)
        pid = client.pid
        first = await stage.play("The turtle is green.")
        ready |= {"stays": client.connected and client.idle and client.pid == pid}
        second = await stage.play("It is heavy.")
        return Past(version, model, here, ready, wanted, first, second, client.cost_usd, stage.counter)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def past(cli_version: str) -> AsyncIterator[Past]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(SimModel())
        here = stack.enter_context(place())
        yield await lived(cli_version, model, here)


def words_of(asked: Any) -> str:
    return str(asked.messages)


@demand("001-06", "000-31", "001-70", tag="real")
async def test_a_session_waits_without_a_prompt_and_stays_after_each_result(past: Past) -> None:
    """seeds 000, 001; measured (all): ready and silent until it is spoken to; the same process takes the next prompt."""
    assert past.ready == {"connected": True, "idle": True, "asked": 0, "session": None, "stays": True}
    named = {message.session_id for played in (past.first, past.second) for message in played.messages if message.session_id}
    assert named == {past.session_id}
    assert [played.result.result for played in (past.first, past.second)] == ["The turtle is green.", "It is heavy."]


@demand("001-77", tag="real")
async def test_the_transcript_is_found_and_read(past: Past) -> None:
    """seed 001; measured (all): under the projects folder, by folder and session id; answers under the uuids of the wire."""
    assert past.transcript.exists() and find_transcript(past.session_id, past.config) == past.transcript
    entries = list(read_transcript(past.transcript))
    answers = {entry.uuid: entry.message.text for entry in entries if isinstance(entry.message, Assistant)}
    spoken = {one.uuid: one.text for played in (past.first, past.second) for one in played.of(Assistant)}
    assert answers == spoken and set(answers.values()) == {"The turtle is green.", "It is heavy."}
    prompts = [entry for entry in entries if isinstance(entry.message, User) and not entry.sidechain]
    assert "scene 1." in str(prompts[0].message) and prompts[0].fields["cwd"] == str(past.cwd) and prompts[0].at
    assert {entry.kind for entry in entries} >= {"user", "assistant"} and all(entry.fields for entry in entries)


@demand("001-72", "004-04", "001-04", tag="real")
async def test_a_resumed_session_goes_on_with_its_history_and_nothing_is_said_twice(past: Past) -> None:
    """seeds 001, 004; measured (all): silent until prompted, the same id, no replay; model, mode and rules by
    flags. The cost goes on from the stored total on 2.1.326 and from 0 on older CLIs; what is charged is the turn alone."""
    options = {"resume": past.session_id, "model": "sonnet", "allowed_tools": ["Bash(node:*)"], "permission_mode": "plan"}
    async with past.client(**options, known_cost=past.cost) as stage:
        assert stage.client.idle
        prompt = f"resumed, {stage.script('Still green.')}"
        reading = Reading(stage.client.query(prompt))
        result = await reading.until(Result)
        (init,) = [one for one in reading.seen if isinstance(one, Init)]
        assert init.session_id == stage.client.session_id == past.session_id and "sonnet" in str(init.model)
        assert init.permissionMode == stage.client.mode == "plan"
        (asked,) = stage.calls(prompt)
        assert "The turtle is green." in words_of(asked) and "It is heavy." in words_of(asked)
        said = [one for one in reading.seen if isinstance(one, Assistant | User)]
        assert not [one for one in said if b"turtle" in one.raw or b"heavy" in one.raw]
        assert stage.client.cost_usd == pytest.approx(result.cost_usd) and result.cost_usd > 0
        before = past.cost if past.newest else 0.0
        assert result.total_cost_usd == pytest.approx(before + result.cost_usd)
        await stage.client.set_permission_mode("default")
        asked_for = [len((await stage.play(command(words), "Done.")).questions) for words in ("node -p 1", "mkdir made")]
        assert asked_for == [0, 1] and (past.cwd / "made").exists()


@demand("001-73", tag="real")
async def test_a_session_goes_on_from_an_earlier_message(past: Past) -> None:
    """seed 001; measured (all): up to that answer and no further."""
    point = past.first.of(Assistant)[-1].uuid
    async with past.client(resume=past.session_id, resume_at=point, fork=True) as stage:
        prompt = f"from there, {stage.script('Yes.')}"
        played = await stage.play(prompt=prompt)
        (asked,) = stage.calls(prompt)
        assert "The turtle is green." in words_of(asked) and "It is heavy." not in words_of(asked)
        assert played.result.session_id != past.session_id


@demand("001-74", "001-75", "001-04", "004-04", tag="real")
async def test_a_fork_has_its_own_id_and_the_newest_session_is_taken_up(past: Past) -> None:
    """seed 001; measured (all): the old session stays as it was; continue takes the folder's newest, which is the fork."""
    before = past.transcript.read_bytes()
    async with past.client(resume=past.session_id, fork=True, model="haiku") as stage:
        prompt = f"forked, {stage.script('Another way.')}"
        (init,) = (await stage.play(prompt=prompt)).of(Init)
        forked = stage.client.session_id
        assert forked and forked != past.session_id and "haiku" in str(init.model)
        assert "The turtle is green." in words_of(stage.calls(prompt)[0])
    assert past.transcript.read_bytes() == before
    async with past.client(continue_last=True, model="opus") as stage:
        prompt = f"continued, {stage.script('And on.')}"
        (init,) = (await stage.play(prompt=prompt)).of(Init)
        assert stage.client.session_id == forked and "opus" in str(init.model)
        assert "Another way." in words_of(stage.calls(prompt)[0])


@demand("002-43", tag="real")
async def test_an_unknown_session_says_that_it_is_not_here_and_what_to_do(past: Past) -> None:
    """seed 002; measured (all): error_during_execution without a turn, exit 1; nobody waits for a start that never comes."""
    unknown, heard = str(uuid.uuid4()), list[Any]()
    with pytest.raises(SessionGone) as gone:
        async with past.client(resume=unknown, on_message=heard.append):
            raise AssertionError("it connected")
    assert gone.value.exit_code == 1
    words = str(gone.value)
    assert f"{unknown} does not exist in {past.cwd}" in words and "leave resume out to begin a new session" in words
    (result,) = [one for one in heard if isinstance(one, Result)]
    assert result.subtype == "error_during_execution" and result.errors and not result.interrupted
    assert "start a new session" in why_it_ended(result)


# -- ends


async def test_a_killed_session_can_be_resumed_and_our_own_log_is_the_record(past: Past) -> None:
    """measured (all): after -9 in the midst of a command the transcript may lack the end of it; what we were told is whole.

    The command outlives the CLI (all versions) until the client is closed.
    """
    log: list[Any] = []
    pipe = Pipe(past.place, past.cwd)
    async with past.client(resume=past.session_id, fork=True, allowed_tools=["Bash"], on_message=log.append) as stage:
        await stage.play("It sleeps.")
        session = stage.client.session_id
        prompt = stage.script(command(f"cat {pipe.name}"), "Never.")
        query = stage.client.query(prompt)
        await pipe.begun(stage.client)
        assert stage.client.pid
        os.kill(stage.client.pid, signal.SIGKILL)
        with pytest.raises(SessionGone) as gone:
            await query
        assert gone.value.exit_code == -signal.SIGKILL and pipe.read
    assert past.place.survivors() == []
    assert [one.text for one in log if isinstance(one, Assistant) and one.text] == ["It sleeps."]
    assert [one for one in log if isinstance(one, Assistant) and pipe.name.encode() in one.raw]
    async with past.client(resume=session) as stage:
        prompt = f"after the fall, {stage.script('Awake.')}"
        played = await stage.play(prompt=prompt)
        assert played.result.result == "Awake." and stage.client.session_id == session
        assert "It sleeps." in words_of(stage.calls(prompt)[0])


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
async def test_closing_ends_a_command_that_runs_for_ever(past: Past, background: bool) -> None:
    """measured (all): interrupt, stop of tasks, closed input, signals: whatever it takes, nothing survives."""
    pipe, rungs = Pipe(past.place, past.cwd), list[str]()
    async with past.client(allowed_tools=["Bash"], close_patience=2.0) as stage:
        words = command(f"cat {pipe.name}", run_in_background=background)
        query = stage.client.query(stage.script(words, "Begun."))
        if background:
            await query
        await pipe.begun(stage.client)
        assert pipe.read and len(past.place.survivors()) > 1
        end = await stage.client.close(on_rung=rungs.append)
        assert end and past.place.survivors() == [] and not stage.client.connected
        assert bool([rung for rung in rungs if rung.startswith("stop background work")]) == (
            background and past.version != "2.1.37"
        )
        assert ("interrupt" in rungs) != background
        with pytest.raises(SessionGone):
            stage.client.query("too late")
