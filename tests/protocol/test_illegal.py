"""What we must not say: it raises before a byte is queued, by version and capability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ropewalk.errors import LocalProtocolError
from ropewalk.protocol.answers import Allow, Deny, Refusal, Reply
from ropewalk.protocol.connection import Connection
from ropewalk.protocol.outgoing import NEVER
from ropewalk.protocol.versions import DESTINATIONS, MODES, UPDATE_KINDS
from tests.demand import demand
from tests.protocol.wire import V37, V62, V120, V326, ask, connection, line, question, said, success

RULES = {"rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow"}
WHOLE: dict[str, dict[str, Any]] = {
    "addRules": RULES,
    "replaceRules": RULES,
    "removeRules": RULES,
    "setMode": {"mode": "acceptEdits"},
    "addDirectories": {"directories": ["/tmp/x"]},
    "removeDirectories": {"directories": ["/tmp/x"]},
}


def asked(**options: Any) -> Connection:
    """A connection with a permission question ``q1``, a choice ``c1`` and a hook ``h1`` open."""
    conn = connection(**options)
    questions = [{"question": "Which?", "header": "W", "multiSelect": False, "options": [{"label": "A"}, {"label": "B"}]}]
    conn.receive_data(
        ask("q1") + ask("c1", "AskUserQuestion", {"questions": questions}) + question("h1", "hook_callback", input={})
    )
    conn.data_to_send()
    return conn


def refused(conn: Connection, say: Callable[[], object]) -> str:
    """The words with which ``say`` is refused; nothing may be queued and nothing may change."""
    before = conn.snapshot()
    with pytest.raises(LocalProtocolError) as caught:
        say()
    assert conn.data_to_send() == b"" and conn.snapshot() == before
    return str(caught.value)


@pytest.mark.parametrize("mode", ["nonsense", "", "Plan", "tool", "delegate", None, 5])
@pytest.mark.parametrize("version", [None, V37, V62, V120, V326])
def test_a_mode_that_the_cli_might_not_know_is_refused(mode: Any, version: Any) -> None:
    """measured: 2.1.37 and 2.1.62 take any string and report it as their mode."""
    conn = connection(version=version)
    assert "mode" in refused(conn, lambda: conn.send_request("set_permission_mode", {"mode": mode}))


@demand("001-69")
@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("version", [None, V37, V62, V120, V326])
def test_the_modes_that_every_cli_has_can_be_sent_to_all(mode: str, version: Any) -> None:
    """measured"""
    conn = connection(version=version)
    conn.send_request("set_permission_mode", {"mode": mode})
    assert said(conn)[0]["request"] == {"subtype": "set_permission_mode", "mode": mode}


@demand("001-69")
def test_a_mode_that_came_later_is_refused_to_older_clis_and_new_names_pass_to_newer_ones() -> None:
    """measured: auto is 2.1.326's; a CLI past the tested ones checks names by itself."""
    for version in (V37, V62, V120):
        conn = connection(version=version)
        refused(conn, lambda conn=conn: conn.send_request("set_permission_mode", {"mode": "auto"}))  # type: ignore[misc]
    for version, mode in ((V326, "auto"), ((2, 1, 400), "auto"), ((2, 2, 0), "whatever_is_new")):
        connection(version=version).send_request("set_permission_mode", {"mode": mode})


@demand("001-69")
@pytest.mark.parametrize("mode", [*sorted(MODES), "delegate", "auto", "manual", "whatever_is_new"])
def test_any_mode_that_the_cli_reports_is_shown_as_it_is(mode: str) -> None:
    """seed: names that newer CLIs add included; tolerant in what we hear."""
    conn = connection()
    conn.receive_data(line(type="system", subtype="init", permissionMode=mode))
    assert conn.mode == mode
    conn.receive_data(line(type="system", subtype="status", status=None, permissionMode="default"))
    assert conn.mode == "default"


@pytest.mark.parametrize("subtype", [*NEVER, ""])
def test_requests_that_are_not_ours_to_send_are_refused(subtype: str) -> None:
    """measured (2.1.37): control_cancel_request ends the process."""
    conn = connection()
    assert "can't be sent" in refused(conn, lambda: conn.send_request(subtype, {"request_id": "x"}))


def test_the_subtype_can_not_be_smuggled_in_among_the_fields() -> None:
    """ours"""
    conn = connection()
    refused(conn, lambda: conn.send_request("interrupt", {"subtype": "control_cancel_request"}))


def test_a_request_that_can_not_be_json_is_refused_whole() -> None:
    """ours: half a line would end the process."""
    conn = connection()
    refused(conn, lambda: conn.send_request("apply_flag_settings", {"settings": object()}))
    refused(conn, lambda: conn.send_initialize({"agents": {1: object()}}))


@demand("002-14")
def test_a_denial_without_words_is_refused_and_leaving_them_out_gives_clear_ones() -> None:
    """seed; measured: without a message the model is told of a schema error."""
    conn = asked()
    assert "message" in refused(conn, lambda: conn.answer("q1", Deny("")))
    conn.answer("q1", Deny())
    assert said(conn)[0]["response"]["response"]["message"] == "The user denied this."


@demand("002-12")
def test_an_allow_with_an_empty_input_is_refused_where_the_input_is_not_empty() -> None:
    """measured (2.1.37, 2.1.62): the tool fails without its arguments."""
    conn = asked()
    assert "whole input" in refused(conn, lambda: conn.answer("q1", Allow({})))
    conn.answer("q1", Allow())
    assert said(conn)[0]["response"]["response"]["updatedInput"] == {"command": "ls"}


def test_an_empty_input_may_stay_empty() -> None:
    """measured: ExitPlanMode without a plan file has {}."""
    conn = connection()
    conn.receive_data(ask("p1", "ExitPlanMode", {}) + ask("p2", "ExitPlanMode", {}))
    conn.answer("p1", Allow())
    conn.answer("p2", Allow({}))
    assert [one["response"]["response"]["updatedInput"] for one in said(conn)] == [{}, {}]


@demand("002-16")
def test_the_types_forbid_an_allow_that_interrupts_and_a_denial_that_grants() -> None:
    """seed"""
    with pytest.raises(TypeError):
        Allow(interrupt=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Allow(message="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Deny(updated_permissions=[])  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Deny(updated_input={})  # type: ignore[call-arg]


def test_an_answer_of_the_wrong_kind_is_refused() -> None:
    """ours: a hook is not allowed, a tool is not replied to."""
    conn = asked()
    assert "Allow, Deny or Refusal" in refused(conn, lambda: conn.answer("q1", Reply({"behavior": "allow"})))
    assert "Reply or Refusal" in refused(conn, lambda: conn.answer("h1", Allow()))
    assert "Reply or Refusal" in refused(conn, lambda: conn.answer("h1", Deny()))


@pytest.mark.parametrize("answer", [Allow("ls"), Allow([1]), Deny(5), Deny(None)], ids=repr)  # type: ignore[arg-type]
def test_an_answer_with_the_wrong_kind_of_value_in_it_is_refused(answer: Any) -> None:
    """ours: types are not checked when they are made, so they are when they are sent."""
    conn = asked()
    refused(conn, lambda: conn.answer("q1", answer))
    refused(conn, lambda: conn.answer("h1", Reply([1])))  # type: ignore[arg-type]


@demand("000-37", "004-35")
def test_an_answer_to_a_question_that_is_not_open_is_refused_and_says_what_became_of_it() -> None:
    """seed: unknown, answered, withdrawn, lost."""
    conn = asked()
    assert "never asked" in refused(conn, lambda: conn.answer("nobody", Allow()))
    conn.answer("q1", Allow())
    conn.data_to_send()
    assert "answered" in refused(conn, lambda: conn.answer("q1", Deny()))
    conn.receive_data(line(type="control_cancel_request", request_id="c1"))
    assert "withdrawn" in refused(conn, lambda: conn.answer("c1", Deny()))
    conn.receive_eof()
    assert "lost" in refused(conn, lambda: conn.answer("h1", Reply()))


@pytest.mark.parametrize("kind", UPDATE_KINDS)
@pytest.mark.parametrize("destination", sorted(DESTINATIONS))
def test_permission_updates_of_all_six_kinds_pass_unchanged_to_all_five_destinations(kind: str, destination: str) -> None:
    """seed; measured (all versions) for session and localSettings."""
    update = {"type": kind, "destination": destination, **WHOLE[kind], "extra": {"kept": True}}
    conn = asked()
    conn.answer("q1", Allow(updated_permissions=[update]))
    assert said(conn)[0]["response"]["response"]["updatedPermissions"] == [update]


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"type": "addEverything", "destination": "session"},
        {"type": ["addRules"], "destination": "session", **RULES},
        {"type": "addRules", **RULES},
        {"type": "addRules", "destination": "session", "rules": []},
        {"type": "addRules", "destination": "the moon", **RULES},
        {"type": "addRules", "destination": ["session"], **RULES},
        {"type": "setMode", "destination": "session"},
        {"type": "setMode", "destination": "session", "mode": "nonsense"},
        {"type": "setMode", "destination": "session", "mode": ["plan"]},
        {"type": "addDirectories", "destination": "session"},
        {"type": "addDirectories", "destination": "session", "directories": "/tmp"},
        {"type": "addRules", "destination": "session", "rules": ["Bash"], "behavior": "allow"},
        {"type": "addRules", "destination": "session", "rules": [{"ruleContent": "ls"}], "behavior": "allow"},
        {"type": "addRules", "destination": "session", "rules": [], "behavior": "perhaps"},
        "addRules",
    ],
    ids=str,
)
def test_a_bad_permission_update_is_refused(update: Any) -> None:
    """measured (2.1.37, 2.1.62): one bad entry and the whole answer counts as a refusal."""
    conn = asked()
    refused(
        conn,
        lambda: conn.answer(
            "q1", Allow(updated_permissions=[{"type": "setMode", "mode": "plan", "destination": "session"}, update])
        ),
    )


def test_a_mode_inside_an_answer_is_checked_like_any_other() -> None:
    """measured: auto came with 2.1.326."""
    update = {"type": "setMode", "mode": "auto", "destination": "session"}
    conn = asked(version=V62)
    refused(conn, lambda: conn.answer("q1", Allow(updated_permissions=[update])))
    asked(version=V326).answer("q1", Allow(updated_permissions=[update]))


@pytest.mark.parametrize(
    "tool_input",
    [{"questions": []}, {"answers": {"Another?": "A"}}, {"answers": ["A"]}, {"answers": "A"}, {"answers": {"0": "A"}}],
    ids=str,
)
def test_a_choice_answered_without_answers_or_to_another_text_is_refused(tool_input: dict[str, Any]) -> None:
    """measured (2.1.326): a key that is not the exact text counts as not answered."""
    conn = asked()
    refused(conn, lambda: conn.answer("c1", Allow(tool_input)))


@pytest.mark.parametrize("version", [V37, V62, V120, V326])
def test_a_priority_is_refused_without_the_capability_for_it(version: Any) -> None:
    """measured: older CLIs ignore it, so the prompt would wait where it should not."""
    conn = connection(version=version)
    assert "ignores priorities" in refused(conn, lambda: conn.send_prompt("hi", priority="now"))


def test_a_priority_is_sent_where_the_cli_says_that_it_knows_them() -> None:
    """measured (2.1.326): now, next, later; others raise."""
    conn = connection()
    conn.receive_data(success(conn.send_initialize({}), {"capabilities": ["msg_lifecycle_v1"]}))
    conn.data_to_send()
    assert "no priority" in refused(conn, lambda: conn.send_prompt("hi", priority="soon"))
    for priority in ("now", "next", "later"):
        conn.send_prompt("hi", priority=priority)
    assert [one["priority"] for one in said(conn)] == ["now", "next", "later"]


def test_new_environment_variables_are_refused_where_the_cli_ignores_them() -> None:
    """measured: 2.1.37 and 2.1.62 set them, 2.1.326 takes the line and does nothing."""
    newest = connection(version=V326)
    assert "env=" in refused(newest, lambda: newest.send_environment({"A": "b"}))
    for version in (None, V37, V62):
        conn = connection(version=version)
        conn.send_environment({"A": "b"})
        assert said(conn) == [{"type": "update_environment_variables", "variables": {"A": "b"}}]


@pytest.mark.parametrize("variables", [{"": "x"}, {"A=B": "x"}, {"A": "x\0"}, {"A": 5}, {5: "x"}, {"A": None}], ids=str)
def test_what_can_not_be_an_environment_variable_is_refused(variables: Any) -> None:
    """ours"""
    conn = connection()
    refused(conn, lambda: conn.send_environment(variables))


@demand("002-05")
@pytest.mark.parametrize(
    "content",
    [
        [],
        None,
        5,
        b"bytes",
        ["words"],
        [None],
        [{}],
        [{"text": "no type"}],
        [{"type": 5}],
        [{"type": "text"}],
        [{"type": "text", "text": None}],
        [{"type": "image"}],
        [{"type": "image", "source": "file.png"}],
        [{"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}],
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png"}}],
        [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}],
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": b"raw"}}],
        [{"type": "image", "source": {"type": "url"}}],
        [{"type": "document", "source": {"type": "base64", "data": "AAAA"}}],
        [{"type": "text", "text": "fine"}, {"type": "text"}],
    ],
    ids=str,
)
def test_content_blocks_that_are_half_filled_are_refused(content: Any) -> None:
    """seed: the required fields of each block; the API would fail the turn over them."""
    conn = connection()
    refused(conn, lambda: conn.send_prompt(content))


@demand("002-05")
def test_a_prompt_has_its_required_fields_and_its_optional_ones_only_when_given() -> None:
    """seed; measured: type and message are the minimum, the role is always user, session_id may be empty."""
    conn = connection()
    uuid = conn.send_prompt("hi")
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "a"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ]
    conn.receive_data(line(type="system", subtype="init", session_id="s9"))
    conn.send_prompt(blocks, uuid="mine", synthetic=True)
    conn.send_prompt([{"type": "a block of tomorrow", "x": 1}])
    first, second, third = said(conn)
    assert first == {
        "type": "user", "message": {"role": "user", "content": "hi"}, "parent_tool_use_id": None, "session_id": "", "uuid": uuid,
    }  # fmt: skip
    assert second["message"] == {"role": "user", "content": blocks}
    assert (second["session_id"], second["uuid"], second["isSynthetic"]) == ("s9", "mine", True)
    assert third["message"]["content"] == [{"type": "a block of tomorrow", "x": 1}]


def test_a_refusal_is_the_one_answer_that_fits_every_question() -> None:
    """ours"""
    conn = asked()
    for request_id in ("q1", "c1", "h1"):
        conn.answer(request_id, Refusal("not now"))
    assert [one["response"] for one in said(conn)] == [
        {"subtype": "error", "request_id": request_id, "error": "not now"} for request_id in ("q1", "c1", "h1")
    ]
