"""Tokens and codes, as the running hub knows them: hashes in memory, rows behind. Refuses to hand a secret out twice."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import hmac
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from msgspec import Struct

from ...config import Config
from ...errors import LimitReached, NotAllowed, RopewalkError, UsageError
from ...events.commands import Principal
from ...events.ids import id_from
from ...events.views import TokenView
from ...hub.calls import HubCalls
from .secrets import check_folder, hash_of, new_code, new_secret, plain_code, read_secret, write_secret
from .slowdown import Slowdown

log = structlog.get_logger("ropewalk.access")

CODE_LASTS = 600.0
"""Seconds that a one-time code may lie about."""
TICK = 2.0
"""How often ended tokens are looked for; live sockets of theirs are closed then."""
SEEN_EVERY = 60.0
"""How exact "last seen" is; every request would be a write otherwise."""
WRONG_CODE = "This code does not work: each works once, for ten minutes. Get another: ropewalk token new."
EVERYTHING = ("watch", "prompt", "answer", "admin")
DOORS = {"owner": "terminal", "browser": "page", "api": "api"}


class Key(Struct, frozen=True, kw_only=True):
    """A token that opens doors, or a code that makes one."""

    id: str
    hash: str
    name: str
    kind: str
    roles: tuple[str, ...]
    created_at: float
    device: str = ""
    """Which browser; ``name`` is who sits before it."""
    expires_at: float | None = None
    seen_at: float | None = None

    @property
    def principal(self) -> Principal:
        return Principal(name=self.name, roles=frozenset(self.roles), door=DOORS.get(self.kind, self.kind), token=self.id)

    def view(self, *, code: str | None = None, token: str | None = None, seen_at: float | None = None) -> TokenView:
        shown = f"{self.name} ({self.device})" if self.device else self.name
        return TokenView(
            id=self.id, name=shown, roles=list(self.roles), kind=self.kind, created_at=self.created_at,
            last_seen=seen_at or self.seen_at, expires_at=self.expires_at, code=code, token=token,
        )  # fmt: skip


class Access:
    """Asked by every door for every request. Made by ``open_access``."""

    def __init__(self, hub: HubCalls, config: Config, clock: Callable[[], float] = time.time) -> None:
        self._hub, self._config, self._clock = hub, config, clock
        self._keys: dict[str, Key] = {}
        self._codes: dict[str, Key] = {}
        self._by_id: dict[str, Key] = {}
        self._seen: dict[str, float] = {}
        self._written: dict[str, float] = {}
        self._changes = 0
        self._changed = asyncio.Event()
        self._tell: list[Callable[[], None]] = []
        self._file_said = False
        self.slowdown = Slowdown()

    # -- who is it

    def known(self, secret: str) -> Key | None:
        """The token of this secret, if it is one that may come in now."""
        key = self._keys.get(digest := hash_of(secret))
        if key is None or not hmac.compare_digest(key.hash, digest) or self._ended(key):
            return None
        self._seen[key.id] = self._clock()
        return key

    def holds(self, token: str) -> bool:
        """Whether the token of this id may still come in. For sockets that have been open a while."""
        key = self._by_id.get(token)
        return key is not None and not self._ended(key)

    def on_change(self, tell: Callable[[], None]) -> None:
        """Called whenever tokens may have ended: look again with ``holds``."""
        self._tell.append(tell)

    def _ended(self, key: Key) -> bool:
        return key.expires_at is not None and key.expires_at <= self._clock()

    # -- making and ending

    async def new_code(self, name: str = "device", roles: Iterable[str] = ("admin",), lasts: float = CODE_LASTS) -> TokenView:
        """A code for one sign-in, as in ``/signin#k7f2-mq9d``. It works once, for ten minutes at most."""
        code = new_code()
        key = self._made(plain_code(code), name, "code", roles, min(lasts, CODE_LASTS))
        await self._put(key, uses_left=1)
        return key.view(code=code)

    async def new_token(self, name: str, roles: Iterable[str], lasts: float | None = None, kind: str = "api") -> TokenView:
        """A token for a program. The answer is the only place where it is ever seen."""
        secret = new_secret()
        key = self._made(secret, name, kind, roles, lasts)
        await self._put(key)
        return key.view(token=secret)

    async def sign_in(self, code: str, device: str, peer: str) -> TokenView:
        """A device's token for a code, which is used up. Raises ``NotAllowed``, or ``LimitReached`` after too many wrong ones."""
        if not self.slowdown.may_try_code():
            raise LimitReached("Too many wrong codes were tried. Wait a few seconds, then try again.", code="too_many_codes")
        key = self._codes.pop(hash_of(plain_code(code)), None)
        if key is None or self._ended(key) or not await self._hub.change_token(key.id, uses_left=0):
            self.slowdown.wrong_code(peer)
            raise NotAllowed(WRONG_CODE, code="wrong_code")
        self._by_id.pop(key.id, None)
        secret = new_secret()
        made = self._made(secret, key.name, "browser", key.roles, None, device)
        await self._put(made)
        return made.view(token=secret)

    def tokens(self) -> list[TokenView]:
        """All that may come in, and codes that nobody used yet; the newest first."""
        found = [key.view(seen_at=self._seen.get(key.id)) for key in self._by_id.values() if not self._ended(key)]
        return sorted(found, key=lambda view: -view.created_at)

    async def revoke(self, token: str) -> bool:
        """From now on it is refused. The owner's is replaced by another in the same file. False: no such token."""
        key = self._by_id.get(token)
        if key is None or not await self._hub.change_token(token, revoked_at=self._clock()):
            return False
        self._forget(key)
        if key.kind == "owner":
            await self._make_owner()
        self._say_changed()
        return True

    # -- rows and memory

    async def load(self) -> None:
        """Read the rows; repeated when somebody changed them meanwhile. Raises what the hub raises."""
        while True:
            before = self._changes
            rows = await self._hub.token_rows()
            if before == self._changes:
                break
        self._keys, self._codes, self._by_id = {}, {}, {}
        for row in rows:
            if row.get("revoked_at") is None and row.get("uses_left") != 0:
                self._remember(_key_from(row))
        self._say_changed()

    async def check_owner(self) -> None:
        """The file of this machine's user opens the door. Made on the first start, and anew when file and rows do not agree."""
        secret = read_secret(self._config.token_file)
        if secret and (key := self._keys.get(hash_of(secret))) and key.kind == "owner":
            return
        for key in [key for key in self._by_id.values() if key.kind == "owner"]:
            await self._hub.change_token(key.id, revoked_at=self._clock())
            self._forget(key)
        await self._make_owner()

    async def _make_owner(self) -> None:
        secret = new_secret()
        await self._put(self._made(secret, self._config.name or _user(), "owner", EVERYTHING, None))
        write_secret(self._config.token_file, secret)

    def _made(self, secret: str, name: str, kind: str, roles: Iterable[str], lasts: float | None, device: str = "") -> Key:
        now = self._clock()
        return Key(
            id=id_from(secrets.token_bytes(9)), hash=hash_of(secret), name=name, kind=kind, roles=tuple(roles), created_at=now,
            expires_at=None if lasts is None else now + lasts, device=device,
        )  # fmt: skip

    async def _put(self, key: Key, uses_left: int | None = None) -> None:
        row: dict[str, Any] = {
            "id": key.id, "hash": key.hash, "name": key.name, "kind": key.kind, "roles": list(key.roles), "uses_left": uses_left,
            "device": key.device or None, "created_at": key.created_at, "expires_at": key.expires_at,
        }  # fmt: skip
        await self._hub.put_token(row)
        self._changes += 1
        self._remember(key)

    def _remember(self, key: Key) -> None:
        self._by_id[key.id] = key
        (self._codes if key.kind == "code" else self._keys)[key.hash] = key

    def _forget(self, key: Key) -> None:
        self._changes += 1
        self._by_id.pop(key.id, None)
        self._keys.pop(key.hash, None)
        self._codes.pop(key.hash, None)

    def _say_changed(self) -> None:
        for tell in self._tell:
            tell()

    # -- the one task

    def look_again(self) -> None:
        self._changed.set()

    async def keep(self) -> None:
        """Until cancelled: rows read again when they changed, ended tokens dropped, "last seen" written now and then."""
        while True:
            with suppress(TimeoutError):  # not wait_for: before 3.12 it can lose the cancellation that ends us
                async with asyncio.timeout(TICK):
                    await self._changed.wait()
            try:
                await self._keep_once()
            except (RopewalkError, OSError) as error:
                log.warning("tokens stay as they are: the rows can't be read or written now", why=type(error).__name__)

    async def _keep_once(self) -> None:
        if self._changed.is_set():
            self._changed.clear()
            await self.load()
        for key in [key for key in self._by_id.values() if self._ended(key)]:
            self._forget(key)
            self._say_changed()
        self._check_file()
        for token, at in list(self._seen.items()):
            if at - self._written.get(token, 0.0) >= SEEN_EVERY:
                self._written[token] = at
                await self._hub.change_token(token, seen_at=at)

    def _check_file(self) -> None:
        """The file may be changed or removed while we run: what we know stays in force, and that is said once."""
        try:
            secret = read_secret(self._config.token_file)
            good = secret is not None and hash_of(secret) in self._keys
        except UsageError:
            good = False
        if not good and not self._file_said:
            log.warning("the token file was changed or can't be read; the tokens known so far stay in force until the next start")
        self._file_said = not good


def _key_from(row: dict[str, Any]) -> Key:
    return Key(
        id=row["id"], hash=row["hash"], name=row["name"], kind=row["kind"], roles=tuple(row["roles"]),
        created_at=row["created_at"], expires_at=row.get("expires_at"), seen_at=row.get("seen_at"),
        device=row.get("device") or "",
    )  # fmt: skip


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "owner"


@asynccontextmanager
async def open_access(hub: HubCalls, config: Config) -> AsyncIterator[Access]:
    """Reads the tokens; makes the owner's on the first start and writes it to ``config.token_file``.

    Raises ``UsageError`` when the folder is not safe to keep it in. Open it after the hub and before any door.
    """
    check_folder(config.folder)
    access = Access(hub, config)
    await access.load()
    await access.check_owner()
    hub.on_tokens_changed(access.look_again)
    keeper = asyncio.get_running_loop().create_task(access.keep(), name="access")
    try:
        yield access
    finally:
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper
