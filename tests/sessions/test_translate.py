"""Every kind of line, and what events it becomes."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from ropewalk.events import events as e
from ropewalk.protocol import control, messages, system
from ropewalk.protocol.tolerant import BY_TYPE, SYSTEM_BY_SUBTYPE
from ropewalk.sessions.known import Known
from ropewalk.sessions.translate import SILENT, TOLD
from tests.demand import demand
from tests.protocol.captures import names, on_all, process
from tests.protocol.strategies import SPEAKING
from tests.protocol.wire import ask, init, line, question, result
from tests.sessions.told import Told, assistant, of, one, stream, text, told, tool, tool_result
from tests.sessions.told import system as says


def test_every_kind_of_message_is_told_or_silent_for_a_reason() -> None:
    """ours: total. A new struct of the protocol fails here until somebody decides what it becomes."""
    kinds = {*BY_TYPE.values(), *SYSTEM_BY_SUBTYPE.values(), system.OtherSystem, system.UnknownSystem}
    kinds |= {messages.Tidings, messages.Unknown, messages.Garbage, messages.Dropped, messages.LinkLost, messages.LinkRestored}
    assert TOLD.keys() | SILENT.keys() == kinds
    assert not TOLD.keys() & SILENT.keys()
    assert all(SILENT.values())


def test_nothing_in_any_recording_is_unrecognised() -> None:
    """measured (2.1.37 … 2.1.326): all that real CLIs were recorded to say has a word of ours."""
    strange = [(one.name, event.what) for one in SPEAKING for event in told(one.out) if isinstance(event, e.Unrecognised)]
    assert strange == []


def test_every_event_of_every_recording_is_stamped_and_can_be_read_back() -> None:
    """ours: (process, line, part) names an event once; live ones are never mistaken for durable ones."""
    durable = msgspec.json.Decoder(e.DURABLE)
    live = msgspec.json.Decoder(e.LIVE)
    for recorded in SPEAKING[::3]:
        seen = set()
        for event in told(recorded.out):
            assert (event.session, event.process) == ("s1", "p1") and event.line and event.at == 1000.0 + event.line
            assert (event.line, event.part) not in seen
            seen.add((event.line, event.part))
            decoder = live if isinstance(event, e.LiveEvent) else durable
            assert type(decoder.decode(msgspec.json.encode(event))) is type(event)
    assert set(get_args(e.LIVE)) == {e.TextDelta, e.ThinkingDelta, e.ToolInputDelta, e.ToolProgressed}


# -- what is said


def test_deltas_and_the_finished_block_have_one_name_in_every_recording() -> None:
    """measured (2.1.37 … 2.1.326): only a block that an interrupt or a kill cut off is never finished."""
    streamed = 0
    for recorded in SPEAKING:
        events = told(recorded.out)
        finished = {event.block: event for event in events if isinstance(event, e.Text | e.Thinking | e.ToolStarted)}
        for event in events:
            if isinstance(event, e.TextDelta | e.ThinkingDelta) and (whole := finished.get(event.block)) is not None:
                assert whole.text[event.begins : event.begins + len(event.text)] == event.text or "…[cut" in whole.text  # type: ignore[union-attr]
                streamed += 1
        open_blocks = {event.block for event in events if isinstance(event, e.TextDelta | e.ToolInputDelta)} - finished.keys()
        cut_off = "interrupt" in recorded.name or "sigkill" in recorded.name
        assert len(open_blocks) <= cut_off, recorded.name
    assert streamed > 200


def test_a_block_that_is_skipped_does_not_shift_the_names_of_the_next() -> None:
    """ours: an empty block gets deltas' names and no assistant line."""
    heard = Told()
    heard.hear(stream({"type": "message_start", "message": {"id": "m1"}}))
    for index, words in ((0, ""), (1, "hello")):
        heard.hear(stream({"type": "content_block_start", "index": index, "content_block": text("")}))
        if words:
            delta = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": words}}
            assert one(e.TextDelta, heard.hear(stream(delta))).block == "m1:1"
            assert one(e.Text, heard.hear(assistant(text(words)))).block == "m1:1"
        heard.hear(stream({"type": "content_block_stop", "index": index}))
    call = one(e.ToolStarted, heard.hear(assistant(tool("Bash", {"command": "ls"}))))
    assert call.block == "m1:2"


@demand("001-24")
def test_deltas_of_a_sub_agent_have_blocks_and_a_parent_of_their_own() -> None:
    """seed: they never mix with the parent's text, even under one message id and index."""
    heard = Told()
    for parent in (None, "agent1"):
        heard.hear(stream({"type": "message_start", "message": {"id": f"m-{parent}"}}, parent))
    pieces = [
        one(e.TextDelta, heard.hear(stream(_delta(words), parent)))
        for words, parent in (("ab", None), ("X", "agent1"), ("c", None), ("Y", "agent1"))
    ]
    assert [(piece.parent, piece.block, piece.begins) for piece in pieces] == [
        (None, "m-None:0", 0), ("agent1", "m-agent1:0", 0), (None, "m-None:0", 2), ("agent1", "m-agent1:0", 1),
    ]  # fmt: skip


def _delta(words: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}}


@demand("000-17")
@pytest.mark.parametrize("lazy", [True, False])
def test_all_kinds_of_stream_events_are_heard(lazy: bool) -> None:
    """seed: deltas become live events, the others change only what is remembered; a new kind is told once, not each time."""
    heard = Told(lazy=lazy)
    heard.hear(
        stream({"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 7, "cache_read_input_tokens": 5}}}),
        stream({"type": "content_block_start", "index": 0, "content_block": tool("Bash", {})}),
        stream({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"co'}}),
        stream({"type": "content_block_stop", "index": 0}),
        stream({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
        stream({"type": "message_stop"}),
        stream({"type": "ping"}),
    )
    assert [type(event) for event in heard.events] == [e.ToolInputDelta]
    assert (heard.events[0].tool, heard.events[0].text) == ("Bash", '{"co')  # type: ignore[attr-defined]
    assert heard.translator.known.context_tokens == 12
    new = stream({"type": "content_block_delta", "index": 0, "delta": {"type": "smell_delta", "smell": "tar"}})
    assert one(e.Unrecognised, heard.hear(new, new)).what == "stream_event/smell_delta"
    broken = heard.hear(stream({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))
    assert one(e.Warned, broken).text == "Overloaded"


def test_thinking_is_told_with_how_long_it_took_and_redacted_thinking_as_such() -> None:
    """measured (2.1.326): thinking_duration_ms"""
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    assert one(e.Thinking, told([assistant(thought, thinking_duration_ms=12)])).duration_ms == 12
    assert one(e.Thinking, told([assistant({"type": "redacted_thinking", "data": "?"})])).redacted


@demand("001-23")
def test_a_failure_that_the_cli_says_in_words_names_its_kind_and_what_to_do() -> None:
    """seed, measured: six kinds; the words of the day are not looked at."""
    for kind in ("authentication_failed", "billing_error", "rate_limit", "invalid_request", "server_error", "unknown"):
        heard = Told()
        heard.hear(init(), assistant(text("Oh no"), error=kind), result(is_error=True, result="Oh no"))
        assert one(e.Text, heard.events).error == kind
        ended = one(e.TurnEnded, heard.events)
        assert ended.failed and ended.error == kind and len(ended.advice) > 20, kind


def test_a_text_past_the_limit_is_cut_and_says_so_and_the_line_keeps_it() -> None:
    """ours: 64 KiB in an event; the rest is in its line."""
    words = "x" * (e.TEXT_LIMIT + 1)
    event = one(e.Text, told([assistant(text(words))]))
    assert (len(event.text), event.cut, event.line) == (e.TEXT_LIMIT, True, 1)
    call = one(e.ToolStarted, told([assistant(tool("Write", {"file_path": "/a", "content": words}))]))
    assert call.cut and call.title == "/a" and len(msgspec.json.encode(call)) < e.TEXT_LIMIT
    assert one(e.ToolFinished, told([tool_result(words)])).cut
    assert one(e.Unrecognised, told([line(type="brand_new", words=words)])).cut


@pytest.mark.parametrize("lazy", [True, False])
def test_half_characters_are_replaced_in_events_and_whole_ones_stay(lazy: bool) -> None:
    """ours: an event must be JSON for every reader; the line keeps what came."""
    raw = assistant(text("a\ud800b 😀"), tool("Bash", {"command": "echo \udc00", "deep": [{"x": "\ud83d"}]}))
    events = told([raw], lazy=lazy)
    assert one(e.Text, events).text == "a\ufffdb 😀"
    assert one(e.ToolStarted, events).input == {"command": "echo \ufffd", "deep": [{"x": "\ufffd"}]}
    assert b"\xff" not in msgspec.json.encode(told([b'{"type":"brand_new","x":"\xff"}'])[0])


# -- tools


@demand("004-10")
def test_a_tool_use_and_its_result_are_the_beginning_and_the_end_of_one_action() -> None:
    """seed: with is_error; by id, in any order."""
    heard = Told()
    heard.hear(assistant(tool("Bash", {"command": "ls"}, "t1")), assistant(tool("Read", {"file_path": "/a"}, "t2")))
    first, second = heard.hear(
        tool_result("no such file", "t2", failed=True), tool_result("a\nb", "t1", details={"stdout": "a\nb"})
    )
    assert isinstance(first, e.ToolFinished) and (first.tool, first.failed, first.output) == ("Read", True, "no such file")
    assert isinstance(second, e.ToolFinished) and (second.tool, second.failed, second.summary) == ("Bash", False, "2 lines")


def test_who_let_a_tool_run_is_told_where_the_cli_says_it() -> None:
    """measured (2.1.326)"""
    by = {event.by for event in told(process("2.1.326/stdio/bash_allow").out) if isinstance(event, e.ToolFinished)}
    assert by == {"user_temporary"}
    denied = of(e.ToolFinished, told(process("2.1.326/stdio/bash_deny").out))
    assert [(event.failed, event.summary, event.by) for event in denied] == [(True, "refused", "user_reject")]


def test_pictures_in_a_result_are_counted() -> None:
    """ours"""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "…"}}
    finished = one(e.ToolFinished, told([tool_result([{"type": "text", "text": "here"}, picture, picture])]))
    assert (finished.output, finished.images) == ("here", 2)


def test_progress_names_the_real_call() -> None:
    """measured (2.1.37 … 2.1.326): the id on the line is made up, the real one is its parent; a document has it otherwise."""
    for name in on_all("tool_progress_long"):
        events = told(process(name).out)
        progress = one(e.ToolProgressed, events)
        assert progress.tool_use in {event.tool_use for event in of(e.ToolStarted, events)} and progress.seconds >= 2
    heard = Told()
    heard.hear(assistant(tool("Bash", {"command": "x"}, "t9"), parent_tool_use_id="agent1"))
    fields = {"tool_use_id": "t9", "tool_name": "Bash", "elapsed_time_seconds": 3, "parent_tool_use_id": "agent1"}
    event = one(e.ToolProgressed, heard.hear(line(type="tool_progress", **fields)))
    assert (event.tool_use, event.parent) == ("t9", "agent1")


def test_to_dos_of_the_main_thread_are_known_and_those_of_a_sub_agent_are_its_own() -> None:
    """measured (2.1.37, 2.1.62): TodoWrite"""
    for name in ("2.1.37/stdio/todos", "2.1.62/stdio/todos"):
        changed = of(e.TodosChanged, told(process(name).out))
        assert changed and changed[-1].todos[0]["content"] == "one"
    heard = Told()
    heard.hear(assistant(tool("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})), tool_result())
    theirs = heard.hear(
        assistant(tool("TodoWrite", {"todos": []}, "t2"), parent_tool_use_id="agent1"),
        tool_result("ok", "t2", parent_tool_use_id="agent1"),
    )
    assert one(e.TodosChanged, theirs).parent == "agent1"
    assert heard.translator.known.todos == [{"content": "a", "status": "pending"}]


def test_the_newer_list_of_to_dos_is_put_together_from_its_entries() -> None:
    """measured (2.1.326, with its two variables): there TodoWrite is refused, and a list that was refused is none."""
    changed = of(e.TodosChanged, told(process("2.1.326/stdio/todos_on").out))
    assert [[(todo["content"], todo["status"]) for todo in event.todos] for event in changed] == [
        [("one", "pending")], [("one", "completed")],
    ]  # fmt: skip


# -- everything else


@demand("004-16")
def test_unknown_kinds_are_kept_and_named() -> None:
    """ours: type, subtype, block, question, no JSON at all."""
    strangers = {
        "brand_new": line(type="brand_new", x=1),
        "no type": line(x=1),
        "system/brand_new": says("brand_new"),
        "assistant/hologram": assistant({"type": "hologram"}),
        "user/hologram": line(type="user", message={"role": "user", "content": [{"type": "hologram"}]}),
        "control_request/brand_new": question("q1", "brand_new"),
        "not JSON": b"debug: sandbox",
        "assistant": assistant(),
    }
    for what, raw in strangers.items():
        event = one(e.Unrecognised, told([raw]))
        assert (event.what, event.raw) == (what, raw.decode().rstrip("\n"))


@demand("001-35")
def test_shortened_copies_are_not_told_a_second_time() -> None:
    """seed"""
    assert told([line(type="streamlined_text", text="x"), line(type="streamlined_tool_use_summary", tool_summary="x")]) == []


def test_lines_with_a_word_of_ours() -> None:
    """seeds, measured: each of them shown in its place."""
    told_as: list[tuple[bytes, e.Event]] = [
        (line(type="tool_use_summary", summary="s", preceding_tool_use_ids=["t1"]),
         e.ToolsSummarised(text="s", tool_uses=["t1"])),
        (
            line(type="auth_status", isAuthenticating=True, output=["Open …"], error="no"),
            e.SignInChanged(under_way=True, output=["Open …"], error="no"),
        ),
        (says("files_persisted", files=[{"filename": "a"}], failed=[{"filename": "b"}]),
         e.FilesSaved(files=["a"], failed=[{"filename": "b"}])),
        (line(type="error", error={"type": "overloaded_error", "message": "busy"}),
         e.Warned(text="busy", code="overloaded_error")),
        (line(type="prompt_suggestion", suggestion="go on"), e.Noted(what="prompt_suggestion", text="go on")),
        (says("session_title_changed", title="New"), e.SessionChanged(title="New", by="claude")),
        (says("informational", content="w", level="warning", tag="t"), e.Noted(what="t", text="w", level="warning")),
        (says("api_retry", attempt=1, max_retries=2, retry_delay_ms=5, error_status=529, error="x"),
         e.ApiRetried(attempt=1, of=2, delay_ms=5, status=529, error="x")),
        (says("hook_started", hook_name="Stop", hook_event="Stop"), e.HookRan(name="Stop", on="Stop", started=True)),
        (says("hook_progress", hook_name="Stop", hook_event="Stop", stdout="o"),
         e.HookRan(name="Stop", on="Stop", output="o", started=True)),
        (says("hook_response", hook_name="S", hook_event="S", output="o", stderr="e", exit_code=2, outcome="error"),
         e.HookRan(name="S", on="S", output="o", stderr="e", exit_code=2, outcome="error")),
    ]  # fmt: skip
    for raw, expected in told_as:
        event = told([raw])[0]
        expected.session, expected.process, expected.line, expected.at = "s1", "p1", 1, 1001.0
        assert event == expected


def test_a_rate_limit_is_kept_with_all_its_fields() -> None:
    """measured (2.1.62, 2.1.326), seed 002"""
    first, second = of(e.RateLimitChanged, told(process("2.1.326/stdio/oauth_rate_limits").out))
    assert (first.status, first.limit, first.utilization, first.using_overage) == ("allowed_warning", "five_hour", 0.91, False)
    assert (second.status, second.overage_status, second.overage_reason) == ("rejected", "rejected", "org_level_disabled")
    assert second.resets_at and second.resets_at > 1_700_000_000


def test_a_name_that_we_know_with_fields_that_we_do_not_is_shown_whole() -> None:
    """measured (2.1.326): autocompact_state; the others are names in the program."""
    raw = says("away_summary", summary="You were away")
    event = one(e.Noted, told([raw]))
    assert (event.what, event.text, event.raw) == ("system/away_summary", "You were away", raw.decode().strip())
    kinds = {event.what for event in of(e.Noted, told(process("2.1.326/stdio/tool_progress_long").out)) if event.raw}
    assert kinds == {"active_goal", "autocompact_state"}


def test_questions_and_receipts_are_left_to_the_session() -> None:
    """ours: it opens, closes and counts them with rows of their own."""
    heard = Told()
    assert heard.hear(ask(), line(type="control_cancel_request", request_id="q1"), line(type="keep_alive")) == []
    echo = {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "u1", "isReplay": True}
    assert heard.hear(line(**echo), line(type="command_lifecycle", command_uuid="u1", state="queued")) == []
    assert isinstance(control.ControlResponse(), control.ControlResponse) and SILENT[control.ControlResponse]


def test_output_of_the_clis_own_commands_is_shown_on_every_version() -> None:
    """measured: an echo on 2.1.37 and 2.1.62 (there the only place that has it), an answer on 2.1.326."""
    for name in on_all("slash_commands"):
        events = told(process(name).out)
        words = [event.text for event in of(e.Noted, events) if event.what == "local_command"]
        words += [event.text for event in of(e.Text, events) if event.synthetic]
        assert any(" cost:" in one for one in words), name
        assert not any(one.startswith("<") for one in words), name


def test_compaction_is_told_with_its_begin_its_sizes_and_its_summary() -> None:
    """measured (all): status, boundary, then the summary as a line of its own."""
    for name in on_all("compact"):
        events = told(process(name).out)
        kinds = [type(event) for event in events if isinstance(event, e.ContextCompacting | e.ContextCompacted)]
        assert kinds == [e.ContextCompacting, e.ContextCompacted], name
        compacted = one(e.ContextCompacted, events)
        assert (compacted.trigger, compacted.before, compacted.error) == ("manual", 120, ""), name
        assert [event.what for event in of(e.Noted, events)] == ["compact_summary", "local_command"], name
    failed = one(e.ContextCompacted, told(process("2.1.326/stdio/big_input").out))
    assert failed.error == "too_few_groups"


def test_clear_begins_a_fresh_conversation_under_another_id() -> None:
    """measured (2.1.326)"""
    heard = Told()
    heard.hear(*process("2.1.326/stdio/slash_commands").out)
    cleared = one(e.ContextCleared, heard.events)
    before = {event.line: event for event in of(e.TurnStarted, heard.events) if event.line < cleared.line}  # type: ignore[operator]
    assert cleared.why == "clear" and len(before) == 5
    assert heard.translator.known.cli_session == heard.connection.session_id and heard.translator.known.context_tokens == 100


def test_what_a_link_lost_and_a_line_past_the_cap_are_told() -> None:
    """ours"""
    heard = Told(max_line=100)
    dropped = one(e.LineDropped, heard.hear(line(type="brand_new", x="y" * 500)))
    assert dropped.size > 500 and dropped.head.startswith('{"type"')
    lost = heard.translator.events(heard.connection.link_lost(), 1, 5.0)
    back = heard.translator.events(heard.connection.relinked(), 2, 6.0)
    assert [type(event) for event in (*lost, *back)] == [e.LinkLost, e.LinkRestored]
    assert one(e.LinkRestored, back).may_lack_lines


def test_a_mode_is_told_when_it_differs_from_the_one_known() -> None:
    """measured: init and status tell the mode of the moment."""
    heard = Told(known=Known(mode="default"))
    assert of(e.ModeChanged, heard.hear(init())) == []
    assert one(e.ModeChanged, heard.hear(says("status", status=None, permissionMode="plan"))).mode == "plan"
    assert of(e.ModeChanged, heard.hear(says("status", status="requesting", permissionMode="plan"))) == []
    heard.translator.known.mode = "acceptEdits"  # a request of ours, told by whoever asked
    assert of(e.ModeChanged, heard.hear(result(), init(permissionMode="acceptEdits"))) == []


def test_a_model_other_than_the_one_known_is_told() -> None:
    """seed: the one that really runs"""
    heard = Told(known=Known(model="claude-a"))
    assert one(e.ModelChanged, heard.hear(init(model="claude-b"))).model == "claude-b"
    assert of(e.ModelChanged, heard.hear(result(), init(model="claude-b"))) == []
    assert of(e.ModelChanged, told([init()])) == []


def test_mcp_servers_are_told_when_their_list_changes() -> None:
    """ours"""
    heard = Told()
    servers = [{"name": "linear", "status": "connected"}]
    assert of(e.McpChanged, heard.hear(init())) == []
    assert one(e.McpChanged, heard.hear(result(), init(mcp_servers=servers))).servers == servers
    assert of(e.McpChanged, heard.hear(result(), init(mcp_servers=servers))) == []
    assert one(e.McpChanged, heard.hear(result(), init())).servers == []


def test_recordings_were_really_read() -> None:
    """ours: the tests above would pass over nothing."""
    assert len(SPEAKING) > 400 and len(names()) > 500


# -- where it works


def test_where_claude_works_is_known_from_init_and_unknown_after_a_worktree() -> None:
    """measured (2.1.62 … 2.1.326): it goes into one unasked, and the next init says where it is"""
    heard = Told()
    assert heard.translator.elsewhere(None) == ""
    heard.hear(init(), assistant(tool("EnterWorktree", {"name": "tree"})))
    assert heard.translator.elsewhere(None) == ""
    heard.hear(tool_result())
    assert "worktree" in heard.translator.elsewhere(None)
    heard.hear(result(), init(cwd="/home/user/project/.claude/worktrees/tree"))
    assert heard.translator.elsewhere(None) == "Claude works in /home/user/project/.claude/worktrees/tree now"
    heard.hear(init())
    assert heard.translator.elsewhere(None) == ""


def test_a_sub_agent_with_a_copy_of_the_folder_makes_the_folder_of_sub_agents_unknown() -> None:
    """ours: a question names its agent by an id that the call does not have"""
    heard = Told()
    heard.hear(init(), assistant(tool("Agent", {"description": "d", "prompt": "p", "isolation": "worktree"})))
    assert heard.translator.elsewhere(None) == "" and "copy of the folder" in heard.translator.elsewhere("a1")


def test_a_finished_call_says_again_what_it_was_about() -> None:
    """ours: lists of what ran are made of finished calls alone"""
    events = told([init(), assistant(tool("Bash", {"command": "ls -l"})), tool_result()])
    assert one(e.ToolFinished, events).title == "ls -l"
