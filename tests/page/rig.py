"""A whole hub behind its page: SQLite, a runner, scripted CLIs, the web door. What happens in it is written below."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from ropewalk.servers.access import Access, open_access
from ropewalk.servers.web import Address, open_web
from tests.hub.house import House, Talk

TOTAL = """\
import { round } from "./money"

export function total(cart: Cart, tax: TaxClient) {
  return cart.lines.reduce((s, l) => s + round(l.net * tax.rate(l)), 0)
}
"""
OLD = "  return cart.lines.reduce((s, l) => s + round(l.net * tax.rate(l)), 0)\n"
NEW = "  const exact = cart.lines.map(l => tax.v2.gross(l.net, l.code))\n  return roundHalfEven(sum(exact), 2)\n"
MIGRATE = "cd db && npm run migrate -- --env local > /tmp/migrate.log"


@dataclass
class Place:
    """One life of a hub with its door open."""

    talk: Talk
    access: Access
    address: Address

    async def link(self, name: str = "Mia") -> str:
        """Signs a browser in, once."""
        return f"{self.address.url}/signin#{(await self.access.new_code(name)).code}"


@asynccontextmanager
async def opened(house: House, **settings: Any) -> AsyncIterator[Place]:
    house.settings |= settings
    async with AsyncExitStack() as stack:
        talk = await stack.enter_async_context(house.opened())
        access = await stack.enter_async_context(open_access(talk.hub, house.config))
        yield Place(talk, access, await stack.enter_async_context(open_web(talk.hub, access, house.config)))


def checkout(house: House) -> None:
    """A session as people have them: reading, an edit, a sub-agent, a test run, and then a question."""
    source = house.project / "src" / "checkout"
    source.mkdir(parents=True, exist_ok=True)
    (source / "total.ts").write_text(TOTAL)
    (house.project / "db").mkdir(exist_ok=True)
    reads: list[dict[str, Any]] = [
        {"tool": "Read", "input": {"file_path": f"{{cwd}}/src/checkout/{name}"}, "result": TOTAL, "ask": False}
        for name in ("total.ts", "cart.ts", "client.ts")
    ]
    house.rule(
        "Switch checkout",
        {"thinking": "Where are totals computed, and who rounds?"},
        {"text": "Totals are computed in one place, but **three callers** round on their own. "
         "I'll move rounding into `total.ts` first, so that the switch is one line."},
        *reads,
        {"tool": "Grep", "input": {"pattern": "applyTax"}, "result": "14 matches", "ask": False},
        {"tool": "Edit", "input": {"file_path": "{cwd}/src/checkout/total.ts", "old_string": OLD, "new_string": NEW},
         "result": "The file has been updated.", "ask": False},
        {"tool": "Agent", "input": {"description": "Find every caller of applyTax", "prompt": "Find every caller of applyTax.",
                                    "subagent_type": "Explore", "run_in_background": False}, "ask": False,
         "agent": [{"tool": "Grep", "input": {"pattern": "applyTax"}, "result": "14 matches", "ask": False},
                   {"text": "14 callers, 3 of them round twice: `cart.ts:88`, `refund.ts:31`, `quote.ts:112`."}]},
        {"tool": "Bash", "input": {"command": "npm test -- checkout", "description": "Run the tests"}, "ask": False,
         "result": "Test Files  6 passed (6)\n     Tests  48 passed (48)"},
        {"text": "The unit tests agree to the cent. The new client needs two columns on `tax_lines`, "
         "so I'll run the migration on the local database."},
        {"tool": "Bash", "input": {"command": MIGRATE, "description": "Apply the tax_lines migration locally"}, "ask": True,
         "result": "Applied 0042_tax_lines.sql (migration 42)", "if_denied": [{"text": "Then I leave it: {reason}"}]},
        {"text": "Applied. Verdict: {verdict}"},
    )  # fmt: skip


def questions(house: House) -> None:
    """One prompt for each kind of question."""
    views = [
        {"label": "Keep it", "description": "One release, then drop"},
        {"label": "Drop now", "description": "Nobody reads it"},
    ]
    reports = [{"label": "Revenue", "description": ""}, {"label": "VAT", "description": ""}]
    asked = [
        {"question": "Keep the old view for a release?", "header": "View", "options": views},
        {"question": "Which reports should I check?", "header": "Reports", "multi": True, "options": reports},
    ]
    house.rule("keep the old view", {"ask": asked}, {"text": "You said {answer}"})
    plan = "# Fix the flaky test\n\n1. Reproduce with 200 runs\n2. Replace `sleep(0.1)` by the ready event\n3. Run **all**"
    wishes = [{"tool": "Bash", "prompt": "npm test"}]
    step = {"plan": plan, "allowed_prompts": wishes, "if_denied": [{"text": "I plan again: {reason}"}]}
    house.rule("flaky", step, {"text": "Now in mode {mode}."})
    house.rule("make a file", {"tool": "Bash", "input": {"command": "touch made.txt", "description": "Make a file"}, "ask": True,
                               "if_denied": [{"text": "Refused: {reason}"}]}, {"text": "Made."})  # fmt: skip
    house.rule("edit it", {"tool": "Edit", "input": {"file_path": "{cwd}/src/checkout/total.ts", "old_string": OLD,
                           "new_string": NEW}, "ask": True, "result": "Changed."}, {"text": "Edited."})  # fmt: skip
    house.rule("odd tool", {"tool": "NewTool", "input": {"what": "this", "deep": {"a": [1, 2]}}, "ask": True}, {"text": "Used."})
