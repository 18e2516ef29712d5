"""``interrupt``, ``stop``, ``wake``: the turn and the process of a session. Refuses to say done before the hub has said it."""

from __future__ import annotations

from ...events.views import Receipt
from ..relay.stopping import stop_shown
from ..statuses import why_of, word_of
from .asking import Asking


async def interrupt(asking: Asking, word: str) -> int:
    view = await asking.session(word)
    return _told(asking, await asking.remote.interrupt(view.id), "interrupted")


async def stop(asking: Asking, word: str, patience: float) -> int:
    view = await asking.session(word)
    if view.status == "stopped" and view.process is None:
        return _told(asking, Receipt(message="it was stopped already"), "")
    return _told(asking, await stop_shown(asking.remote, view.id, asking.screen, patience), "stopped")


async def wake(asking: Asking, word: str) -> int:
    view = await asking.session(word)
    woken = await asking.remote.wake(view.id)
    if asking.as_json:
        asking.object(woken)
    elif not asking.ids_only:
        asking.screen.row(f"{word_of(woken.status).word}: {why_of(woken)}")
    return 0


def _told(asking: Asking, receipt: Receipt, done: str) -> int:
    if asking.as_json:
        asking.object(receipt)
    elif not asking.ids_only:
        asking.screen.row(receipt.message or done)
    return 0 if receipt.ok else 1
