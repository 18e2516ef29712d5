"""What the flags of ``answer`` say, before any question is looked at. Refuses verdicts that can't be meant together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import UsageError

PLANS = {
    "fresh": "fresh", "keep-edits": "keep_edits", "keep-ask": "keep_ask", "revise": "revise", "outline": "outline",
    "stop": "stop",
}  # fmt: skip

YES = {"choice": "--choose", "plan": "--plan"}
"""What takes the place of ``--allow``."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the flags say."""

    allow: bool = False
    deny: str | None = None
    stop: bool = False
    choose: Sequence[str] = ()
    plan: str | None = None
    words: str | None = None
    suggestion: int | None = None
    edit: bool = False
    no_input: bool = False
    session: bool = False
    always: bool = False
    where: str | None = None
    """Of ``--always``: ``folder``, ``everywhere``, or a folder above the session's."""
    rules: Sequence[str] = ()
    seconds: float | None = None
    uses: int | None = None
    yes: bool = False

    def check(self) -> None:
        """Raises ``UsageError`` for what can't be meant together."""
        allows = self.allow or self.suggestion is not None or self.grants
        named = [allows, self.deny is not None, bool(self.choose), self.plan is not None]
        self._check_grant()
        if sum(named) > 1:
            raise UsageError("--allow, --deny, --choose and --plan are different answers: choose one")
        if self.plan is not None and self.plan not in PLANS:
            raise UsageError(f"--plan has no {self.plan!r}; there are {', '.join(PLANS)}")
        if self.plan == "revise" and not self.words:
            raise UsageError('--plan revise needs words for Claude: ropewalk answer ID --plan revise "also the tests"')
        if self.words and self.plan != "revise":
            raise UsageError("words go with --plan revise; a reason goes with --deny")
        if self.stop and self.deny is None:
            raise UsageError('--stop goes with --deny "reason"')
        if self.edit and (any(named[1:]) or self.grants):
            raise UsageError("--edit opens the card with your version of it, which runs once: leave the other answers out")

    def _check_grant(self) -> None:
        if self.session and self.always:
            raise UsageError("--session ends with the session and --always does not: choose one")
        if self.grants and self.suggestion is not None:
            raise UsageError(
                "--suggestion hands claude's own offer back to it; --session and --always make rules of ours: choose one"
            )
        if self.where is not None and not self.always:
            raise UsageError("--in says where --always holds: add --always")
        if not self.grants and (self.rules or self.seconds or self.uses or self.yes):
            raise UsageError("--rule, --for, --uses and --yes are about what is granted: add --session or --always")

    @property
    def grants(self) -> bool:
        """Rules of ours are made with it."""
        return self.session or self.always

    @property
    def given(self) -> bool:
        named = self.allow or self.grants or self.suggestion is not None or self.deny is not None
        return bool(named or self.choose or self.plan) and not self.edit
