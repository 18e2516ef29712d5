"""``ropewalk serve``: the hub in this terminal, in the background, or stopped. Refuses to be the hub: ``daemon`` is."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...config import Config, load
from ...errors import Conflict, HubUnreachable, StoreRefused, UsageError
from ..background import start_hub, stop_hub
from ..codes import INSTALL
from ..found import find_hub, is_alive, read_address
from ..home import home_path
from ..safe import one_line

if TYPE_CHECKING:
    from ...daemon import Ready

GOES_ON = "Turns under way go on in the runner."


def serve(*, host: str | None, port: int | None, sim: bool, detach: bool, stop: bool, as_json: bool) -> int:
    """The exit code. Raises ``UsageError``, ``HubError``."""
    if stop and detach:
        raise UsageError("--stop ends the hub and --detach starts one: choose one")
    config = load({"host": host, "port": port, "sim": sim or None})
    if stop:
        return _stop(config, as_json)
    if detach:
        return _detach(config, host, port, sim, as_json)
    return _here(config, as_json)


def _here(config: Config, as_json: bool) -> int:
    from ...daemon import serve as serve_hub  # noqa: PLC0415 - the hub's own dependencies; only here they are needed

    def on_ready(ready: Ready) -> None:
        _say(_object(ready) if as_json else "\n".join(lines_of(ready)))

    try:
        serve_hub(config, on_ready)
    except KeyboardInterrupt:
        return 0
    except StoreRefused as refused:
        raise second(config, refused) from None
    return 0


def second(config: Config, refused: StoreRefused) -> Exception:
    """Where the first one is, if it says so; else what the store said."""
    address = read_address(config)
    if "in use" not in str(refused) or address is None or not is_alive(address.pid):
        return refused
    words = f"a hub runs here already, on {address.url} (pid {address.pid})"
    return Conflict(f"{words}. Sign in: ropewalk token new   Stop it: ropewalk serve --stop")


def lines_of(ready: Ready) -> list[str]:
    """What a person sees first."""
    return [
        f"ropewalk {__version__}   hub on {ready.url}   data in {home_path(ready.home)}",
        claude_line(ready),
        f"Open  {ready.sign_in_url}      works once, for 10 minutes",
        f"Ctrl C stops the hub. {GOES_ON}",
    ]


def claude_line(ready: Ready) -> str:
    if ready.sim:
        return "claude   every session runs on the stand-in (--sim): scripted, no account"
    if ready.claude_found:
        return f"claude {one_line(ready.claude)}"
    return f'claude   not found. Install: {INSTALL}   or try: ropewalk run --sim "hello"'


def _object(ready: Ready) -> str:
    told = {"url": ready.url, "sign_in_url": ready.sign_in_url, "home": ready.home, "pid": os.getpid()}
    return json.dumps({**told, "claude": ready.claude, "claude_found": ready.claude_found, "sim": ready.sim})


def _detach(config: Config, host: str | None, port: int | None, sim: bool, as_json: bool) -> int:
    try:
        found = find_hub(config)
        began = False
    except HubUnreachable:
        named: list[tuple[str, Any]] = [("--host", host), ("--port", port)]
        words = [word for name, value in named if value is not None for word in (name, str(value))]
        found, began = start_hub(config, *words, *(["--sim"] if sim else [])), True
    if as_json:
        _say(json.dumps({"url": found.url, "pid": found.pid, "started": began}))
    else:
        log = home_path(str(config.log_file))
        _say(f"hub {'started' if began else 'runs already'} on {found.url} (pid {found.pid}); its words go to {log}")
        _say("sign in: ropewalk token new     stop it: ropewalk serve --stop")
    if not began and (sim or host is not None or port is not None):
        sys.stderr.write("ropewalk: it goes on as it was started; --sim, --host and --port count after: ropewalk serve --stop\n")
    return 0


def _stop(config: Config, as_json: bool) -> int:
    pid = stop_hub(config)
    if as_json:
        _say(json.dumps({"stopped": pid is not None, "pid": pid}))
    elif pid is None:
        _say("no hub runs here")
    else:
        _say(f"hub stopped (pid {pid}). {GOES_ON}")
    return 0


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()
