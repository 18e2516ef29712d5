"""Notices at once that a reader left its loop. Refuses to act in another thread: there the event loop's own way is slow but safe.

asyncio closes a generator that was let go of in a task of its own, and that runs after whatever the reader does next: a next
prompt would overtake the interrupt of the turn that was left. A weak reference hears of it in the very moment.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Watch:
    """Lives in the generator's own frame, and holds the reference that hears of its end."""

    __slots__ = ("reference",)

    reference: weakref.ref[Any]


def watched(read: Callable[[Watch], AsyncGenerator[T, None]], left: Callable[[], None]) -> AsyncGenerator[T, None]:
    """The generator that ``read`` makes; ``left`` is called when it is let go of, as by ``break``, in the loop's own thread."""
    loop = _running_loop()
    watch = Watch()
    generator = read(watch)

    def let_go(_: object) -> None:
        if loop is not None and _running_loop() is loop:
            left()

    watch.reference = weakref.ref(generator, let_go)
    return generator


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
