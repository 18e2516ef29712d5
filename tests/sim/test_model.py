"""The scripted Messages API over real sockets: what it says, how it breaks, what it keeps. Refuses real CLIs (see tests/real)."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ropewalk.errors import LinkBroken, UsageError
from ropewalk.sim.model import Rule, SimModel, load_scenario, reply, text, thinking, tool
from ropewalk.sim.model.scenario import REPLY_KEYS, RULE_KEYS, script_from

GUARD = 30.0


@pytest.fixture
async def model() -> AsyncIterator[SimModel]:
    async with SimModel() as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=GUARD, trust_env=False) as client:
        yield client


def call(prompt: str = "hi", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    return {"model": "m", "max_tokens": 9, "messages": messages, "tools": [{"name": "Bash"}, {"name": "Task"}], **more}


async def ask(http: httpx.AsyncClient, model: SimModel, prompt: str = "hi", **more: Any) -> httpx.Response:
    return await http.post(f"{model.url}/v1/messages?beta=true", json=call(prompt, **more))


async def words(http: httpx.AsyncClient, model: SimModel, prompt: str = "hi", **more: Any) -> str:
    return str((await ask(http, model, prompt, **more)).json()["content"][0]["text"])


def events_of(stream: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]


async def test_a_script_is_said_reply_by_reply_and_then_the_default(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add("one", "two")
    assert [await words(http, model) for _ in range(3)] == ["one", "two", "Nothing is scripted for this."]


async def test_the_first_rule_that_matches_the_prompt_answers(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add(Rule([reply("of files")], when="file"), Rule([reply("again"), reply("and again")], when="^re", then="repeat"))
    model.add(Rule([reply("any"), reply("the last")], then="last"))
    asked = ["a file", "repeat", "other", "repeat", "repeat", "a file", "other"]
    assert [await words(http, model, prompt) for prompt in asked] == [
        "of files",
        "again",
        "any",
        "and again",
        "again",
        "the last",
        "the last",
    ]


async def test_side_calls_and_sub_agents_leave_the_main_script_alone(http: httpx.AsyncClient, model: SimModel) -> None:
    """measured (2.1.37 … 2.1.326): helper calls have no tools; agents are marked by a header, or can't start agents."""
    model.add("main", Rule([reply("sub")], kind="agent"))
    assert await words(http, model, tools=[]) == "ok"
    headers = {"x-claude-code-agent-id": "a1"}
    assert (await http.post(f"{model.url}/v1/messages", json=call(), headers=headers)).json()["content"][0]["text"] == "sub"
    old = {"user-agent": "claude-cli/2.1.37 (external, sdk-cli)"}
    await http.post(f"{model.url}/v1/messages", json=call(tools=[{"name": "Bash"}]), headers=old)
    await words(http, model, "Your task is to create a detailed summary of the conversation so far")
    assert await words(http, model) == "main"
    assert [asked.kind for asked in model.requests] == ["helper", "agent", "agent", "summary", "main"]


async def test_a_stream_has_every_block_in_pieces_that_add_up(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours, after the published stream format"""
    model.add(reply(thinking("Let me see."), text("Here it is. " * 40), tool("Bash", command="ls", description="look")))
    stream = events_of((await ask(http, model, stream=True)).text)
    kinds = [event["type"] for event in stream]
    assert kinds[:3] == ["message_start", "ping", "content_block_start"] and kinds[-2:] == ["message_delta", "message_stop"]
    deltas = [(event["index"], event["delta"]) for event in stream if event["type"] == "content_block_delta"]
    assert "".join(d.get("thinking", "") for i, d in deltas if i == 0) == "Let me see."
    assert [d["signature"] for i, d in deltas if d["type"] == "signature_delta"] == ["c2ltIG1vZGVs"]
    assert "".join(d["text"] for i, d in deltas if i == 1) == "Here it is. " * 40
    assert json.loads("".join(d["partial_json"] for i, d in deltas if i == 2)) == {"command": "ls", "description": "look"}
    assert stream[-2]["delta"]["stop_reason"] == "tool_use"
    starts = [event["content_block"] for event in stream if event["type"] == "content_block_start"]
    assert starts[2] == {"id": "toolu_0001", "type": "tool_use", "name": "Bash", "input": {}}


async def test_stop_reason_and_usage_are_said_as_scripted(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add(reply("cut", stop="max_tokens", usage={"output_tokens": 7}), reply("no", stop="refusal"), "fine")
    first, second, third = [(await ask(http, model)).json() for _ in range(3)]
    assert (first["stop_reason"], first["usage"]["output_tokens"]) == ("max_tokens", 7)
    assert (second["stop_reason"], third["stop_reason"]) == ("refusal", "end_turn")


ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@pytest.mark.parametrize(("status", "kind"), ERRORS.items())
async def test_errors_have_the_status_word_and_headers(http: httpx.AsyncClient, model: SimModel, status: int, kind: str) -> None:
    """ours"""
    model.add(reply(error=status, message="on purpose", headers={"retry-after": "3"}), "better")
    answer = await ask(http, model, stream=True)
    assert (answer.status_code, answer.headers["retry-after"]) == (status, "3")
    assert answer.json()["error"] == {"type": kind, "message": "on purpose"}
    assert await words(http, model) == "better"


async def test_an_error_can_come_inside_the_stream(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add(reply("x" * 64, chunk=16, error_after=2))
    stream = events_of((await ask(http, model, stream=True)).text)
    assert [event["type"] for event in stream][-3:] == ["content_block_delta", "content_block_delta", "error"]
    assert stream[-1]["error"]["type"] == "overloaded_error"


async def test_a_stream_can_be_cut_in_mid_block(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add(reply("x" * 64, chunk=16, cut_after=2), "after")
    heard = ""
    with pytest.raises(httpx.HTTPError):
        async with http.stream("POST", f"{model.url}/v1/messages", json=call(stream=True)) as answer:
            async for part in answer.aiter_text():
                heard += part
    assert heard.count("text_delta") == 2
    assert await words(http, model) == "after"


async def test_a_gate_holds_a_reply_until_it_is_released(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours: so that a test can act in mid-stream without sleeping"""
    model.add(reply("x" * 64, chunk=16, hold="door", hold_after=3), "meanwhile")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(model.url.rpartition(":")[2]))
    body = json.dumps(call(stream=True)).encode()
    writer.write(b"POST /v1/messages HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
    async with asyncio.timeout(GUARD):
        for _ in range(3):
            await reader.readuntil(b"text_delta")
        assert await words(http, model) == "meanwhile"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readuntil(b"text_delta"), 0.05)
        model.release("door")
        await reader.readuntil(b"text_delta")
        await reader.readuntil(b"message_stop")
    writer.close()


async def test_delays_are_kept(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add(reply("x" * 48, chunk=16, wait=0.05, pause=0.05))
    loop = asyncio.get_running_loop()
    began = loop.time()
    await ask(http, model, stream=True)
    assert loop.time() - began >= 0.14


async def test_down_means_connection_refused_and_up_the_same_address(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add("first", "second")
    assert await words(http, model) == "first"
    await model.down()
    with pytest.raises(httpx.ConnectError):
        await ask(http, model)
    await model.up()
    assert await words(http, model) == "second"


async def test_a_reply_can_take_the_server_down_for_a_while(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add(reply(down=0.1), "back")
    with pytest.raises(httpx.HTTPError):
        await ask(http, model)
    async with asyncio.timeout(GUARD):
        while True:
            try:
                assert await words(http, model) == "back"
                break
            except httpx.HTTPError:
                await asyncio.sleep(0.01)


async def test_what_was_asked_can_be_read(http: httpx.AsyncClient, tmp_path: Path) -> None:
    """ours: in memory and as lines of a file"""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    note = "<system-reminder>today is today</system-reminder>"
    asked_before = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "done\n\n" + note}, image]}
    reminder = {"type": "text", "text": note}
    messages = [{"role": "user", "content": "go"}, asked_before, {"role": "user", "content": [result, reminder]}]
    async with SimModel(record=tmp_path / "asked.jsonl") as model:
        await ask(http, model, messages=messages, system=[{"type": "text", "text": "Be brief."}], thinking={"type": "adaptive"})
        asked = await model.asked()
    assert (asked.prompt, asked.system, asked.tools, asked.model) == ("go", "Be brief.", ["Bash", "Task"], "m")
    assert (asked.results, asked.images, asked.thinking) == ({"t1": "done"}, [image], {"type": "adaptive"})
    line = json.loads((tmp_path / "asked.jsonl").read_text())
    assert (line["number"], line["kind"], line["prompt"], line["body"]) == (1, "main", "go", asked.body)


async def test_other_endpoints_are_answered(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours: whatever else a CLI asks, it is not left waiting"""
    counted = await http.post(f"{model.url}/v1/messages/count_tokens", json=call())
    assert counted.json()["input_tokens"] > 0
    assert (await http.get(f"{model.url}/v1/models")).json()["data"] == []
    assert (await http.post(f"{model.url}/api/event_logging/batch", json={})).status_code == 200
    assert (await http.head(f"{model.url}/")).status_code == 200
    assert [other.path for other in model.others] == ["/v1/messages/count_tokens", "/v1/models", "/api/event_logging/batch"]
    assert not model.requests


@pytest.mark.parametrize(
    "raw",
    ids=["no-http", "long-head", "long-body", "negative-body", "no-json", "no-chunk", "long-chunk-head"],
    argvalues=[
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 70_000 + b"\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 4\r\n\r\n{{{{",
        b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + b"0" * 200_000 + b"\r\n",
    ],
)
async def test_a_peer_that_does_not_speak_http_is_refused_and_others_are_served(
    http: httpx.AsyncClient, model: SimModel, raw: bytes
) -> None:
    """ours"""
    port = int(model.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    async with asyncio.timeout(GUARD):
        assert b" 400 " in await reader.readuntil(b"\r\n")
    writer.close()
    model.add("still here")
    assert await words(http, model) == "still here"


async def test_a_body_in_chunks_is_read(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""

    async def parts() -> AsyncIterator[bytes]:
        for byte in json.dumps(call("in chunks")).encode():
            yield bytes([byte])

    assert (await http.post(f"{model.url}/v1/messages", content=parts())).status_code == 200
    assert model.requests[0].prompt == "in chunks"


async def test_five_megabytes_come_whole(http: httpx.AsyncClient, model: SimModel) -> None:
    """ours"""
    model.add(reply("é" * 2_500_000))
    stream = events_of((await ask(http, model, prompt="x" * 5_000_000, stream=True)).text)
    assert sum(len(e["delta"]["text"]) for e in stream if e["type"] == "content_block_delta") == 2_500_000
    assert len(model.requests[0].prompt) == 5_000_000


async def test_a_taken_port_is_told(model: SimModel) -> None:
    """ours"""
    with pytest.raises(LinkBroken, match="can't listen"):
        await SimModel(port=int(model.url.rpartition(":")[2])).up()


SCENARIO = """
[[rule]]
when = "touch"
[[rule.reply]]
thinking = "A file."
text = "I make it."
tool = "Bash"
input = { command = "touch one.txt" }
[[rule.reply]]
text = "Done."

[[rule]]
for = "agent"
then = "last"
reply = ["looked"]

[[rule]]
then = "repeat"
reply = [{ error = 529, headers = { retry-after = "0" } }, { blocks = [{ type = "text", text = "hello" }], stop = "max_tokens" }]
"""


@pytest.mark.parametrize("suffix", [".toml", ".json"])
async def test_a_scenario_file_is_a_script(http: httpx.AsyncClient, tmp_path: Path, suffix: str) -> None:
    """ours"""
    path = tmp_path / f"scenario{suffix}"
    path.write_text(SCENARIO if suffix == ".toml" else json.dumps(tomllib.loads(SCENARIO)))
    async with SimModel(load_scenario(path)) as model:
        first = (await ask(http, model, "touch it")).json()
        assert [block["type"] for block in first["content"]] == ["thinking", "text", "tool_use"]
        assert first["content"][2]["input"] == {"command": "touch one.txt"}
        assert await words(http, model, "touch it") == "Done."
        assert (await ask(http, model)).status_code == 529
        assert (await ask(http, model)).json()["stop_reason"] == "max_tokens"


@pytest.mark.parametrize(
    ("scenario", "complaint"),
    [
        ({"rules": []}, "unknown rules; known are rule"),
        ({"rule": {}}, "must be a list"),
        ({"rule": [{"when": "x"}]}, "rule 1 has no reply"),
        ({"rule": [{"reply": [{"txet": "x"}]}]}, "rule 1, reply 1: unknown txet"),
        ({"rule": [{"reply": ["x"], "for": "everyone"}]}, "not for 'everyone'"),
        ({"rule": [{"reply": ["x"], "then": "stop"}]}, "not 'stop'"),
        ({"rule": [{"reply": ["x"], "when": "("}]}, "not a regular expression"),
        ({"rule": [{"reply": [{"blocks": ["x"]}]}]}, "a table with a `type`"),
    ],
)
def test_a_scenario_that_can_not_be_meant_is_refused_with_its_place(scenario: dict[str, Any], complaint: str) -> None:
    """ours"""
    with pytest.raises(UsageError, match=complaint.replace("(", r"\(")):
        script_from(scenario)


def test_a_scenario_file_that_is_missing_or_broken_is_told(tmp_path: Path) -> None:
    """ours"""
    with pytest.raises(UsageError, match="can't be read"):
        load_scenario(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[[rule")
    with pytest.raises(UsageError, match="is not TOML"):
        load_scenario(tmp_path / "bad.toml")


async def test_it_runs_as_a_program_until_told_to_stop(http: httpx.AsyncClient, tmp_path: Path) -> None:
    """ours: the first line is the address; SIGTERM ends it with 0 and every request is in the file"""
    (tmp_path / "s.toml").write_text('[[rule]]\nreply = ["hello from a file"]\n')
    code = "import sys; from ropewalk.sim import model; sys.exit(model.run_sim_model(sys.argv[1], record_path=sys.argv[2]))"
    words_ = [sys.executable, "-c", code, str(tmp_path / "s.toml"), str(tmp_path / "asked.jsonl")]
    process = await asyncio.create_subprocess_exec(*words_, stdout=subprocess.PIPE)
    assert process.stdout
    async with asyncio.timeout(GUARD):
        url = (await process.stdout.readline()).decode().strip()
        answer = await http.post(f"{url}/v1/messages", json=call())
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert answer.json()["content"][0]["text"] == "hello from a file"
    assert len((tmp_path / "asked.jsonl").read_text().splitlines()) == 1


def test_it_imports_nothing_heavy() -> None:
    """ours: it starts beside every test; asyncio and the standard library are enough"""
    code = (
        "import sys; import ropewalk.sim.model; print([m for m in ('httpx', 'rich', 'typer', 'websockets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "sim-model.md"


def example(language: str) -> str:
    return HOW_TO.read_text().split(f"```{language}\n")[1].split("```")[0]


async def test_the_scenario_of_the_how_to_works(http: httpx.AsyncClient) -> None:
    """ours"""
    async with SimModel(script_from(tomllib.loads(example("toml")))) as model:
        made = (await ask(http, model, "please touch it")).json()
        assert [block["type"] for block in made["content"]] == ["thinking", "text", "tool_use"]
        assert [(await ask(http, model)).status_code for _ in range(3)] == [529, 429, 200]


def test_the_python_of_the_how_to_runs() -> None:
    """ours"""
    done = subprocess.run([sys.executable, "-c", example("python")], capture_output=True, text=True, timeout=GUARD, check=True)
    assert done.stdout.startswith("http://127.0.0.1:")


def test_the_how_to_names_every_key() -> None:
    """ours: what can be written in a scenario can be looked up"""
    page = HOW_TO.read_text()
    assert [key for key in sorted(REPLY_KEYS | RULE_KEYS) if f"`{key}`" not in page] == []
