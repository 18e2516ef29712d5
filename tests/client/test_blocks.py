"""What a prompt can hold besides words: pictures and documents."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from ropewalk import Client, LocalProtocolError, UsageError, document, image, text
from tests.client.played import PlayedCli, connected
from tests.client.scripted import VERSIONS, ScriptedCli
from tests.demand import demand

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(40))


@demand("002-08", tag="lib")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_prompt_with_a_picture_reaches_the_cli_whole(scripted: ScriptedCli, version: str) -> None:
    """seed; measured: content_list_and_image (all versions)"""
    picture = scripted.project / "cat.png"
    picture.write_bytes(PNG)
    async with Client(scripted.options(version=version)) as client:
        reply = await client.query([text("What is in it?"), image(picture)])
        assert reply.result == "You said: What is in it?"
    words, sent = scripted.heard("user")[0]["message"]["content"]
    assert words == {"type": "text", "text": "What is in it?"}
    assert sent["type"] == "image" and sent["source"]["type"] == "base64" and sent["source"]["media_type"] == "image/png"
    assert base64.b64decode(sent["source"]["data"]) == PNG


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_the_kind_of_a_picture_is_read_off_its_first_bytes(start: bytes, kind: str) -> None:
    """ours"""
    assert image(start)["source"]["media_type"] == kind


@pytest.mark.parametrize("content", [b"", b"BM bitmap", b"<svg/>", b"RIFF\x10\x00\x00\x00WAVEfmt "])
def test_what_is_no_picture_is_refused_unless_its_kind_is_named(content: bytes) -> None:
    """ours: a sound file begins as a WebP picture does"""
    with pytest.raises(UsageError, match="media_type"):
        image(content)
    assert image(content, "image/x")["source"]["media_type"] == "image/x"


def test_a_document_carries_its_bytes_and_title(tmp_path: Path) -> None:
    """ours"""
    paper = tmp_path / "paper.pdf"
    paper.write_bytes(b"%PDF-1.7")
    block = document(paper, title="On ropes")
    assert block["title"] == "On ropes" and block["source"]["media_type"] == "application/pdf"
    assert base64.b64decode(block["source"]["data"]) == b"%PDF-1.7" and "title" not in document(b"x")


async def test_blocks_that_are_not_whole_are_refused_before_anything_is_sent() -> None:
    """ours: a bad line would end the CLI"""
    cli = PlayedCli()
    async with connected(cli) as client:
        for content in ([], [{"text": "no type"}], [{"type": "text"}], [{"type": "image", "source": {}}]):
            with pytest.raises(LocalProtocolError):
                client.query(content)
        query = client.query([document(b"%PDF"), text("Read this.")])
        sent = await cli.hear()
        assert [block["type"] for block in sent["message"]["content"]] == ["document", "text"]
        cli.turn(sent["uuid"])
        await query
