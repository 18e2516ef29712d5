"""Plans of real CLIs under a whole hub: what each answer makes the model read, the tools do, and the next process know."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ropewalk import Remote, image
from ropewalk.events.commands import AllowedPrompt, SessionOptions
from ropewalk.events.events import ContextCleared, ContextCompacted, ModeChanged, QuestionOpened, VerdictGiven
from ropewalk.events.views import QuestionView
from ropewalk.sim.model import Asked, Reply, Rule, SimModel, reply, tool
from tests.demand import demand
from tests.hub.house import until
from tests.real.rig import Place, give_away, place
from tests.real.rig_hub import ServedHub, question_of, served_hub
from tests.real.rig_talk import LOOP, command
from tests.real.test_hub import turns
from tests.real.test_turns import PIXEL

PLAN_FILE = re.compile(r"/[^\"\s]*/(?:\.claude/plans|our-plans)/[^\"\s]+?\.md")


pytestmark = LOOP


@dataclass
class House:
    """One hub for the facts of a version: each has sessions of its own, whose words hold their names."""

    hub: ServedHub
    model: SimModel
    place: Place
    remote: Remote

    def planning(self, name: str, folder: str = "") -> Planning:
        cwd = self.place.project / folder
        if folder and not cwd.exists():
            (cwd / ".claude").mkdir(parents=True)
            (cwd / "our-plans").mkdir()
            (cwd / ".claude" / "settings.json").write_text('{"plansDirectory": "./our-plans"}')
            give_away(cwd)
        return Planning(self, name, cwd)

    def made(self, name: str) -> bool:
        return (self.place.project / name).exists()

    async def killed(self) -> None:
        """The hub, with -9; the next one goes on."""
        await self.remote.close()
        self.hub.kill()
        self.remote = await self.hub.serve()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(cli_version: str) -> AsyncIterator[House]:
    with place() as here:
        async with SimModel() as model, served_hub(here, cli_version, model) as hub:
            (hub.folder / "config.toml").write_text("allow_bypass = true\n")
            yield House(hub, model, here, await hub.serve())


class Planning:
    """One session in plan mode, up to its plan's question; its words hold its name, so that no two are taken for each other."""

    def __init__(self, house: House, name: str, cwd: Path) -> None:
        self.house, self.model, self.name, self.cwd = house, house.model, name, cwd
        self.plan = f"# The plan of {name}\n1. Make a folder."
        self.wishes = [{"tool": "Bash", "prompt": f"git init {name}-ticked"}, {"tool": "Bash", "prompt": "run tests"}]
        self.ticked = AllowedPrompt(tool="Bash", prompt=f"git init {name}-ticked")
        self.session = ""

    @property
    def remote(self) -> Remote:
        return self.house.remote

    async def begin(self, **options: Any) -> str:
        """Where the CLI wants its plan."""
        self.model.add(Rule([reply("Looking.")], when=f"look around, {self.name}"))
        begun = await self.remote.start(
            str(self.cwd), prompt=f"look around, {self.name}", permission_mode="plan", options=SessionOptions(**options)
        )
        self.session = begun.id
        await turns(self.remote, self.session, 1)
        return str(PLAN_FILE.findall(json.dumps(self.calls()[-1].body))[-1])

    async def ask(self, *before: Reply, after: tuple[Reply | str, ...] = ("Done.",), **asked: Any) -> QuestionView:
        replies = [*before, reply(tool("ExitPlanMode", **asked)), *after]
        self.model.add(Rule([one if isinstance(one, Reply) else reply(one) for one in replies], when=f"draw it, {self.name}"))
        await self.remote.prompt(self.session, f"draw it, {self.name}")
        return await question_of(self.remote, self.session)

    async def planned(self, after: tuple[Reply | str, ...] = ("Done.",), *, bypass: bool = False, **asked: Any) -> QuestionView:
        path = await self.begin(allow_bypass=bypass)
        return await self.ask(reply(tool("Write", file_path=path, content=self.plan)), after=after, **asked)

    def calls(self) -> list[Asked]:
        return [one for one in self.model.requests if one.kind == "main" and self.name in json.dumps(one.body["messages"])]

    def edit(self) -> Reply:
        return reply(tool("Write", file_path=str(self.cwd / f"{self.name}.txt"), content="x"))

    async def seen(self, kind: type[Any]) -> list[Any]:
        return [one for one in await self.remote.events(self.session, limit=1000) if isinstance(one, kind)]

    async def answers_said(self) -> list[dict[str, Any]]:
        """What the CLI was told to its questions."""
        lines = [json.loads(one.line or "{}") for one in await self.remote.lines(self.session, limit=1000) if one.dir == "in"]
        return [one["response"]["response"] for one in lines if one["type"] == "control_response"]


@demand("003-22", "003-23", "003-36", "003-37", tag="real")
async def test_going_on_with_edits_accepted_and_what_was_ticked(house: House) -> None:
    """seed 003 (choice 2); measured (all): the plan goes back whole, edits are not asked, a ticked command is answered by our
    rule; /compact follows when the turn has ended"""
    remote = house.remote
    anna = house.planning("anna")
    question = await anna.planned((anna.edit(), command("git init anna-ticked"), "Done."), allowedPrompts=anna.wishes)
    assert question.plan and question.plan["text"] == anna.plan
    assert [one["rule"] for one in question.plan["requested"]] == ["Bash(git init anna-ticked)", None]
    await remote.answer(question.id, behavior="allow", plan="keep_edits", allowed_prompts=[anna.ticked], compact=True)
    await turns(remote, anna.session, 2)
    assert house.made("anna.txt") and house.made("anna-ticked")
    assert (await anna.answers_said())[0]["updatedInput"]["plan"] == anna.plan
    ruled = [(one.tool, one.behavior) for one in await anna.seen(VerdictGiven)]
    asked = [one.words for one in await anna.seen(QuestionOpened)]
    assert ruled == [("Bash", "allow")] and asked == ["Plan to review, 1 step"]

    async def compacted() -> bool:
        return bool(await anna.seen(ContextCompacted))

    await until(compacted, "compaction")
    kinds = [type(one).__name__ for one in await remote.events(anna.session, limit=1000)]
    assert kinds.index("ModeChanged") < kinds.index("ContextCompacted")


@demand("003-21", "003-22", "003-23", tag="real")
async def test_going_on_by_hand_asks_for_all_but_what_was_ticked(house: House) -> None:
    """seed 003 (choice 3); measured (all)"""
    remote = house.remote
    bert = house.planning("bert")
    question = await bert.planned((command("git init bert-ticked"), bert.edit(), "Done."), allowedPrompts=bert.wishes)
    await remote.answer(question.id, behavior="allow", plan="keep_ask", allowed_prompts=[bert.ticked])
    edit = await question_of(remote, bert.session)
    assert edit.tool == "Write" and house.made("bert-ticked")
    (given,) = await bert.seen(VerdictGiven)
    assert given.behavior == "allow" and "Bash(git init bert-ticked)" in given.because
    assert (await bert.answers_said())[0]["updatedInput"]["plan"] == bert.plan
    await remote.answer(edit.id, behavior="allow")
    await turns(remote, bert.session, 2)


@demand("003-11", "003-12", "003-13", "003-14", "003-15", tag="real")
async def test_a_fresh_start_outlives_the_hub_and_takes_along_what_was_ticked(house: House) -> None:
    """seed 003 (choice 1); measured (all): hub killed with -9 right behind the answer; only the plan is known, edits go
    unasked, the ticked command too"""
    remote = house.remote
    carl = house.planning("carl")
    house.model.add(Rule([carl.edit(), command("git init carl-ticked"), reply("All made.")], when="The plan of carl"))
    question = await carl.planned(allowedPrompts=carl.wishes)
    old = (await remote.get(carl.session)).cli_session
    await remote.answer(question.id, behavior="allow", plan="fresh", allowed_prompts=[carl.ticked])
    await house.killed()
    remote = house.remote

    async def made() -> bool:
        return (await turns(remote, carl.session, 2))[-1].text == "All made."

    await until(made, "the new conversation's end")
    assert house.made("carl.txt") and house.made("carl-ticked")
    fresh = next(one for one in carl.calls() if "Implement this plan" in one.prompt)
    assert fresh.prompt == f"Implement this plan:\n\n{carl.plan}"
    assert "look around" not in json.dumps(fresh.body["messages"]) and "draw it" not in json.dumps(fresh.body["messages"])
    view = await remote.get(carl.session)
    assert view.mode == "acceptEdits" and view.cli_session != old
    assert len(await carl.seen(ContextCleared)) == 1 and len(await carl.seen(QuestionOpened)) == 1


@demand("003-20", "003-14", tag="real")
@pytest.mark.parametrize("plan", ["keep_edits", "fresh"])
async def test_bypass_where_it_is_available_and_named(house: House, plan: str) -> None:
    """seed 003 (choices 1 and 2); measured (all): labelled so, and nothing is asked any more"""
    remote = house.remote
    dora = house.planning("dora" if plan == "fresh" else "dave")
    house.model.add(Rule([command(f"mkdir free-{plan}"), reply("All made.")], when=f"The plan of {dora.name}"))
    question = await dora.planned((command(f"mkdir free-{plan}"), "All made."), bypass=True)
    assert question.plan
    assert any(
        one["plan"] == plan and one["mode"] == "bypassPermissions" and "bypass" in one["words"] for one in question.plan["ways"]
    )
    await remote.answer(question.id, behavior="allow", plan=plan, mode="bypassPermissions", for_seconds=600)

    async def made() -> bool:
        return (await turns(remote, dora.session, 2))[-1].text == "All made."

    await until(made, "the end of the work")
    assert house.made(f"free-{plan}") and len(await dora.seen(QuestionOpened)) == 1
    assert (await remote.get(dora.session)).mode == "bypassPermissions"
    assert "bypassPermissions" in [one.mode for one in await dora.seen(ModeChanged)]


@demand("003-39", "003-42", tag="real")
async def test_two_sessions_that_plan_at_once_have_each_its_own_plan(house: House) -> None:
    """seed 003; measured (all): a plan that was written under another name is not in the question; it is read from the file
    that this session wrote, though another one is newer"""
    remote = house.remote
    emma, fred = house.planning("emma", "of-two"), house.planning("fred", "of-two")
    folder = Path(await emma.begin()).parent
    own = str(folder / "another-name.md")
    asked = await emma.ask(reply(tool("Write", file_path=own, content=emma.plan)))
    path = await fred.begin()
    assert asked.tool == "Write"  # it is not the file that the CLI named, so this is asked
    await remote.answer(asked.id, behavior="allow")
    first = await plan_of(emma)
    second = await fred.ask(reply(tool("Write", file_path=path, content=fred.plan)))
    assert first.plan and second.plan and "plan" not in _input(first)
    assert (first.plan["text"], second.plan["text"]) == (emma.plan, fred.plan) and first.plan["file"] == own
    await remote.answer(first.id, behavior="allow", plan="keep_ask")
    await remote.answer(second.id, behavior="allow", plan="keep_ask")
    for one in (emma, fred):
        await turns(remote, one.session, 2)
    told = json.dumps(fred.calls()[-1].body["messages"])
    assert "plan of fred" in told and "plan of emma" not in told


async def plan_of(one: Planning) -> QuestionView:
    async def look() -> QuestionView | None:
        return next((view for view in await one.remote.questions(session=one.session) if view.asks == "plan"), None)

    return await until(look, f"the plan of {one.name}")


def _input(view: QuestionView) -> Any:
    return json.loads(bytes(view.input)) if not isinstance(view.input, dict) else view.input


@demand("003-24", "003-26", "003-28", tag="real")
@demand("004-42", tag="real")
async def test_not_yet_with_pictures_or_an_outline_and_yes_to_a_plan_that_nobody_can_show(house: House) -> None:
    """seeds 003, 004; measured (all): words and picture are in the model's next call together; an outline is asked for in
    words; without a text yes leaves plan mode for default and no stays in it"""
    remote = house.remote
    gina = house.planning("gina")
    again = reply(tool("ExitPlanMode"))
    await gina.begin()
    first = await gina.ask(after=(again, again, reply("Outlined.")))
    assert first.plan and first.plan["text"] is None and first.line == "Plan to review"
    await remote.answer(first.id, behavior="deny", plan="revise", message="Like the xyzzy picture.", content=[image(PIXEL)])
    second = await question_of(remote, gina.session)
    call = gina.calls()[-1]
    assert len(call.images) == 1 and any("xyzzy" in words for words in call.results.values())
    await remote.answer(second.id, behavior="deny", message="No.")
    third = await question_of(remote, gina.session)
    assert (await remote.get(gina.session)).mode == "plan"
    await remote.answer(third.id, behavior="deny", plan="outline")
    await turns(remote, gina.session, 2)
    assert any("step by step" in words for words in gina.calls()[-1].results.values())
    assert (await remote.get(gina.session)).mode == "plan"

    iris = house.planning("iris")
    await iris.begin()
    await remote.answer((await iris.ask()).id, behavior="allow")
    await turns(remote, iris.session, 2)
    assert (await remote.get(iris.session)).mode == "default"


@demand("003-39", tag="real")
async def test_a_plan_in_a_configured_folder_is_found_there(house: House) -> None:
    """seed 003; measured (all): the CLI tells the model that folder; what was written there under another name is read"""
    remote = house.remote
    hugo, jane = house.planning("hugo", "of-hugo"), house.planning("jane", "of-jane")
    path = await hugo.begin()
    assert Path(path).parent == hugo.cwd / "our-plans"
    told = await hugo.ask(reply(tool("Write", file_path=path, content=hugo.plan)))
    assert told.plan and told.plan["text"] == hugo.plan
    await jane.begin()
    own = str(jane.cwd / "our-plans" / "another-name.md")
    asked = await jane.ask(reply(tool("Write", file_path=own, content=jane.plan)))
    assert asked.tool == "Write"
    await remote.answer(asked.id, behavior="allow")
    found = await plan_of(jane)
    assert found.plan and "plan" not in _input(found) and (found.plan["text"], found.plan["file"]) == (jane.plan, own)
