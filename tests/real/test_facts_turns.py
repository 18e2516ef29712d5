"""When real CLIs speak, how prompts become turns, what a uuid buys. Refuses the product: these are facts to build on."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from ropewalk.sim.model import reply, tool
from tests.real.rig_raw import Line
from tests.real.rig_talk import LOOP, Talk, command

pytestmark = LOOP
SHARED_ARGS = ("--allowedTools=Bash", "--replay-user-messages")


def kinds(lines: list[Line]) -> list[str]:
    return [line.get("subtype") or line["type"] for line in lines]


def is_result(line: Line) -> bool:
    return bool(line["type"] == "result")


async def begun(talk: Talk, pipe: Path) -> int:
    """Open the writing end of a pipe that a command of the CLI reads: it is at work from here on. Close it to let it end."""
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            await talk.cli.fence()


def new_pipe(talk: Talk) -> Path:
    pipe = talk.place.project / f"pipe-{uuid.uuid4().hex[:8]}"
    os.mkfifo(pipe)
    pipe.chmod(0o666)
    return pipe


async def test_nothing_is_said_before_we_speak_and_init_opens_every_turn(talk: Talk) -> None:
    """measured (all): the answer to initialize is the first line of all; init comes after a prompt, each time"""
    assert talk.cli.lines[0]["type"] == "control_response"
    seen = []
    for _ in range(2):
        talk.cli.prompt(talk.script("Hello."))
        seen.append(await talk.cli.expect(lambda line: line.get("subtype") == "init", "init"))
        assert (await talk.cli.result())["result"] == "Hello."
    assert talk.cli.lines.index(seen[0]) == next(
        at for at, line in enumerate(talk.cli.lines) if line["type"] not in ("control_response", "command_lifecycle")
    )
    assert seen[0]["session_id"] == seen[1]["session_id"]
    assert seen[0]["claude_code_version"] == talk.version
    assert all(isinstance(name, str) for name in seen[0]["tools"])
    assert ("capabilities" in seen[0]) is talk.newest


async def test_every_block_is_a_line_of_its_own_without_a_stop_reason(talk: Talk) -> None:
    """measured (all): one message id, one block a line, stop_reason null; usage is that of the start"""
    blocks = reply("Let me look.", tool("Bash", command="true", description="look"), tool("Bash", command="true"))
    talk.cli.prompt(talk.script(blocks, "Seen."))
    spoken = [await talk.cli.expect(lambda line: line["type"] == "assistant", "a block") for _ in range(3)]
    assert [len(line["message"]["content"]) for line in spoken] == [1, 1, 1]
    assert len({line["message"]["id"] for line in spoken}) == 1
    assert [line["message"]["stop_reason"] for line in spoken] == [None] * 3
    assert [line["message"]["usage"]["output_tokens"] for line in spoken] == [1, 1, 1]
    await talk.cli.result()


async def test_a_prompt_during_a_tool_is_folded_into_the_turn(talk: Talk) -> None:
    """measured (all): it reaches the model with the tool's result and has no result of its own"""
    pipe = new_pipe(talk)
    talk.cli.prompt(talk.script(command(f"cat {pipe.name}"), "Both heard."))
    at_work = await begun(talk, pipe)
    talk.cli.prompt("folded words")
    await talk.cli.fence()
    os.close(at_work)
    assert (await talk.cli.result())["result"] == "Both heard."
    assert "folded words" in str(talk.model.requests[-1].messages)
    assert (await talk.cli.turn(talk.script("The next.")))["result"] == "The next."
    assert not [line for line in await talk.cli.fence() if is_result(line)]


async def test_prompts_that_wait_at_the_end_of_a_turn_are_one_turn_on_the_newest(talk: Talk) -> None:
    """measured: 2.1.37 and 2.1.62 run them one by one, 2.1.326 merges them; nothing is lost on any"""
    first, second, third = talk.script(reply("One.", hold="end")), talk.script("Two."), talk.script("Three.")
    talk.cli.prompt(first)
    await talk.model.asked(lambda asked: asked.prompt == first)
    talk.cli.prompt(second)
    talk.cli.prompt(third)
    await talk.cli.fence()
    talk.model.release("end")
    assert (await talk.cli.result())["result"] == "One."
    assert (await talk.cli.result())["result"] == "Two."
    if talk.newest:
        assert talk.calls(second)[-1].prompt == f"{second}\n{third}"
        assert (await talk.cli.turn(talk.script("Four.")))["result"] == "Four."
    else:
        assert (await talk.cli.result())["result"] == "Three."


async def test_background_work_starts_a_turn_that_nobody_asked_for(talk: Talk) -> None:
    """measured: a notification, then init … result on 2.1.62 and 2.1.326; 2.1.37 says nothing at all"""
    pipe = new_pipe(talk)
    prompt = talk.script(command(f"cat {pipe.name}", run_in_background=True), "Started.", "It ended.")
    assert (await talk.cli.turn(prompt))["result"] == "Started."
    at_work = await begun(talk, pipe)
    os.close(at_work)
    if talk.version == "2.1.37":
        while any(pipe.name.encode() in arguments(pid) for pid in talk.place.survivors()):
            await talk.cli.fence()
        assert not {"task_notification", "init", "success"} & set(kinds(await talk.cli.fence()))
        return
    note = await talk.cli.expect(lambda line: line.get("subtype") == "task_notification", "notification")
    assert (note["status"], bool(note["task_id"])) == ("completed", True)
    await talk.cli.expect(lambda line: line.get("subtype") == "init", "init of the unprompted turn")
    result = await talk.cli.result()
    assert result["subtype"] == "success"
    assert (result.get("origin", {}).get("kind") == "task-notification") is talk.newest


def arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def test_a_prompt_sent_twice_under_one_uuid_runs_once_and_is_echoed_twice(talk: Talk) -> None:
    """measured (all): with --replay-user-messages the echo is the receipt, for the repeat too"""
    name, prompt = str(uuid.uuid4()), talk.script("Once.")
    talk.cli.prompt(prompt, uuid=name)
    echo = await talk.cli.expect(lambda line: line.get("isReplay") is True, "echo")
    assert (echo["type"], echo["uuid"]) == ("user", name)
    result = await talk.cli.result()
    talk.cli.prompt(prompt, uuid=name)
    assert (await talk.cli.expect(lambda line: line.get("isReplay") is True, "second echo"))["uuid"] == name
    assert (await talk.cli.turn(talk.script("Other.")))["result"] == "Other."
    assert [asked.prompt for asked in talk.model.requests].count(prompt) == 1
    assert (result.get("user_message_uuids") == [name]) is talk.newest


async def test_the_newest_tells_the_life_of_a_prompt_with_a_uuid(talk: Talk) -> None:
    """measured: command_lifecycle queued, started, completed on 2.1.326; the others know no such line"""
    name = str(uuid.uuid4())
    talk.cli.prompt(talk.script("Told."), uuid=name)
    at = len(talk.cli.lines)
    await talk.cli.result()
    if talk.newest:
        await talk.cli.expect(lambda line: line.get("state") == "completed", "completed")
    await talk.cli.fence()
    lives = [line["state"] for line in talk.cli.lines[at:] if line.get("command_uuid") == name]
    assert lives == (["queued", "started", "completed"] if talk.newest else [])


async def test_environment_can_be_changed_live_except_on_the_newest(talk: Talk) -> None:
    """measured: 2.1.37 and 2.1.62 set it for later commands; 2.1.326 takes the line without effect"""
    talk.cli.send({"type": "update_environment_variables", "variables": {"FACT_OF_LIFE": "forty-two"}})
    prompt = talk.script(command('echo "fact=$FACT_OF_LIFE"'), "Read.")
    await talk.cli.turn(prompt)
    shown = list(talk.calls(prompt)[-1].results.values())[-1]
    assert shown.strip() == ("fact=" if talk.newest else "fact=forty-two")


async def test_keep_alive_is_swallowed(talk: Talk) -> None:
    """measured (all)"""
    talk.cli.skip()
    talk.cli.send({"type": "keep_alive"})
    assert await talk.cli.fence() == []
    assert (await talk.cli.turn(talk.script("Alive.")))["result"] == "Alive."


async def test_requests_are_answered_while_a_tool_runs(talk: Talk) -> None:
    """measured (all)"""
    pipe = new_pipe(talk)
    talk.cli.prompt(talk.script(command(f"cat {pipe.name}"), "Done."))
    at_work = await begun(talk, pipe)
    assert (await talk.cli.request("set_model", model="default"))["subtype"] == "success"
    assert not [line for line in await talk.cli.fence() if is_result(line)]
    os.close(at_work)
    assert (await talk.cli.result())["result"] == "Done."


async def test_an_unknown_request_is_refused_or_met_with_silence(talk: Talk) -> None:
    """measured: silence on 2.1.37 (so every request of ours has a deadline), an error on the others"""
    talk.cli.send({"type": "control_request", "request_id": "odd", "request": {"subtype": "make_coffee"}})
    await talk.cli.fence()
    answers = [line["response"] for line in talk.cli.lines if line["type"] == "control_response"]
    odd = [answer for answer in answers if answer["request_id"] == "odd"]
    assert [answer["subtype"] for answer in odd] == ([] if talk.version == "2.1.37" else ["error"])
    assert [answer.get("error_code") for answer in odd] == (["unsupported_request"] if talk.newest else [None] * len(odd))


async def test_an_interrupt_when_idle_is_harmless(talk: Talk) -> None:
    """measured (all)"""
    talk.cli.skip()
    assert (await talk.cli.request("interrupt"))["subtype"] == "success"
    assert await talk.cli.fence() == []


async def test_an_interrupt_in_mid_answer_ends_the_turn_and_the_session_lives(talk: Talk) -> None:
    """measured (all): the response means heard, the result means stopped"""
    prompt = talk.script(reply("x" * 200, chunk=20, hold="never", hold_after=3))
    talk.cli.prompt(prompt)
    await talk.model.asked(lambda asked: asked.prompt == prompt)
    assert (await talk.cli.request("interrupt"))["subtype"] == "success"
    result = await talk.cli.result()
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", talk.newest)
    assert (await talk.cli.turn(talk.script("On we go.")))["result"] == "On we go."


async def test_cost_adds_up_and_usage_is_of_the_turn(talk: Talk) -> None:
    """measured (all): total_cost_usd grows over the process, usage does not"""
    first = await talk.cli.turn(talk.script("One."))
    second = await talk.cli.turn(talk.script("One."))
    assert second["total_cost_usd"] > first["total_cost_usd"] > 0
    assert second["usage"]["input_tokens"] == first["usage"]["input_tokens"] == 100


async def test_a_line_of_five_megabytes_comes_whole(talk: Talk) -> None:
    """measured (all)"""
    result = await talk.cli.turn(talk.script(reply("y" * 5_000_000)))
    assert len(result["result"]) == 5_000_000


async def test_a_line_of_three_megabytes_is_taken(talk: Talk) -> None:
    """measured (all): the model gets all of it; 2.1.37 and 2.1.62 have it summed up first, since it is more than they send"""
    assert (await talk.cli.turn("x" * 3_000_000))["type"] == "result"
    assert any("x" * 3_000_000 in prompt for asked in talk.model.requests for prompt in asked.prompts)
