"""File, environment and flags become one frozen Config. Refuses unknown names and values that can't be meant, in words.

Later wins: built-in defaults, ``config.toml``, ``ROPEWALK_*`` variables, flags.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from .errors import UsageError

PORT = 7077
Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set. Paths may begin with ``~``."""

    home: str = ""
    """Where database, spool, socket, token and logs are; 0700. Filled in by ``load``."""
    host: str = "127.0.0.1"
    """Where the hub listens. Beyond loopback it needs TLS, or a proxy."""
    port: Annotated[int, Meta(ge=0, le=65535)] = PORT
    """0: any free one."""
    names: tuple[str, ...] = ()
    """Host names by which people reach the hub beyond loopback; other ``Host`` headers are refused."""
    tls_cert: str | None = None
    """A certificate and its key, as files."""
    tls_key: str | None = None
    proxy: bool = False
    """A proxy that ends TLS stands in front; only then may the hub bind elsewhere than loopback without TLS of its own."""
    cli: str | None = None
    """The ``claude`` to run; else ``ROPEWALK_CLI``, else the first on the PATH."""
    sim: bool = False
    """Every session runs on the stand-in."""
    roots: tuple[str, ...] = ()
    """Folders that sessions may work in; none: anywhere."""
    max_processes: Count = 1000
    """CLI processes that may live at the same time."""
    max_turns: Count = 16
    """Turns that run at the same time; a person's wait holds no place."""
    idle_after: Seconds = 600.0
    """Seconds without work after which a process is closed; it wakes on the next prompt. 0: never."""
    keep_stream_events: bool = False
    """Keep the deltas on the wire log too; they are several times as many as all other lines."""
    allow_bypass: bool = False
    """Whether a session may be put into bypassPermissions, by an admin."""
    allow_env: bool = False
    """Whether a session may be given variables of its own."""
    allow_mcp: bool = False
    """Whether a session may name settings or MCP files."""
    api_billing: bool = False
    """Whether ``ANTHROPIC_API_KEY`` of the hub's environment reaches the CLI."""
    rules: str = ""
    """A file with rules (TOML), read again when it changes. Empty: ``rules.toml`` beside the configuration."""
    allowed_tools: tuple[str, ...] = ()
    """Rules that allow everywhere, e.g. ``["Read(**)", "WebSearch"]``: no person is asked. None by default, and so no Bash."""
    see_everything: bool = False
    """A hook of ours in every session: calls that Claude Code would allow by itself are judged, too, and can be denied."""
    sandbox: tuple[str, ...] = ()
    """A program with its options that every command is run in, as ``PROGRAM OPTIONS bash -c COMMAND``."""
    absolute_paths: bool = False
    """Relative names in the input of file tools are made absolute before they run."""
    question_deadline: Seconds = 0.0
    """Seconds after which an open permission question is denied, if nobody has answered; 0: never."""
    outline_cooldown: bool = True
    """A plan that comes back too soon after it was sent for an outline is sent back again by the hub."""
    bypass_longest: Annotated[float, Meta(gt=0)] = 3600.0
    """Seconds that bypassPermissions may last at most; it then ends by itself."""
    stall_after: Seconds = 240.0
    """Seconds of thinking without a sign after which the status says so."""
    name: str = ""
    """What people call whoever owns the hub; the user's name by default."""
    log_level: str = "info"
    """debug, info, warning or error."""
    environment: dict[str, str] = field(default_factory=dict)
    """Further variables for every CLI."""

    @property
    def folder(self) -> Path:
        return Path(self.home)

    @property
    def database(self) -> Path:
        return self.folder / "ropewalk.db"

    @property
    def runner_folder(self) -> Path:
        return self.folder / "runner"

    @property
    def token_file(self) -> Path:
        return self.folder / "token"

    @property
    def address_file(self) -> Path:
        """Where the running hub is found by the terminal: its URL."""
        return self.folder / "hub.json"

    @property
    def log_file(self) -> Path:
        return self.folder / "hub.log"


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """The configuration in force. Raises ``UsageError`` with the name of what is wrong and where it was said."""
    environ = os.environ if environ is None else environ
    settings: dict[str, Any] = {
        "home": str(state_folder(environ)),
        **_from_file(config_file(environ)),
        **_from_environment(environ),
    }
    settings |= {name: value for name, value in (flags or {}).items() if value is not None}
    config = _checked(settings, "the settings")
    rules = config.rules or str(config_file(environ).with_name("rules.toml"))
    paths = {name: os.path.abspath(os.path.expanduser(path)) for name, path in (("home", config.home), ("rules", rules))}
    return msgspec.structs.replace(config, **paths)


def state_folder(environ: Mapping[str, str]) -> Path:
    if home := environ.get("ROPEWALK_HOME"):
        return Path(home).expanduser()
    base = environ.get("XDG_STATE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return Path(base) / "ropewalk"


def config_file(environ: Mapping[str, str]) -> Path:
    if home := environ.get("ROPEWALK_HOME"):
        return Path(home).expanduser() / "config.toml"
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".config")
    return Path(base) / "ropewalk" / "config.toml"


def _from_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error  # str(error) names the path again
        raise UsageError(f"{path} can't be read: {reason}; mend it or move it away") from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is no TOML: {error}") from None
    _checked(found, str(path))
    return found


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """``ROPEWALK_PORT=7078``, for every setting that is one word, number or yes / no."""
    found: dict[str, Any] = {}
    for name in Config.__struct_fields__:
        value = environ.get(f"ROPEWALK_{name.upper()}")
        if value is None or name in ("home", "environment", "cli"):
            continue
        kind = Config.__annotations__[name]
        found[name] = value.split(os.pathsep) if "tuple" in kind else {"true": True, "false": False}.get(value.lower(), value)
        _checked({name: found[name]}, f"the variable ROPEWALK_{name.upper()}")
    return found


def _checked(settings: Mapping[str, Any], said_by: str) -> Config:
    try:
        return msgspec.convert(settings, Config, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{said_by}: {error}; see docs/reference/configuration.md") from None
