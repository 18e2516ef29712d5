"""Tokens and codes: how they are made, kept, exchanged, ended."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from ropewalk.config import Config
from ropewalk.errors import LimitReached, NotAllowed, UsageError
from ropewalk.servers.access import Access, Slowdown, check_folder, open_access
from ropewalk.servers.access.secrets import hash_of, new_code, new_secret, plain_code, read_secret, write_secret
from ropewalk.servers.access.slowdown import CODES_AT_ONCE, FREE, LONGEST, PEERS, WAITING

from .standin import StandIn


def config_of(folder: Path) -> Config:
    return Config(home=str(folder), name="Mia")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def opened(folder: Path) -> tuple[StandIn, Access, Clock]:
    """Without its task: the clock is ours."""
    hub, clock = StandIn(), Clock()
    check_folder(folder)
    access = Access(hub, config_of(folder), clock)
    await access.load()
    await access.check_owner()
    return hub, access, clock


def test_a_token_has_256_bits_and_no_two_are_the_same() -> None:
    """ours: PROOF's S7."""
    made = {new_secret() for _ in range(1000)}
    assert len(made) == 1000 and all(len(secret) == len("rw_") + 43 for secret in made)


def test_a_code_is_found_however_it_is_typed() -> None:
    """ours: people read it off one screen and type it on another."""
    code = new_code()
    assert len(code) == 9 and code[4] == "-"
    assert plain_code(code) == plain_code(f"  {code.upper().replace('-', ' ')}\n")
    assert plain_code("OoIL-0000") == plain_code("0011-0000")


async def test_the_first_start_makes_the_owners_token_and_only_its_hash_is_stored(tmp_path: Path) -> None:
    """ours: S7: hash in the database, file 0600 in a folder 0700."""
    home = tmp_path / "home"
    hub = StandIn()
    async with open_access(hub, config_of(home)) as access:
        secret = (home / "token").read_text().strip()
        key = access.known(secret)
        assert key is not None and key.principal.may("admin") and key.principal.name == "Mia" and key.principal.door == "terminal"
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600 and stat.S_IMODE(home.stat().st_mode) == 0o700
    assert secret not in str(hub.rows) and hash_of(secret) in str(hub.rows)


async def test_the_next_start_keeps_the_owners_token(tmp_path: Path) -> None:
    hub = StandIn()
    for _ in range(2):
        async with open_access(hub, config_of(tmp_path / "home")):
            pass
    assert len(hub.rows) == 1


async def test_a_lost_token_file_is_replaced_at_the_next_start_and_the_old_token_ends(tmp_path: Path) -> None:
    hub = StandIn()
    home = tmp_path / "home"
    async with open_access(hub, config_of(home)):
        old = (home / "token").read_text().strip()
    (home / "token").unlink()
    async with open_access(hub, config_of(home)) as access:
        assert access.known(old) is None and access.known((home / "token").read_text().strip()) is not None


async def test_wrong_tokens_of_the_right_shape_are_not_known(tmp_path: Path) -> None:
    """ours: others checked the presence of a token, not its value."""
    _, access, _ = await opened(tmp_path / "home")
    secret = (tmp_path / "home" / "token").read_text().strip()
    for wrong in (
        new_secret(),
        secret[:-1],
        secret[: len(secret) // 2],
        secret.upper(),
        secret + " ",
        hash_of(secret),
        "",
        "\udcff",
    ):
        assert access.known(wrong) is None, wrong
    assert access.known(secret) is not None


async def test_a_code_works_once(tmp_path: Path) -> None:
    """ours: S8."""
    hub, access, _ = await opened(tmp_path / "home")
    code = (await access.new_code("phone", ["answer"])).code or ""
    made = await access.sign_in(code, "", "peer")
    assert made.roles == ["answer"] and made.kind == "browser" and made.name == "phone"
    assert access.known(made.token or "") is not None
    with pytest.raises(NotAllowed):
        await access.sign_in(code, "", "peer")
    assert code not in str(hub.rows) and plain_code(code) not in str(hub.rows)


async def test_a_code_raced_by_many_signs_in_one_of_them(tmp_path: Path) -> None:
    """ours: single use holds when two tabs come at the same moment."""
    _, access, _ = await opened(tmp_path / "home")
    code = (await access.new_code()).code or ""
    ends = await asyncio.gather(*(access.sign_in(code, "", "peer") for _ in range(8)), return_exceptions=True)
    assert sum(not isinstance(end, Exception) for end in ends) == 1


async def test_a_code_ends_after_ten_minutes_whatever_was_asked_for(tmp_path: Path) -> None:
    """ours: S8."""
    _, access, clock = await opened(tmp_path / "home")
    code = (await access.new_code(lasts=1e9)).code or ""
    clock.now += 601
    with pytest.raises(NotAllowed):
        await access.sign_in(code, "", "peer")


async def test_wrong_codes_are_limited_for_all_together_and_the_limit_passes(tmp_path: Path) -> None:
    """ours: a code has 40 bits, so guessing is bounded by the number of looks."""
    _, access, _ = await opened(tmp_path / "home")
    clock = Clock()
    access.slowdown = Slowdown(clock)
    for number in range(CODES_AT_ONCE):
        with pytest.raises(NotAllowed):
            await access.sign_in(f"0000-{number:04}", "", f"peer {number}")
    code = (await access.new_code()).code or ""
    with pytest.raises(LimitReached):
        await access.sign_in(code, "", "peer")
    clock.now += 1
    assert (await access.sign_in(code, "", "peer")).token


async def test_a_revoked_token_is_refused_at_once_also_when_another_process_revoked_it(tmp_path: Path) -> None:
    """ours: S9; others kept revoked tokens in memory."""
    hub = StandIn()
    async with open_access(hub, config_of(tmp_path / "home")) as access:
        first, second = await access.new_token("a", ["watch"]), await access.new_token("b", ["watch"])
        assert await access.revoke(first.id) and not await access.revoke(first.id)
        assert access.known(first.token or "") is None and not access.holds(first.id)
        told = asyncio.Event()
        access.on_change(told.set)
        await hub.change_token(second.id, revoked_at=1.0)
        await asyncio.wait_for(told.wait(), 30)
        while access.holds(second.id):
            told.clear()
            await asyncio.wait_for(told.wait(), 30)
        assert access.known(second.token or "") is None


async def test_revoking_the_owners_token_puts_another_into_the_file(tmp_path: Path) -> None:
    """ours: rotation; the terminal goes on working."""
    _, access, _ = await opened(tmp_path / "home")
    file = tmp_path / "home" / "token"
    old = file.read_text().strip()
    key = access.known(old)
    assert key is not None and await access.revoke(key.id)
    new = file.read_text().strip()
    assert new != old and access.known(old) is None and access.known(new) is not None


async def test_a_token_with_an_end_ends(tmp_path: Path) -> None:
    _, access, clock = await opened(tmp_path / "home")
    made = await access.new_token("a", ["watch"], 60)
    assert access.holds(made.id)
    clock.now += 61
    assert access.known(made.token or "") is None and not access.holds(made.id)


async def test_rows_that_cant_be_read_leave_the_tokens_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: F37; a sick disk locks nobody out."""
    hub = StandIn()
    async with open_access(hub, config_of(tmp_path / "home")) as access:
        secret = (tmp_path / "home" / "token").read_text().strip()
        asked = asyncio.Event()

        async def sick() -> list[dict[str, object]]:
            asked.set()
            raise NotAllowed("the disk is sick")

        monkeypatch.setattr(hub, "token_rows", sick)
        access.look_again()
        await asyncio.wait_for(asked.wait(), 30)
        assert access.known(secret) is not None


async def test_a_token_file_changed_while_running_is_said_once_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ours: F37."""
    _, access, _ = await opened(tmp_path / "home")
    file = tmp_path / "home" / "token"
    secret = file.read_text().strip()
    file.write_text("rw_something else")
    for _ in range(3):
        await access._keep_once()
    assert access.known(secret) is not None
    said = capsys.readouterr().out
    assert said.count("the token file was changed") == 1 and secret not in said and "something else" not in said


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    """ours: S7, S41."""
    folder = tmp_path / "home"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(UsageError, match="others can write"):
        check_folder(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_or_link_of_another_user_is_refused(tmp_path: Path) -> None:
    """ours: S7."""
    folder, link = tmp_path / "home", tmp_path / "link"
    folder.mkdir(mode=0o700)
    link.symlink_to(folder)
    os.chown(link, 12345, 12345, follow_symlinks=False)
    with pytest.raises(UsageError, match="another user"):
        check_folder(link)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604])
def test_a_token_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text("rw_x")
    file.chmod(mode)
    with pytest.raises(UsageError, match="others could read"):
        read_secret(file)


def test_a_planted_link_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    """ours: S41."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = tmp_path / "token"
    link.symlink_to(victim)
    with pytest.raises(UsageError):
        read_secret(link)
    write_secret(link, "rw_new")
    assert victim.read_text() == "mine" and not link.is_symlink() and read_secret(link) == "rw_new"


async def test_wrong_tokens_are_slowed_and_said_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    """ours: S11. The clock is ours, the waits are measured by what is refused."""
    clock = Clock()
    slow = Slowdown(clock)
    delays = [slow._delay("a") for _ in range(FREE + 10)]
    assert delays[:FREE] == [0.0] * FREE and delays[FREE] > 0 and delays[-1] == 2.0
    assert slow._delay("b") == 0.0
    for _ in range(100):
        slow._tell("a")
    clock.now += 61
    slow._tell("a")
    assert capsys.readouterr().out.count("wrong tokens or codes were refused") == 2


async def test_wrong_askers_beyond_a_number_do_not_wait_and_peers_are_forgotten() -> None:
    """ours: what guards against a flood must not be one."""
    clock = Clock()
    slow = Slowdown(clock)
    assert [slow.wrong_token("a") for _ in range(FREE)] == [0.0] * FREE
    waits = [slow.wrong_token("a") for _ in range(WAITING)]
    assert all(waits) and slow.wrong_token("a") is None
    clock.now += 1.0
    assert slow.wrong_token("a") == LONGEST, "those who were to wait less than a second have had their answer"
    clock.now += LONGEST
    assert [slow.wrong_token("a") for _ in range(WAITING)] == [LONGEST] * WAITING and slow.wrong_token("a") is None
    for number in range(PEERS * 2):
        slow._delay(str(number))
    assert len(slow._wrong) == PEERS


async def test_leaving_ends_the_one_task_also_when_rows_change_at_that_moment(tmp_path: Path) -> None:
    """measured: ``asyncio.wait_for`` of 3.11 loses a cancellation that comes together with what it waits for."""
    for _ in range(20):
        async with asyncio.timeout(30), open_access(StandIn(), config_of(tmp_path / "home")) as access:
            await asyncio.sleep(0)
            access.look_again()
