"""What was asked before, as the audit keeps it, for rules that are tried on it. Refuses to decide anything again for real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ..events import views as v
from ..permissions.request import Context, Request
from ..permissions.rules import Rule
from ..permissions.tried import Difference, Past, Trial, matches
from ..sessions.asked import line_of
from ..sessions.verdicts import KeptContext
from ..store.base import Store
from ..store.rows import VerdictRow

SHOWN = 200
"""Lines of a trial that are listed; all are counted."""

_context = msgspec.json.Decoder(KeptContext)


async def past_of(store: Store, last: int) -> list[Past]:
    """The newest first."""
    rows = await store.find(VerdictRow, {}, order="at", newest=True, limit=last)
    return [past(row) for row in rows if row.cwd]


def past(row: VerdictRow) -> Past:
    kept = _context.decode(row.context)
    decided: Literal["allow", "deny", ""] = row.behavior if row.because_kind == "person" else ""  # type: ignore[assignment]
    given = msgspec.json.decode(row.input)
    request = Request(row.tool, given if isinstance(given, dict) else {}, row.cwd, kept.interaction)
    context = Context(root=kept.root, home=kept.home, resolved=kept.resolved, folders=kept.folders, session=kept.session)
    return Past(request, context, decided, row.by, f"{row.id} {row.session} {row.at}")


def matched(texts: Sequence[Rule], past: Sequence[Past]) -> v.Matches:
    """What these rules together would have had a say in."""
    found = {one.ref: one for rule in texts for one in matches(rule, past)}
    return v.Matches(total=len(found), denied=sum(one.decided == "deny" for one in found.values()), of=len(past))


def trial_view(trial: Trial, rule: Rule, past: Sequence[Past]) -> v.TrialView:
    changed = [*trial.more, *trial.denied, *trial.fewer]
    return v.TrialView(
        total=trial.total, more=len(trial.more), fewer=len(trial.fewer), denied=len(trial.denied),
        matches=matched([rule], past).total, conflicts=[_line(one) for one in trial.conflicts[:SHOWN]],
        lines=[_line(one) for one in changed[:SHOWN]], words=trial.words(),
    )  # fmt: skip


def _line(one: Difference) -> v.TrialLine:
    request = one.past.request
    verdict, session, at = one.past.ref.split(" ")
    return v.TrialLine(
        what=line_of(request.tool, request.input, request.cwd), tool=request.tool, before=one.before.behavior,
        after=one.after.behavior, decided=one.past.decided, by=one.past.by, at=float(at), verdict=verdict, session=session,
    )  # fmt: skip
