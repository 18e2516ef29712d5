"""A hub that runs in the background: started, waited for, stopped. Refuses to start a second one, and to stop what is no hub."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ..config import Config
from ..errors import HubError, HubUnreachable
from .found import Found, find_hub, is_alive, read_address

START = 20.0
"""Seconds until a hub that does not say where it is counts as broken."""
STOP = 30.0
STEP = 0.05


class PortTaken(HubError):
    """Something else listens where the hub would."""

    code = "port_taken"


def start_hub(config: Config, *words: str) -> Found:
    """A hub of its own session, its talk in its log; returns when it can be asked. Raises ``HubError`` with its last words."""
    try:
        config.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        began = config.log_file.stat().st_size if config.log_file.exists() else 0
        log = os.open(config.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise HubError(
            f"the hub's folder {config.home} can't be used: {error.strerror}; name another one by ROPEWALK_HOME"
        ) from None
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "ropewalk", "serve", *words],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
        )  # fmt: skip
    finally:
        os.close(log)
    end = time.monotonic() + START
    while time.monotonic() < end:
        address = read_address(config)
        if address is not None and address.pid == process.pid:
            return find_hub(config)
        if process.poll() is not None:
            return _other_or_words(config, began, process.returncode)
        time.sleep(STEP)
    process.kill()
    process.wait()
    raise HubUnreachable(f"the hub did not start within {START:.0f} s; its words are in {config.log_file}")


def _other_or_words(config: Config, began: int, code: int) -> Found:
    """It ended: because another one was quicker, or for a reason that it said."""
    try:
        return find_hub(config)
    except HubUnreachable:
        said = last_words(config.log_file, began)
        if "taken" in said and "port" in said:
            raise PortTaken(said) from None
        raise HubError(f"the hub did not start: {said or f'it ended with {code}'}") from None


def last_words(log: Path, began: int) -> str:
    with log.open("rb") as said:
        said.seek(began)
        lines = [line.strip() for line in said.read().decode("utf-8", "replace").splitlines() if line.strip()]
    spoken = [line for line in lines if line.startswith("ropewalk: ")] or lines
    return spoken[-1].removeprefix("ropewalk: ") if spoken else ""


def stop_hub(config: Config) -> int | None:
    """Ask the hub to end and wait until it has; its pid. None: none runs. Turns under way go on in the runner."""
    address = read_address(config)
    if address is None or not is_alive(address.pid) or not _is_ours(address.pid):
        return None
    os.kill(address.pid, signal.SIGTERM)
    end = time.monotonic() + STOP
    while is_alive(address.pid):
        if time.monotonic() > end:
            raise HubError(f"the hub (pid {address.pid}) does not end; look into {config.log_file}")
        time.sleep(STEP)
    return address.pid


def _is_ours(pid: int) -> bool:
    """Not another program that has the pid of a hub that died."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return True  # no /proc here: the address file is all that we know
    return any(b"ropewalk" in word for word in words)
