"""File checkpoints for ``rewind_files``: what files held before each prompt's edits. Refuses files that it did not see change."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .calls import Call
from .prompts import Prompt
from .session import Json, Session


class Checkpoints:
    """In memory: a process that ends forgets them."""

    def __init__(self) -> None:
        self._order: list[str] = []
        self._before: dict[str, dict[str, bytes | None]] = {}

    @property
    def enabled(self) -> bool:
        return os.environ.get("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING") == "1"

    def prompt(self, prompt_uuid: str) -> None:
        if prompt_uuid not in self._before:
            self._order.append(prompt_uuid)
            self._before[prompt_uuid] = {}

    def note(self, prompts: Sequence[Prompt], call: Call, session: Session) -> None:
        """Keep what a file holds before a call of this turn changes it, once a prompt."""
        path = os.path.join(session.cwd, str(call.given.get("file_path", "")))
        for prompt in prompts:
            if prompt.uuid is not None:
                self.prompt(prompt.uuid)
                self._before[prompt.uuid].setdefault(path, _content(path))

    def rewind(self, prompt_uuid: str, dry_run: bool) -> Json | None:
        """Bring the files back to before a prompt; None when the prompt is not known."""
        if prompt_uuid not in self._before:
            return None
        first: dict[str, bytes | None] = {}
        for known in reversed(self._order[self._order.index(prompt_uuid) :]):
            first |= self._before[known]
        changed = {path: before for path, before in first.items() if _content(path) != before}
        if not dry_run:
            for path, before in changed.items():
                _restore(path, before)
            return {"canRewind": True}
        gained = sum(_lines(_content(path)) for path in changed)
        return {"canRewind": True, "filesChanged": sorted(changed), "insertions": 0, "deletions": gained}


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _restore(path: str, before: bytes | None) -> None:
    if before is None:
        os.unlink(path)
        return
    with open(path, "wb") as file:
        file.write(before)


def _lines(content: bytes | None) -> int:
    return len(content.splitlines()) if content else 0
