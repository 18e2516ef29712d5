"""Files around a session: what is found in its folder, what is attached, and what is no way out of either."""

from __future__ import annotations

import os

import pytest

from ropewalk.errors import NotFound
from ropewalk.events import commands as c
from tests.hub.house import MIA, House, Talk

ASKS = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}


async def test_a_folder_that_is_gone_in_the_midst_does_not_spoil_the_search(house: House, talk: Talk) -> None:
    """ours: what can't be listed is left out; links are not followed"""
    (house.project / "src").mkdir()
    (house.project / "src" / "main.py").write_text("")
    (house.project / "away").symlink_to(house.home)
    (house.project / "loop").symlink_to(house.project)
    closed = house.project / "closed"
    closed.mkdir()
    (closed / "main.py").write_text("")
    session = await talk.new()
    list_folder = talk.hub.world.link.files.list

    async def going(path: str, cap: int = 1000) -> object:
        if path == str(closed):
            os.unlink(closed / "main.py")
            closed.rmdir()
        return await list_folder(path, cap)

    talk.hub.world.link.files.list = going  # type: ignore[method-assign, assignment]
    assert await talk.hub.files(MIA, session.id, "main") == ["src/main.py"]
    assert await talk.hub.files(MIA, session.id, "ropewalkdb") == []


async def test_an_attachment_stays_in_our_own_folder_whatever_it_is_called(house: House, talk: Talk) -> None:
    """ours: S13"""
    session = await talk.new()
    for name in ("../../x.txt", "/etc/passwd", "..", ".", "a/b/../../c.png\0", "x" * 5000, "\n.sh"):
        told = await talk.hub.attach_file(MIA, session.id, name, b"data", "text/plain")
        assert "/" not in told["name"]
    kept = list((house.home / "attachments").rglob("*"))
    files = [path for path in kept if path.is_file()]
    assert len(files) == 7 and all(path.parent == house.home / "attachments" / session.id for path in files)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files)
    assert list(house.project.iterdir()) == []


async def test_an_attachment_goes_with_a_prompt_and_with_an_edited_one(house: House, talk: Talk) -> None:
    """ours: of this session only"""
    house.rule("first", ASKS, {"text": "One."})
    session, other = await talk.new("first"), await talk.new()
    question = await talk.question(session.id)
    told = await talk.hub.attach_file(MIA, session.id, "notes.txt", b"data", "text/plain")
    block = {"type": "attachment", "id": told["id"]}
    prompt = await talk.hub.prompt(MIA, session.id, c.Prompt(text="second"))
    await talk.hub.edit_prompt(MIA, session.id, prompt.id, c.EditPrompt(content=[{"type": "text", "text": "Look:"}, block]))
    with pytest.raises(NotFound, match="attachment"):
        await talk.hub.prompt(MIA, other.id, c.Prompt(content=[block]))
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    text = (await talk.turns(session.id, 2))[1]["text"]
    assert "Look:" in text and "attached file" in text and told["id"] in text
