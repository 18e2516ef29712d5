"""The caller's callbacks for what happens. Refuses to be stopped by them: one that raises is logged, and reading goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import SessionGone
from .mailbox import Told
from .options import ClientOptions

log = logging.getLogger("ropewalk.client")


class Callbacks:
    """Each is called when it was given, in the event loop."""

    __slots__ = ("_options",)

    def __init__(self, options: ClientOptions) -> None:
        self._options = options

    def connected(self) -> None:
        _call(self._options.on_connected)

    def disconnected(self, gone: SessionGone) -> None:
        _call(self._options.on_disconnected, gone)

    def error(self, error: Exception) -> None:
        _call(self._options.on_error, error)

    def messages(self, messages: Iterable[Told]) -> None:
        if self._options.on_message is not None:
            for message in messages:
                _call(self._options.on_message, message)


def _call(function: Callable[..., None] | None, *told: Any) -> None:
    if function is not None:
        try:
            function(*told)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # others than Exception too: they would cost the rest of the messages
            log.exception("a callback failed")
