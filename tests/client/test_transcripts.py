"""The CLI's own record of a session: found by folder and id, read line by line, whatever is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ropewalk.client.transcripts import find_transcript, project_name, read_transcript, transcript_path

USER = {"type": "user", "uuid": "u1", "parentUuid": None, "timestamp": "2026-01-01T00:00:00Z", "isSidechain": False}
ASSISTANT = {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "isSidechain": True}


def kept(folder: Path, session_id: str, *lines: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session_id}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/me/project", "-home-me-project"),
        ("/srv/a b.c_d~é漢", "-srv-a-b-c-d---"),
        ("/srv/🐢", "-srv---"),
    ],
)
def test_a_folder_is_named_as_the_cli_names_it(folder: str, name: str) -> None:
    """measured (2.1.37, 2.1.62, 2.1.326): plain letters and digits stay, all else is a dash; counted in UTF-16"""
    assert project_name(folder) == name


def test_a_link_is_followed_before_the_folder_is_named(tmp_path: Path) -> None:
    """measured (all)"""
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert project_name(tmp_path / "link") == project_name(tmp_path / "target")


def test_a_transcript_is_where_folder_and_id_say(tmp_path: Path) -> None:
    """ours: the path is told also when nothing is there, so that a caller can ask"""
    path = transcript_path("/srv/work", "s1", tmp_path)
    assert path == tmp_path / "projects" / "-srv-work" / "s1.jsonl" and not path.exists()
    assert kept(tmp_path / "projects" / "-srv-work", "s1", USER) == path and path.exists()


def test_the_configuration_folder_is_the_cli_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: $CLAUDE_CONFIG_DIR as the CLI itself reads it, else .claude in the home"""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "second"))
    assert transcript_path("/srv", "s").is_relative_to(tmp_path / "second")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert transcript_path("/srv", "s").is_relative_to(tmp_path / ".claude")


def test_a_long_folder_s_cut_name_is_found_by_its_beginning(tmp_path: Path) -> None:
    """measured (2.1.62, 2.1.326): 200 characters, then a hash that differs by version"""
    long = "/srv/" + "x" * 150 + "/" + "y" * 150
    cut = project_name(long)[:200]
    kept(tmp_path / "projects" / f"{cut}-aaaaaa", "other", USER)
    path = kept(tmp_path / "projects" / f"{cut}-bbbbbb", "s1", USER)
    assert transcript_path(long, "s1", tmp_path) == path
    assert not transcript_path(long, "nowhere", tmp_path).exists()
    assert not transcript_path(long, "s1", tmp_path / "empty").exists()


def test_a_session_is_found_without_its_folder(tmp_path: Path) -> None:
    """ours: what a person has is often the id alone; an id that is a pattern finds nothing"""
    path = kept(tmp_path / "projects" / "-srv-work", "s1", USER)
    assert find_transcript("s1", tmp_path) == path
    assert [find_transcript(id, tmp_path) for id in ("s2", "*", "../s1", "s[1]")] == [None] * 4
    assert find_transcript("s1", tmp_path / "empty") is None


def test_prompts_and_answers_are_typed_and_the_rest_is_kept(tmp_path: Path) -> None:
    """ours: what a version adds is told with all its fields"""
    said = {**USER, "message": {"role": "user", "content": "hello"}}
    answer = {**ASSISTANT, "message": {"role": "assistant", "content": [{"type": "text", "text": "Well."}]}}
    odd = {"type": "queue-operation", "operation": "dequeue", "sessionId": "s1"}
    prompt, answered, other = read_transcript(kept(tmp_path, "s1", said, answer, odd))
    assert prompt.message and prompt.message.content[0].text == "hello"  # type: ignore[union-attr]
    assert (prompt.kind, prompt.uuid, prompt.parent, prompt.at) == ("user", "u1", None, "2026-01-01T00:00:00Z")
    assert answered.message and answered.message.text == "Well." and answered.sidechain  # type: ignore[union-attr]
    assert (answered.parent, prompt.sidechain) == ("u1", False)
    assert (other.kind, other.message, other.fields) == ("queue-operation", None, odd)


def test_a_torn_or_strange_line_is_told_raw_and_reading_goes_on(tmp_path: Path) -> None:
    """ours: a CLI that was killed leaves half a line"""
    path = tmp_path / "s1.jsonl"
    whole = json.dumps({**USER, "message": {"role": "user", "content": "hello"}}).encode()
    path.write_bytes(b"[1]\n\n" + b'{"type":7}\n' + b"\xff\xfe\n" + whole + b'\n{"type":"assistant","mess')
    entries = list(read_transcript(path))
    assert [entry.kind for entry in entries] == ["", "", "", "user", ""]
    assert entries[-1].raw == b'{"type":"assistant","mess' and entries[-1].fields == {} and entries[-1].uuid is None


def test_a_missing_transcript_says_so(tmp_path: Path) -> None:
    """ours"""
    with pytest.raises(FileNotFoundError):
        list(read_transcript(tmp_path / "none.jsonl"))
