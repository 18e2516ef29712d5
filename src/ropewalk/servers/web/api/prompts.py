"""Prompts: sent, edited, moved, withdrawn; and the files that go with them."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request
from litestar.params import JSONBody, QueryParameter

from ....events import commands as c
from ....events import views as v
from ..body import client_id_from, file_from
from ..problems import Refusal
from ..verbs import VERBS
from .route import Hub, Name, Who, delete, patch, post
from .sessions import SESSION

FileName = Annotated[str, QueryParameter(min_length=1, max_length=255, pattern=r"^[^/\\\x00-\x1f\x7f]+$")]
Kind = Annotated[str, QueryParameter(max_length=100, pattern=r"^[a-z0-9.+-]+/[a-z0-9.+-]+$", description="A media type.")]


@post(f"{SESSION}/prompts", role=VERBS["prompt"].role, status=201)
async def send_prompt(hub: Hub, who: Who, session: Name, data: JSONBody[c.Prompt]) -> v.PromptView:
    """Answered when it is stored. ``next`` waits its turn, ``now`` joins the running one, ``instead`` interrupts it."""
    return await hub.prompt(who, session, data)


@patch(f"{SESSION}/prompts/{{prompt:str}}", role=VERBS["edit_prompt"].role)
async def edit_prompt(hub: Hub, who: Who, session: Name, prompt: Name, data: JSONBody[c.EditPrompt]) -> v.PromptView:
    """New words or another place; 409 when it was handed over already."""
    return await hub.edit_prompt(who, session, prompt, data)


@delete(f"{SESSION}/prompts/{{prompt:str}}", role=VERBS["withdraw"].role)
async def withdraw_prompt(hub: Hub, who: Who, session: Name, prompt: Name, request: Request[Any, Any, Any]) -> v.PromptView:
    """Take it back; 409 when it was handed over already."""
    return await hub.withdraw(who, session, prompt, c.Withdraw(client_id=client_id_from(request.headers.get("client-id"))))


@post(f"{SESSION}/attachments", role="prompt", status=201, dto=None)
async def attach_file(
    hub: Hub, who: Who, session: Name, request: Request[Any, Any, Any], name: FileName, kind: Kind = "application/octet-stream"
) -> dict[str, Any]:
    """Keep a file for a prompt; the body is the file. A prompt names it in ``content``: {"type": "attachment", "id": …}."""
    if not (found := await file_from(request)):
        raise Refusal(422, "no_file", "The body is empty. Send the file as the body.")
    return await hub.attach_file(who, session, name, found, kind)


PROMPTS = [send_prompt, edit_prompt, withdraw_prompt, attach_file]
