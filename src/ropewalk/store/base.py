"""The contract of every store: one way to write (``append``), and readers. Refuses to know what an event means.

Writing. ``append`` takes an ``Entry``: events, lines and changes of rows that are true together. It is stored whole or not at
all, and heard of (``on_stored``, or the future) only when it is on the disk. Entries are stored and told in the order in which
they were appended. ``append`` never waits; call it from the event loop that opened the store.

What bounds the memory. Nothing refuses a fact that a CLI has said: an entry with ``keep`` is always taken. What is bounded is
what a runner may send beyond what it was told is stored: acknowledge a line to it only from ``on_stored``, and a sick or slow
disk stops the flow by itself. ``full`` says that more than ``queue_bytes`` wait here: from then on commands (entries without
``keep``) fail at once, and whoever can hold back (live sources other than a runner) should, until ``on_room``.

When the disk is sick. ``health`` says so, with a sentence. Entries without ``keep`` fail at once with ``StoreUnavailable``;
entries with it wait, in order, and are tried again until they are stored. Nothing is told meanwhile. A command that failed so
is *not known* to be stored: after a kill in that moment it may be found; repeated with its client_id it is the same command.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import StructConfig

from ropewalk.store.rows import TABLES, SessionRow, TableRow, VerdictRow

Direction = Literal["in", "out"]
"""Seen from the CLI: ``in`` is what we wrote to it, ``out`` what it said."""

Row = TypeVar("Row", bound=TableRow)


class EventLike(Protocol):
    """An event as far as a store knows it: a mutable msgspec struct whose tag is its kind. ``seq`` is given by the store."""

    session: str
    seq: int
    at: float

    @property
    def __struct_config__(self) -> StructConfig: ...


# --- what can be written -------------------------------------------------------------------------------------------------


class SeqOf(Struct, frozen=True):
    """As a value: the seq that the entry's event number ``index`` will get."""

    index: int = 0


class Plus(Struct, frozen=True):
    """As a value in ``Change.set``: what stands there (nothing counts as 0) and this much more."""

    amount: float


class More(Struct, frozen=True):
    """As a condition: greater than."""

    than: float | str


class Less(Struct, frozen=True):
    """As a condition: less than."""

    than: float | str


Value = str | int | float | bool | bytes | list[str] | SeqOf | Plus | None
"""Text is cleaned on its way in (see ``cleaned``), integers are held to 64 bits, a list is kept as JSON."""

Condition = str | int | float | bool | bytes | tuple[str, ...] | tuple[int, ...] | More | Less | None
"""Equal to; a tuple: one of; None: is not set."""


class Put(Struct):
    """A new row. One with its key, or another unique column, there already fails the entry with ``ConditionFailed``.

    ``over``: then its other columns are overwritten instead.
    """

    table: str
    values: Mapping[str, Value]
    over: bool = False


class Change(Struct):
    """Set columns of the rows that ``key`` and ``where`` name. None there fails the entry with ``ConditionFailed``, if ``must``.

    ``key`` names them, ``where`` is the condition; they differ only in what the error says.
    """

    table: str
    key: Mapping[str, Condition]
    set: Mapping[str, Value]
    where: Mapping[str, Condition] = {}
    must: bool = True


class Remove(Struct):
    """Delete the rows that ``key`` and ``where`` name; as ``Change``, otherwise."""

    table: str
    key: Mapping[str, Condition]
    where: Mapping[str, Condition] = {}
    must: bool = True


RowChange = Put | Change | Remove


def put(row: TableRow, over: bool = False) -> Put:
    """A row struct as a ``Put`` of all its columns."""
    return Put(row.table, {name: getattr(row, name) for name in row.__struct_fields__}, over)


class Line(Struct):
    """One line of a process, verbatim, without its line feed. ``n`` counts each direction from 1; ``out`` may have gaps."""

    process: str
    dir: Direction
    n: int
    at: float
    raw: bytes


class Stored(Struct):
    """An entry that is on the disk. ``bodies`` are its events as JSON, encoded once, parallel to ``entry.events``.

    ``replayed``: its line had been stored before; nothing was added, ``bodies`` is empty, its events were given no seq.
    """

    entry: Entry
    bodies: list[bytes]
    replayed: bool = False


class Entry(Struct):
    """What is true together. ``session`` is that of all its events; empty for rows that belong to none.

    ``epoch``: by which this writer owns the session; lower than the stored one is ``Fenced``. 0 is not checked.
    ``process`` and ``line_no``: the one line that the events come from. Heard again (a runner replays what was not
    acknowledged) the whole entry is skipped. One entry a line, then; its ``Line`` goes into ``lines`` where lines are kept.
    ``parts``: the entry is a run of lines instead, all of them in ``lines``, ``line_no`` the first; so many events come from
    each, in order. What of a run was stored before is taken out of the entry, and only the rest is stored and told.
    """

    session: str = ""
    epoch: int = 0
    events: Sequence[EventLike] = ()
    rows: Sequence[RowChange] = ()
    lines: Sequence[Line] = ()
    process: str | None = None
    line_no: int | None = None
    parts: Sequence[int] = ()
    keep: bool = False
    """A fact, not a wish: it waits while the disk is sick."""
    on_stored: Callable[[Stored], None] | None = None
    """Called on the loop after the commit. Fast: no future is made for it by ``post``."""
    on_failed: Callable[[Exception], None] | None = None


# --- how it stands -------------------------------------------------------------------------------------------------------

HealthState = Literal["well", "full", "read_only", "locked", "failing", "replaced", "corrupt"]


class Health(Struct, frozen=True):
    """Whether what is appended gets stored. ``why`` is a sentence for a person, empty when well; ``since`` is a clock time."""

    state: HealthState
    why: str
    since: float

    @property
    def well(self) -> bool:
        return self.state == "well"


class Searchable(Struct, frozen=True):
    """What of an event can be searched for, and is shown as its hit."""

    text: str
    tool: str = ""
    path: str = ""


Searched = Mapping[str, Callable[[bytes], Searchable | None]]
"""By kind of event: its stored body → what can be searched for in it. Kinds that are not here are not searched."""


# --- what readers are asked, and answer ----------------------------------------------------------------------------------


class SessionFilter(Struct, kw_only=True, frozen=True):
    """Which sessions. ``text`` is looked for in title, folder, tags, last prompt and the beginning of the id."""

    status: tuple[str, ...] = ()
    text: str = ""
    archived: bool | None = False
    folder: str = ""
    runner: str = ""
    tag: str = ""
    limit: int = 100
    cursor: str = ""


class SessionPage(Struct):
    """Changed last, first. ``cursor`` asks for the next page; empty: that was the last."""

    sessions: list[SessionRow]
    cursor: str


class StoredEvent(Struct):
    """An event with where it came from."""

    session: str
    seq: int
    kind: str
    at: float
    body: bytes
    process: str | None
    line_no: int | None


class StoredLine(Struct):
    """``cursor`` orders the conversation of a session: give the last one as ``after``. It can pass 2^53: text, in JSON."""

    cursor: int
    process: str
    dir: Direction
    n: int
    at: float
    raw: bytes


class LastLines(Struct, frozen=True):
    """The highest numbers of a process that are stored; 0: none."""

    out: int
    in_: int


class Search(Struct, kw_only=True, frozen=True):
    """``text``: words that must all be there, "in quotes" one after the other; the last word may be a beginning."""

    text: str
    session: str = ""
    tool: str = ""
    path: str = ""
    kinds: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    limit: int = 50
    cursor: int = 0


class Place(Struct, frozen=True):
    """Where one stands in what is read newest first: two of the same moment differ by their key."""

    at: float
    key: int


class Hit(Struct):
    """One event that matches. ``found`` is its searchable text: where the words stand in it is for the asker to mark."""

    session: str
    seq: int
    kind: str
    at: float
    found: Searchable


class SearchPage(Struct):
    """Newest session first, newest event of it first. ``cut``: the time for one search ran out, there may be more.

    ``cursor``: give it for the next page; 0: that was the last. ``behind``: events that the index does not hold yet.
    """

    hits: list[Hit]
    cursor: int
    cut: bool
    behind: int


class Given(Struct, kw_only=True, frozen=True):
    """Which verdicts, newest first. ``who``, ``door``: of the answer, or of whoever made the rule that answered.

    ``before``: the place of the last one of the page before.
    """

    session: str = ""
    tool: str = ""
    tool_use: str = ""
    behavior: str = ""
    kinds: tuple[str, ...] = ()
    who: str = ""
    door: str = ""
    text: str = ""
    """Looked for in what was asked, without regard to case."""
    since: float | None = None
    until: float | None = None
    before: Place | None = None
    limit: int = 100


class Latest(Struct, kw_only=True, frozen=True):
    """Which events of one kind, newest first. Quick for ``tool_finished``, which has an index by time; else for one session."""

    kind: str
    session: str = ""
    since: float | None = None
    until: float | None = None
    before: Place | None = None
    limit: int = 100


class Usage(Struct):
    """What turns cost. ``unknown``: how many of them have no known cost."""

    name: str
    """The day (YYYY-MM-DD, UTC), model, folder or session."""
    turns: int
    cost_usd: float
    unknown: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int


class Away(Struct):
    """What happened in a session since a moment: how many events of each kind, from which seq on."""

    session: SessionRow
    first_seq: int
    kinds: dict[str, int]


class Size(Struct, frozen=True):
    """How much there is. ``waiting``: bytes appended and not stored yet; ``unindexed``: events that search does not know yet."""

    file_bytes: int
    sessions: int
    waiting: int
    unindexed: int


class Journal(Protocol):
    """The only way to write."""

    @property
    def health(self) -> Health: ...

    @property
    def full(self) -> bool:
        """More waits here than ``queue_bytes``."""

    def append(self, entry: Entry) -> asyncio.Future[Stored]:
        """Store it. The future ends after the commit, or with ``ConditionFailed``, ``Fenced`` or ``StoreUnavailable``."""

    def post(self, entry: Entry) -> None:
        """As ``append`` without a future: ``on_stored`` or ``on_failed`` is called. Without the latter, a failure goes to the
        loop's exception handler."""

    def watch(self, on_health: Callable[[Health], None], on_room: Callable[[], None] | None = None) -> Callable[[], None]:
        """Hear every change of ``health``, and when ``full`` is over. Returns what ends it."""

    async def raise_epochs(self, owner: str = "") -> dict[str, int]:
        """At start: take every session. Returns the new epoch of each; entries with a lower one are ``Fenced`` from now on."""

    async def settled(self) -> None:
        """Wait until all that was appended so far is stored or has failed. Waits as long as a sick disk does."""


class Views(Protocol):
    """The readers. They see what is committed, never block the writer, and raise ``StoreUnavailable`` where the disk does."""

    async def get(self, kind: type[Row], *key: str | int) -> Row | None:
        """One row by its key: ``get(SessionRow, id)``, ``get(CommandRow, principal, client_id)``."""

    async def find(
        self,
        kind: type[Row],
        where: Mapping[str, Condition] | None = None,
        *,
        order: str = "",
        newest: bool = False,
        limit: int = 1000,
    ) -> list[Row]:
        """Rows that match all conditions, ordered by a column (``newest``: backwards), else in the order they came in."""

    async def sessions(self, asked: SessionFilter) -> SessionPage: ...

    async def events(
        self, session: str, after: int = 0, limit: int = 500, *, kinds: Sequence[str] = (), most: int = 0
    ) -> list[tuple[int, bytes]]:
        """``(seq, body)`` of those with seq > ``after``, in order; the body is what was told. An unknown session has none.

        ``most``: the page ends with the event that goes past so many bytes.
        """

    async def last_events(
        self, session: str, limit: int = 500, *, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[tuple[int, bytes]]:
        """The last ones (with seq < ``before``), in ascending order."""

    async def event(self, session: str, seq: int) -> StoredEvent | None: ...

    async def verdicts(self, asked: Given) -> list[tuple[Place, VerdictRow]]: ...

    async def judged(self, calls: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Of these calls, as (session, tool_use), those that a verdict is about."""

    async def latest(self, asked: Latest) -> list[tuple[Place, StoredEvent]]: ...

    async def lines(self, session: str, after: int = 0, dir: Direction | None = None, limit: int = 500) -> list[StoredLine]:
        """The wire of a session over all its processes, in the order of the conversation; ``after`` is a line's ``cursor``."""

    async def line(self, process: str, n: int, dir: Direction = "out") -> StoredLine | None: ...

    async def last_lines(self, process: str) -> LastLines: ...

    def conversation(self, process: str) -> AsyncIterator[StoredLine]:
        """Every stored line of a process, both directions, in order: what a Connection is rebuilt from."""

    async def search(self, asked: Search) -> SearchPage: ...

    async def usage(
        self, by: Literal["day", "model", "folder", "session"], since: float | None = None, until: float | None = None
    ) -> list[Usage]:
        """Sums over turns; days in order, the others dearest first."""

    async def away(self, after: float, limit: int = 100) -> list[Away]:
        """The sessions that changed since then, changed last first. At most the last 10,000 events of each are counted."""

    async def size(self) -> Size: ...


class Store(Journal, Views, Protocol):
    """Both. Opened by ``sqlite.open_store(path)`` or ``memory.open_memory()``, which are async context managers."""


def cleaned(text: str) -> str:
    """Text that every store takes: a lone surrogate or a NUL becomes U+FFFD; two halves that belong together become one."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")


__all__ = [
    "TABLES", "Away", "Change", "Condition", "Direction", "Entry", "EventLike", "Given", "Health", "HealthState", "Hit",
    "Journal", "LastLines", "Latest", "Less", "Line", "More", "Place", "Plus", "Put", "Remove", "RowChange", "Search",
    "SearchPage", "Searchable", "Searched", "SeqOf", "SessionFilter", "SessionPage", "Size", "Store", "Stored", "StoredEvent",
    "StoredLine", "Usage", "Value", "Views", "cleaned", "put",
]  # fmt: skip
