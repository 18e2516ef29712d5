"""Draws docs/terminal.svg: a real `ropewalk run` at a real terminal, on the stand-in, recorded. Refuses to draw what did not run.

``python tools/picture.py [file.svg]``. The script below is what the scripted CLI says; everything else is the command itself.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "terminal.svg"
COLUMNS, ROWS = 92, 46
GUARD = 60.0
PROMPT = "Why does test_login fail? Fix it."
FILE = "import time\n\nNOW = time.time()\n\n\ndef token(user):\n    return user, NOW + 3600\n"
OLD, NEW = "    return user, NOW + 3600\n", "    return user, time.time() + 3600\n"

SCRIPT = {
    "pace": 0.01,
    "rule": [
        {
            "steps": [
                {"thinking": "The token may expire because of when the module was imported.", "pace": 0.12},
                {"tool": "Read", "input": {"file_path": "{cwd}/login.py"}, "result": FILE},
                {
                    "tool": "Bash",
                    "input": {"command": "pytest tests/test_login.py -x", "description": "Run the failing test"},
                    "ask": True,
                    "suggestions": [
                        {
                            "type": "addRules",
                            "rules": [{"toolName": "Bash", "ruleContent": "pytest:*"}],
                            "behavior": "allow",
                            "destination": "localSettings",
                        }
                    ],
                    "lasts": 1.2,
                    "result": "1 failed",
                },
                {"text": "The time is taken once, at import, so every token is as old as the process."},
                {"tool": "Edit", "input": {"file_path": "{cwd}/login.py", "old_string": OLD, "new_string": NEW}, "ask": True},
                {"text": "Fixed: each token gets the time of its own making."},
            ]
        }
    ],
}
KEYS = (("a/A/d › ", "A"), ("y/n › ", "y"), ("a/s/d › ", "a"))
"""What is waited for, and the key that is then pressed."""

TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; font-variant-ligatures: none; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""
"""rich's own, without the font that it would fetch from elsewhere."""


def main() -> int:
    """Record, draw, say where."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    lines = screen_of(record())
    console = Console(
        width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True, color_system="standard", legacy_windows=False
    )
    console.print(Text(f'$ ropewalk run "{PROMPT}"', style="bold"))
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=True)
    picture = console.export_svg(title="ropewalk run", code_format=TEMPLATE, unique_id="ropewalk")
    target.write_text(re.sub(r"[ \t]+$", "", picture, flags=re.MULTILINE))
    print(f"{target}: {len(lines)} lines")
    return 0


def record() -> bytes:
    """What the terminal got, from start to end."""
    with tempfile.TemporaryDirectory(prefix="ropewalk-picture-") as folder:
        project = Path(folder, "api")
        project.mkdir()
        (project / "login.py").write_text(FILE)
        script = Path(folder, "script.json")
        script.write_text(json.dumps(SCRIPT))
        env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "xterm", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT / "src")}
        return at_terminal([sys.executable, "-m", "ropewalk", "run", "--no-hub", f"--sim={script}", PROMPT], project, env)


def at_terminal(argv: list[str], folder: Path, env: dict[str, str]) -> bytes:
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(argv[0], argv, env)  # noqa: S606 - no shell is wanted
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    drawn, keys, end, read_to = b"", list(KEYS), time.monotonic() + GUARD, 0
    while time.monotonic() < end:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # EIO: it has ended
            break
        drawn += piece
        if keys and (found := plain(drawn).find(keys[0][0], read_to)) >= 0:
            read_to = found + 1
            os.write(master, keys.pop(0)[1].encode())
    _, status = os.waitpid(pid, 0)
    if keys or os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"the run did not go as scripted:\n{plain(drawn)}")
    return drawn


def plain(drawn: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", drawn.decode("utf-8", "replace"))


def screen_of(drawn: bytes) -> list[str]:
    """The lines that stay: what was drawn over is gone."""
    text = drawn.decode("utf-8", "replace").replace("\r\n", "\n")
    return [line.rsplit("\r\x1b[K", 1)[-1] for line in text.rstrip("\n").split("\n")]


if __name__ == "__main__":
    raise SystemExit(main())
