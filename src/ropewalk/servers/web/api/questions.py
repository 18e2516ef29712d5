"""Questions: the inbox over all sessions, and the answer."""

from __future__ import annotations

from typing import Annotated, Literal

from litestar.params import JSONBody, QueryParameter

from ....events import commands as c
from ....events import views as v
from ..verbs import VERBS
from .route import PREFIX, Hub, Name, Named, Who, get, post

State = Annotated[Literal["open", "answered", "withdrawn", "expired", "lost"], QueryParameter(name="state")]


@get(f"{PREFIX}/questions", role="watch")
async def list_questions(hub: Hub, who: Who, which: State = "open", session: Named = None) -> v.Page:
    """The longest waiting first."""
    return v.Page(items=list(await hub.questions(who, state=which, session=session)))


@get(f"{PREFIX}/questions/{{question:str}}", role="watch")
async def show_question(hub: Hub, who: Who, question: Name) -> v.QuestionView:
    return await hub.question(who, question)


@post(f"{PREFIX}/questions/{{question:str}}/answer", role=VERBS["answer"].role)
async def answer(hub: Hub, who: Who, question: Name, data: JSONBody[c.Answer]) -> v.QuestionView:
    """Allow or deny. The first answer counts; a later one is refused with 409 and who was first."""
    return await hub.answer(who, question, data)


QUESTIONS = [list_questions, show_question, answer]
