"""The picture in the README is what the command draws today. Recorded anew and compared, but for ids, times and places."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "terminal.svg"


def words(picture: Path) -> list[str]:
    found = re.findall(r"<text[^>]*>(.*?)</text>", picture.read_text("utf-8"), re.DOTALL)
    texts = [" ".join(html.unescape(one).replace("\xa0", " ").split()) for one in found]
    return [re.sub(r"\b[0-9a-f]{8}\b|\d+(\.\d+)?", "#", text) for text in texts if text]


def test_the_picture_fetches_nothing() -> None:
    """ours: no font, script or image from elsewhere"""
    text = PICTURE.read_text("utf-8")
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"] and "<script" not in text


@pytest.mark.slow
def test_the_picture_is_what_a_run_draws(tmp_path: Path) -> None:
    """ours: `python tools/picture.py` draws it anew"""
    drawn = tmp_path / "now.svg"
    subprocess.run([sys.executable, str(ROOT / "tools" / "picture.py"), str(drawn)], check=True, timeout=120, capture_output=True)
    assert words(drawn) == words(PICTURE) and "◆ Run a command?" in words(drawn)
