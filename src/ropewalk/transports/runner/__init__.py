"""The hub's side of a runner: the link to it, who hears its lines, and how a local one is started. Nothing is defined here."""

from __future__ import annotations

from ropewalk.transports.frames import Account, FileStat, ProcessReport
from ropewalk.transports.runner.link import RunnerLink
from ropewalk.transports.runner.local import LocalRunner, spawn_local_runner
from ropewalk.transports.runner.receiver import LinesReceiver, Started
from ropewalk.transports.runner.remote_files import FileText, Listing

__all__ = [
    "Account",
    "FileStat",
    "FileText",
    "LinesReceiver",
    "Listing",
    "LocalRunner",
    "ProcessReport",
    "RunnerLink",
    "Started",
    "spawn_local_runner",
]
