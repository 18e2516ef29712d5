"""The one crossing: commands in, feed out, views. Kept before told: no listener hears what a restart would forget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from .. import __version__
from ..errors import ConditionFailed
from ..events import views as v
from ..events.commands import Principal
from ..sessions.roster import Roster
from ..sessions.world import World
from ..store.base import Change, Condition, Entry, Health, More, Stored, put
from ..store.rows import TokenRow
from ..transports.runner import ProcessReport
from .auditing import Auditing
from .calls import Listener, Subscription
from .claude import Claude
from .feed import LISTED, Feed
from .once import Once
from .reading import LOCAL, allow
from .rules_file import RulesFile
from .shown import token_values
from .sweep import Sweep
from .verbs import Verbs
from .watch import Watch


class Telling:
    """What sessions tell, on its way to the feed. Made before the feed, since the world needs it first."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def stored(self, session: str, stored: Stored) -> None:
        feed = self._feed
        if feed.heard(session):
            feed.publish(session, [(event.seq, body) for event, body in zip(stored.entry.events, stored.bodies, strict=True)])
        if feed.every:
            feed.publish_list(
                session,
                [
                    (kind, event.seq, body)
                    for event, body in zip(stored.entry.events, stored.bodies, strict=True)
                    if (kind := str(type(event).__struct_config__.tag)) in LISTED  # type: ignore[attr-defined]
                ],
            )

    def live(self, session: str, events: list[bytes]) -> None:
        self._feed.publish_live(session, events)

    def heard(self, session: str) -> bool:
        return self._feed.heard(session)


class Hub(Verbs, Auditing):
    """Use it as a context: entered, it has taken over what an earlier life left; left, nothing of it runs on here."""

    def __init__(self, world: World, roster: Roster, feed: Feed, claude: Claude) -> None:
        super().__init__(world.store, roster)
        self.world, self.feed, self.claude = world, feed, claude
        self.once = Once(world.store, world.clock, world.tasks)
        self.started_at = world.clock()
        self.rules_file = RulesFile(world.config.rules, world.rules)
        self._watch = Watch(roster, claude, self.rules_file)
        self._sweep = Sweep(world.store, world.config, world.clock, world.tasks)
        self._token_listeners: list[Callable[[], None]] = []
        self._sick: Health | None = None
        self._runner_since = world.clock()
        self._unwatch: Callable[[], None] = lambda: None

    async def __aenter__(self) -> Self:
        self._unwatch = self.store.watch(self._health_changed)
        await self.once.forget_unfinished()
        self.rules_file.look()
        self.world.tasks.start(self.roster.recover())
        self.world.tasks.start(self._watch.run())
        self.world.tasks.start(self._sweep.run())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._unwatch()

    # -- hearing

    async def subscribe(self, who: Principal, session: str, after: int, listener: Listener) -> Subscription:
        allow(who, "watch")
        return self.feed.subscribe(await self.whole_id(session), after, listener)

    async def subscribe_all(self, who: Principal, listener: Listener) -> Subscription:
        allow(who, "watch")
        return self.feed.subscribe_all(listener)

    # -- how it stands

    def _health_changed(self, health: Health) -> None:
        recovered = self._sick is not None and health.well
        self._sick = None if health.well else health
        if recovered:
            self.world.tasks.start(self.world.rules.look_again())
            for session in list(self.roster.awake.values()):
                session.pump()

    def runner_up(self, reports: list[ProcessReport]) -> None:
        self._runner_since = self.world.clock()
        self.roster.runner_up(reports)

    def runner_down(self, why: str, start_again: Callable[[], None]) -> None:
        self._runner_since = self.world.clock()
        self.roster.runner_down(why)
        start_again()

    def health(self) -> v.Health:
        link = self.world.link
        store = self._sick.why if self._sick else "ok"
        runner = "ok" if link.up else "the runner is not heard; sessions wait for it"
        troubles = [words for words in (store, runner, self.rules_file.why or "ok") if words != "ok"]
        return v.Health(
            state="degraded" if troubles else "ok", why=" ".join(troubles), version=__version__, store=store, runner=runner,
            claude=self.claude.words, claude_found=self.claude.found is not None, sim=self.world.config.sim,
            sessions=len(self.roster.awake), open_questions=sum(len(one.desk.open) for one in self.roster.awake.values()),
            started_at=self.started_at,
        )  # fmt: skip

    def figures(self) -> dict[str, float]:
        awake = self.roster.awake.values()
        return {
            "sessions_awake": len(awake),
            "processes": self.world.slots.alive,
            "turns_running": self.world.slots.running,
            "questions_open": sum(len(session.desk.open) for session in awake),
            "prompts_waiting": sum(len(session.queue) for session in awake),
            "listeners": self.feed.listeners,
            "events_told_total": self.feed.told,
            "store_well": float(self._sick is None),
            "runner_up": float(self.world.link.up),
            "memory_of_processes_bytes": sum(session.accounts[1] for session in awake if session.accounts),
        }

    async def runners(self, who: Principal) -> list[v.RunnerView]:
        allow(who, "watch")
        link = self.world.link
        counted = [session.accounts for session in self.roster.awake.values() if session.accounts]
        welcome = link.welcome
        return [
            v.RunnerView(
                id=LOCAL, name="this machine", state="live" if link.up else "lost", since=self._runner_since,
                pid=welcome.pid if welcome else None, version=welcome.version if welcome else "",
                processes=self.world.slots.alive, children=sum(one[0] for one in counted), memory=sum(one[1] for one in counted),
                why=welcome.trouble if welcome else "",
            )
        ]  # fmt: skip

    # -- tokens

    async def token_rows(self) -> list[dict[str, Any]]:
        return [token_values(row) for row in await self.store.find(TokenRow, limit=100_000)]

    async def put_token(self, row: dict[str, Any]) -> None:
        await self.store.append(Entry(rows=[put(TokenRow(**row))]))
        self._tokens_changed()

    async def change_token(self, token: str, **values: Any) -> bool:
        where: dict[str, Condition] = {"uses_left": More(0)} if values.get("uses_left") == 0 else {}
        try:
            await self.store.append(Entry(rows=[Change("token", {"id": token}, values, where)]))
        except ConditionFailed:
            return False
        self._tokens_changed()
        return True

    def on_tokens_changed(self, tell: Callable[[], None]) -> None:
        self._token_listeners.append(tell)

    def _tokens_changed(self) -> None:
        for tell in self._token_listeners:
            tell()
