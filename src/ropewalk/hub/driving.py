"""What is asked of a session's process: interrupt, stop, wake, rewind, modes, any control request. Refuses in the CLI's words."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec

from ..errors import Conflict, NotFound, RequestFailed, UsageError
from ..events import commands as c
from ..events import events as e
from ..events import views as v
from ..events.commands import Principal
from ..sessions.bypass import MODE, begin, confirmed, keep
from ..sessions.kept import Bypass
from ..sessions.launching import check_options
from ..sessions.session import Session
from ..sessions.settling import by_mode
from ..store.rows import PromptRow
from .making import ACCEPTING, Making, bypass_for
from .reading import allow

T = TypeVar("T")


class Driving(Making):
    async def interrupt(self, who: Principal, session: str, command: c.Interrupt) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            await self._answered(awake.interrupt(who))
            return v.Receipt(session=awake.id, message="interrupted" if awake.wire else "nothing was running")

        return await self.once.carried_out(who, "interrupt", awake.id, command, do, v.Receipt)

    async def stop(self, who: Principal, session: str, command: c.Stop) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            await awake.life.stop(who, command.patience)
            return v.Receipt(session=awake.id, message="stopped")

        return await self.once.carried_out(who, "stop", awake.id, command, do, v.Receipt)

    async def wake(self, who: Principal, session: str, command: c.Wake) -> v.SessionView:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.SessionView:
            await awake.life.wake()
            awake.pump()
            return await self.session(who, awake.id)

        return await self.once.carried_out(who, "wake", awake.id, command, do, v.SessionView)

    async def rewind(self, who: Principal, session: str, command: c.Rewind) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            return await self._rewind(who, awake, command)

        return await self.once.carried_out(who, "rewind", awake.id, command, do, v.Receipt)

    async def _rewind(self, who: Principal, awake: Session, command: c.Rewind) -> v.Receipt:
        """Files by the CLI's own checkpoints; the conversation as a fork before the prompt, so that nothing is lost."""
        row = await self.store.get(PromptRow, command.prompt)
        if row is None or row.session != awake.id:
            raise NotFound(f"no prompt {command.prompt[:40]!r} in this session")
        reply: dict[str, Any] = {}
        if command.files:
            fields = {"user_message_id": command.prompt, "dry_run": True}
            reply = await self._answered(awake.request("rewind_files", fields))
            if not reply.get("canRewind"):
                raise Conflict(
                    f"files can't be brought back: {reply.get('error') or 'the CLI kept no checkpoint of that prompt'}"
                )
            if not command.dry_run:
                await self._answered(awake.request("rewind_files", {"user_message_id": command.prompt}))
                files = [str(path) for path in reply.get("filesChanged") or []]
                awake.post([e.FilesRewound(prompt=command.prompt, files=files, by=who.name)])
        receipt = v.Receipt(session=awake.id, prompt=command.prompt, reply=reply, state="dry run" if command.dry_run else "done")
        if command.conversation and not command.dry_run:
            at = await self._answer_before(awake.id, row)
            if at is None:
                raise Conflict("there is nothing before that prompt: begin a new session instead")
            forked = await self.create(who, c.CreateSession(fork_of=awake.id, fork_at=at))
            receipt.session = forked.id
        return receipt

    async def _answer_before(self, session: str, prompt: PromptRow) -> str | None:
        """The uuid of the last answer of the main thread before this prompt was sent: where a fork begins."""
        last: str | None = None
        after = 0
        while page := await self.store.lines(session, after, None, 1000):
            after = page[-1].cursor
            for line in page:
                if line.dir == "in" and prompt.id.encode() in line.raw:
                    return last
                if line.dir == "out" and line.raw.startswith(b'{"type":"assistant"') and b'"parent_tool_use_id":null' in line.raw:
                    last = msgspec.json.decode(line.raw).get("uuid") or last
        return last

    # -- how it goes on

    async def set_mode(self, who: Principal, session: str, command: c.SetMode) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)
        given: Bypass | None = None
        if command.mode == MODE:
            allow(who, "admin")
            check_options(awake.options, command.mode, self.roster.world.config)
            given = bypass_for(command.for_seconds, awake.row.mode, who, self.roster.world.config)
        elif command.for_seconds is not None:
            raise UsageError("only bypassPermissions has a length: another mode stays until it is changed")
        elif command.mode in ACCEPTING:
            allow(who, "answer")

        async def do() -> v.Receipt:
            await awake.life.come_up()
            awake.mode_by = who.name
            try:
                return await change()
            finally:
                awake.mode_by = ""

        async def change() -> v.Receipt:
            if given is not None:
                await self._answered(begin(awake, given))
                confirmed(awake)
            elif awake.wire is not None and awake.wire.ready:
                await self._answered(awake.request("set_permission_mode", {"mode": command.mode}))
            awake.known.mode = command.mode
            ended = [keep(awake, None)] if given is None and awake.bypass is not None else []
            await awake.wish([e.ModeChanged(mode=command.mode, by=who.name)], [awake.change(mode=command.mode), *ended])
            by_mode(awake, command.mode, who.name)
            return v.Receipt(session=awake.id, reply={"mode": command.mode})

        return await self.once.carried_out(who, "mode", awake.id, command, do, v.Receipt)

    async def set_model(self, who: Principal, session: str, command: c.SetModel) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            await awake.life.come_up()
            if awake.wire is not None and awake.wire.ready:
                await self._answered(awake.request("set_model", {"model": command.model} if command.model else {}))
            awake.known.model = command.model
            model = command.model or ""
            await awake.wish([e.ModelChanged(model=model, by=who.name)], [awake.change(model=model)])
            return v.Receipt(session=awake.id, reply={"model": command.model})

        return await self.once.carried_out(who, "model", awake.id, command, do, v.Receipt)

    async def set_thinking(self, who: Principal, session: str, command: c.SetThinking) -> v.Receipt:
        fields = {"max_thinking_tokens": command.max_thinking_tokens}
        return await self._requested(who, "prompt", session, command, "set_max_thinking_tokens", fields)

    async def set_environment(self, who: Principal, session: str, command: c.SetEnvironment) -> v.Receipt:
        """For later tools of the living process, on CLIs that act on it."""
        allow(who, "admin")
        awake = await self._awake(session)
        check_options(c.SessionOptions(env=command.variables), None, self.roster.world.config)

        async def do() -> v.Receipt:
            awake.set_environment(command.variables)
            return v.Receipt(session=awake.id)

        return await self.once.carried_out(who, "environment", awake.id, command, do, v.Receipt)

    async def control(self, who: Principal, session: str, command: c.Control) -> v.Receipt:
        if command.subtype == "set_permission_mode" and command.fields.get("mode") == MODE:
            check_options(c.SessionOptions(), MODE, self.roster.world.config)
            raise UsageError("bypassPermissions has a length: set it as a mode, with for_seconds")
        if command.subtype == "set_cwd" and (wire := (await self._awake(session)).wire) is not None:
            wire.translator.moved()
        return await self._requested(who, "admin", session, command, command.subtype, command.fields, command.within)

    async def _requested(
        self, who: Principal, role: str, session: str, command: msgspec.Struct, subtype: str, fields: dict[str, Any],
        within: float = 30.0,
    ) -> v.Receipt:  # fmt: skip
        allow(who, role)
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            return v.Receipt(session=awake.id, reply=await self._answered(awake.request(subtype, fields, within)))

        return await self.once.carried_out(who, f"control {subtype}", awake.id, command, do, v.Receipt)

    async def _answered(self, request: Awaitable[T]) -> T:
        try:
            return await request
        except RequestFailed as error:
            raise Conflict(f"Claude said no: {error.reason}", code=error.code or "refused_by_cli") from None
