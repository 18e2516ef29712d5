"""``rules claude``: what Claude Code's own settings say of this folder, for show. Refuses to change them, and to need a hub."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...permissions.rulefile import ShownSettings, rules_from_settings
from ..asked import COLORS, check_choice
from ..codes import DONE
from ..home import home_path
from ..modes import mode_words
from ..screen import Screen, look_around
from ..table import draw
from .rulings import STYLES
from .sessions import folder_of

FILES = (".claude/settings.local.json", ".claude/settings.json")
"""Of the folder; the person's own comes last."""
FIRST = "Claude Code applies these before it asks anybody: what they allow or deny, ropewalk is not asked about."


def claudes(cwd: str, *, as_json: bool, color: str, ascii_only: bool) -> int:
    check_choice("color", color, COLORS)
    folder = folder_of(cwd)
    found, wrong = settings_of(folder)
    screen = Screen(look_around(color, ascii_only=ascii_only, answer=True))
    if as_json:
        screen.object(json.dumps({"items": [row for one in found for row in as_objects(one)], "unread": wrong}))
        return DONE
    rows = [(rule.behavior, rule.text, home_path(one.file), "") for one in found for rule in one.rules]
    rows += [
        (behavior, text, home_path(one.file), f"no rule of ours: {why.partition(' is not taken: ')[2] or why}")
        for one in found
        for behavior, text, why in one.not_read
    ]
    rows.sort(key=lambda row: tuple(STYLES).index(row[0]))
    draw(screen, (), rows, [STYLES[row[0]] for row in rows], whole=(0, 1))
    for one in found:
        if one.mode:
            screen.row(f"mode  {mode_words(one.mode)}, by {home_path(one.file)}")
        if one.folders:
            screen.row(f"trusted folders  {' '.join(home_path(folder) for folder in one.folders)}, by {home_path(one.file)}")
    for line in wrong:
        screen.say(screen.paint("amber", f"{screen.look.glyphs.warns} {line}"))
    if not rows:
        screen.row(f"No rules of Claude Code's own for {home_path(folder)}.")
    screen.talk(screen.paint("dim", FIRST))
    return DONE


def settings_of(folder: str) -> tuple[list[ShownSettings], list[str]]:
    """Those that can be read, and a sentence for each that can't."""
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    found, wrong = [], []
    for path in (*(Path(folder, name) for name in FILES), home / "settings.json"):
        try:
            found.append(rules_from_settings(path.read_text("utf-8"), str(path)))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, UsageError) as error:
            words = str(error) if isinstance(error, UsageError) else f"{path} can't be read: {error}"
            wrong.append(words)
    return found, wrong


def as_objects(settings: ShownSettings) -> list[dict[str, Any]]:
    told = [{"behavior": rule.behavior, "text": rule.text, "source": "cli", "file": settings.file} for rule in settings.rules]
    told += [
        {"behavior": behavior, "text": text, "source": "cli", "file": settings.file, "not_read": why}
        for behavior, text, why in settings.not_read
    ]
    return told
