"""Where the hub of this user is: its address file and token, or what the environment says. Refuses to start one.

``ROPEWALK_URL`` and ``ROPEWALK_TOKEN`` name another hub, on another machine perhaps.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ..config import Config
from ..errors import HubUnreachable, NotAllowed

NONE = 'no hub runs here; start one with `ropewalk serve`, or run a prompt, which starts one: ropewalk run "…"'


class Found(msgspec.Struct, frozen=True):
    """A hub that should be running."""

    url: str
    token: str
    pid: int | None = None

    @property
    def near(self) -> bool:
        """On this machine: its files are the ones that we see."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


class Address(msgspec.Struct):
    """What a running hub leaves in its address file."""

    url: str
    pid: int


def find_hub(config: Config, environ: Mapping[str, str] = os.environ) -> Found:
    """Raises ``HubUnreachable`` when none runs, ``NotAllowed`` when its token can't be read."""
    if url := environ.get("ROPEWALK_URL"):
        if not (token := environ.get("ROPEWALK_TOKEN")):
            raise NotAllowed(f"ROPEWALK_URL names the hub on {url}, and ROPEWALK_TOKEN is not set: it lets nobody in without")
        return Found(url, token)
    address = read_address(config)
    if address is None or not is_alive(address.pid):
        raise HubUnreachable(NONE)
    return Found(address.url, environ.get("ROPEWALK_TOKEN") or _token(config), address.pid)


def read_address(config: Config) -> Address | None:
    """None: no hub has run here, or it took its address away at its end."""
    try:
        return msgspec.json.decode(config.address_file.read_bytes(), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


def is_alive(pid: int) -> bool:
    """A zombie is not: where nobody collects the dead, a hub that was killed stays one."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[-1].split()[0] != "Z"
    except OSError:
        return True  # no /proc here


def _token(config: Config) -> str:
    try:
        return config.token_file.read_text("utf-8").strip()
    except OSError as error:
        raise NotAllowed(f"the hub's token can't be read ({error.strerror}: {config.token_file}); run it as its owner") from None
