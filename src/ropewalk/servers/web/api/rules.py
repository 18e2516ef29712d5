"""Rules and grants: listed, made, changed, ended, tried before they are saved."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request
from litestar.params import FromQuery, JSONBody, PathParameter

from ....events import commands as c
from ....events import views as v
from ..body import client_id_from
from ..verbs import VERBS
from .route import PREFIX, Hub, Who, delete, get, patch, post

RuleName = Annotated[str, PathParameter(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:-]+$")]


@get(f"{PREFIX}/rules", role="watch")
async def list_rules(hub: Hub, who: Who, ended: FromQuery[bool] = False) -> v.Page:
    """As they decide: deny, then ask, then allow. ``ended``: also grants that ended in the last days."""
    return v.Page(items=list(await hub.rules(who, ended=ended)))


@post(f"{PREFIX}/rules", role=VERBS["add_rule"].role, status=201)
async def add_rule(hub: Hub, who: Who, data: JSONBody[c.NewRule]) -> v.RuleView:
    """In Claude Code's own words, e.g. ``Bash(git diff:*)``. With an end it is a grant."""
    return await hub.add_rule(who, data)


@post(f"{PREFIX}/rules/test", role="watch")
async def test_rules(hub: Hub, who: Who, data: JSONBody[c.RuleTest]) -> v.TriedView | v.TrialView:
    """One request by the saved rules or by those given; or one rule over what was asked before. Changes nothing."""
    return await hub.test_rules(who, data)


@get(f"{PREFIX}/rules/suggested", role="watch")
async def suggest_rules(hub: Hub, who: Who) -> v.Page:
    """Rules that would have answered what people keep approving."""
    return v.Page(items=list(await hub.suggested_rules(who)))


@get(f"{PREFIX}/rules/{{rule:str}}", role="watch")
async def show_rule(hub: Hub, who: Who, rule: RuleName) -> v.RuleView:
    return await hub.rule(who, rule)


@patch(f"{PREFIX}/rules/{{rule:str}}", role=VERBS["change_rule"].role)
async def change_rule(hub: Hub, who: Who, rule: RuleName, data: JSONBody[c.ChangeRule]) -> v.RuleView:
    """What is left out stays. Built-in rules are switched off and on."""
    return await hub.change_rule(who, rule, data)


@delete(f"{PREFIX}/rules/{{rule:str}}", role=VERBS["end_rule"].role)
async def end_rule(hub: Hub, who: Who, rule: RuleName, request: Request[Any, Any, Any]) -> v.RuleView:
    """It answers nothing from now on; what it let run stays in the audit."""
    return await hub.end_rule(who, rule, c.EndRule(client_id=client_id_from(request.headers.get("client-id"))))


RULES = [list_rules, add_rule, test_rules, suggest_rules, show_rule, change_rule, end_rule]
