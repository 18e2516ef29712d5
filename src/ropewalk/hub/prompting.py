"""What people send: prompts and files. Refuses to change a prompt that was handed over."""

from __future__ import annotations

import base64
import os
from typing import Any

import msgspec

from ..errors import Conflict, NotFound, UsageError
from ..events import commands as c
from ..events import views as v
from ..events.commands import Principal
from ..sessions.session import Session
from ..store.base import Entry, cleaned, put
from ..store.rows import AttachmentRow, PromptRow
from .once import Once, Ref, Row
from .reading import Reading, allow
from .shown import prompt_view

LARGEST_ATTACHMENT = 20 * 1024 * 1024
PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


class Prompting(Reading):
    once: Once

    async def prompt(self, who: Principal, session: str, command: c.Prompt) -> v.PromptView:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do(kept: Row) -> v.PromptView:
            told = c.Prompt(text=command.text, content=await self._with_files(awake, command.content), when=command.when)
            row = await awake.prompts.queue(who, told, lambda prompt: kept({"prompt": prompt}))
            return prompt_view(row)

        return await self.once.made(who, "prompt", awake.id, command, do, self._prompt_again)

    async def _prompt_again(self, ref: Ref) -> v.PromptView:
        row = await self.store.get(PromptRow, ref["prompt"])
        assert row is not None
        return prompt_view(row)

    async def edit_prompt(self, who: Principal, session: str, prompt: str, command: c.EditPrompt) -> v.PromptView:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.PromptView:
            told = msgspec.structs.replace(command, content=await self._with_files(awake, command.content))
            return prompt_view(await awake.prompts.edit(who, prompt, told))

        await self._known_prompt(awake, prompt)
        return await self.once.carried_out(who, f"edit {prompt}", awake.id, command, do, v.PromptView)

    async def withdraw(self, who: Principal, session: str, prompt: str, command: c.Withdraw) -> v.PromptView:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.PromptView:
            return prompt_view(await awake.prompts.withdraw(who, prompt))

        await self._known_prompt(awake, prompt)
        return await self.once.carried_out(who, f"withdraw {prompt}", awake.id, command, do, v.PromptView)

    async def _known_prompt(self, awake: Session, prompt: str) -> None:
        """Raises ``NotFound`` for one that never was; ``Conflict`` comes from the queue."""
        if not any(row.id == prompt for row in awake.queue.all):
            row = await self.store.get(PromptRow, prompt)
            if row is None or row.session != awake.id:
                raise NotFound(f"no prompt {prompt[:40]!r} in this session")
            if row.state != "withdrawn":
                raise Conflict(f"this prompt is {row.state} already", code="already_taken")

    # -- files of people

    async def attach_file(self, who: Principal, session: str, name: str, data: bytes, kind: str) -> dict[str, Any]:
        """Kept in our own folder, never in the project's."""
        allow(who, "prompt")
        awake = await self._awake(session)
        if len(data) > LARGEST_ATTACHMENT:
            raise UsageError(f"an attachment has at most {LARGEST_ATTACHMENT // 2**20} MiB")
        world = self.roster.world
        row = AttachmentRow(
            id=world.new_id(), session=awake.id, name=os.path.basename(cleaned(name))[:200] or "file", media_type=kind[:100],
            size=len(data), by=who.name, at=world.clock(),
        )  # fmt: skip
        folder = os.path.join(world.config.home, "attachments", awake.id)
        row.path = os.path.join(folder, f"{row.id}{os.path.splitext(row.name)[1][:12]}")
        await world.link.files.put(row.path, data, folders=True)
        await self.store.append(Entry(rows=[put(row)]))
        return {"type": "attachment", "id": row.id, "name": row.name, "size": row.size, "media_type": row.media_type}

    async def _with_files(self, awake: Session, content: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        """References to attachments become what the CLI takes: pictures as they are, other files by their path."""
        if content is None:
            return None
        told = []
        for block in content:
            told.append(await self._file_block(awake, str(block.get("id"))) if block.get("type") == "attachment" else block)
        return told

    async def _file_block(self, awake: Session, name: str) -> dict[str, Any]:
        row = await self.store.get(AttachmentRow, name)
        if row is None or row.session != awake.id:
            raise NotFound(f"no attachment {name[:40]!r} in this session; send the file first")
        if row.media_type not in PICTURES:
            return {"type": "text", "text": f"[attached file: {row.path}]"}
        found = await self.roster.world.link.files.read(row.path, LARGEST_ATTACHMENT)
        source = {"type": "base64", "media_type": row.media_type, "data": base64.b64encode(found.data).decode()}
        return {"type": "image", "source": source}
