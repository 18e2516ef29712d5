"""How the hub keeps its own log: one line a fact, on stderr. Refuses words of people and values of variables.

A traceback with its variables would hold prompts, and an exception's own words may: what went wrong is told by its type and
places, its words go to the level debug alone.
"""

from __future__ import annotations

import logging
import sys
import traceback

import structlog

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def set_up(level: str) -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS.get(level, logging.INFO)),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def failure(error: BaseException) -> dict[str, object]:
    """What of an exception may be logged: its type, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}:{frame.name}" for frame in frames]
    return {"error": type(error).__name__, "at": " ".join(places)}
