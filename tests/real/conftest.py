"""The rig: real CLIs as an ordinary user, offline, against sim model. Refuses to run them where they could reach a network.

A test takes what it needs:

``cli_version``  "2.1.37", "2.1.62", "2.1.326"; ``@versions("2.1.120")`` (from tests.real.rig) chooses others
``model``        a fresh SimModel: ``model.add("hello")``, ``model.requests``, ``model.release("gate")``
``place``        home and project of an ordinary user, fresh; what was started there is ended by pid afterwards
``home``, ``project``   its two folders
``cli_env``      a whole environment for a CLI there, pointing at ``model``
``cli``          argv for ``ClientOptions(cli=…)`` or ``Launch.program``: sets HOME and the rest by itself, execs in place
``bare_cli``     the same without the environment: the launcher's counts
``raw_cli``      ``async with raw_cli("--flag") as cli``: a RawCli (rig_raw) with the stream-json flags given
``stage``        a Stage (rig_client): our Client on a CLI started once for this file and version; ``STAGE_OPTIONS`` of the file
``open_client``  ``async with open_client(resume=…) as client``: a Client of its own at ``place``
``talk``         a Talk (rig_talk): a CLI started once for this file and version; ``pytestmark = LOOP`` (rig_talk) is needed

Workers share the load with ``-n 2 --dist loadgroup``: all tests of one file and version go to one worker.
"""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import pytest_asyncio

from ropewalk import Client
from ropewalk.sim.model import SimModel
from tests.real import rig, rig_client, rig_netns, rig_raw, rig_talk
from tools.install_clis import CannotInstall, cli_path

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "versions(*names): the CLI versions that a test of tests/real runs over")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cli_version" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("versions")
        wanted = [
            pytest.param(v, marks=pytest.mark.xdist_group(f"{metafunc.module.__name__}-{v}"))
            for v in (mark.args if mark else rig.VERSIONS)
        ]
        metafunc.parametrize("cli_version", wanted, indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.real)


def cannot(why: str) -> None:
    """Loud where a person looks, a failure where a machine does."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"REAL CLIS NOT TESTED: {why}", pytrace=False)
    pytest.skip(f"REAL CLIS NOT TESTED: {why}")


@pytest.fixture(scope="session", autouse=True)
def offline() -> None:
    """This process, and all that it starts, sees no network but ``lo`` from here on."""
    try:
        rig_netns.enter()
    except (rig_netns.NoNamespace, OSError) as why:
        cannot(str(why))


@pytest.fixture(scope="session")
def cli_version(request: pytest.FixtureRequest, offline: None) -> str:
    version = str(request.param)
    try:
        cli_path(version)
    except CannotInstall as why:
        cannot(str(why))
    return version


@pytest.fixture
async def model() -> AsyncIterator[SimModel]:
    async with SimModel() as running:
        yield running


@pytest.fixture
def place() -> Iterator[rig.Place]:
    with rig.place() as made:
        yield made


@pytest.fixture
def home(place: rig.Place) -> Path:
    return place.home


@pytest.fixture
def project(place: rig.Place) -> Path:
    return place.project


@pytest.fixture
def cli_env(place: rig.Place, model: SimModel) -> dict[str, str]:
    return place.env(model.url)


@pytest.fixture
def cli(place: rig.Place, cli_version: str, cli_env: dict[str, str]) -> list[str]:
    return place.argv(cli_version, cli_env)


@pytest.fixture
def bare_cli(place: rig.Place, cli_version: str) -> list[str]:
    return place.argv(cli_version)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(cli_version: str, request: pytest.FixtureRequest) -> AsyncIterator[rig_talk.Shared]:
    """A file sets ``SHARED_ARGS`` for the flags of its CLI."""
    kept = rig_talk.Shared(cli_version, *getattr(request.module, "SHARED_ARGS", ()))
    yield kept
    await kept.close()


@pytest_asyncio.fixture(loop_scope="module")
async def talk(shared: rig_talk.Shared) -> AsyncIterator[rig_talk.Talk]:
    yield await shared.get()
    await shared.tidy()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_client(cli_version: str, request: pytest.FixtureRequest) -> AsyncIterator[rig_client.SharedClient]:
    kept = rig_client.SharedClient(cli_version, dict(getattr(request.module, "STAGE_OPTIONS", {})))
    yield kept
    await kept.close()


@pytest_asyncio.fixture(loop_scope="module")
async def stage(shared_client: rig_client.SharedClient) -> AsyncIterator[rig_client.Stage]:
    yield await shared_client.get()
    await shared_client.tidy()


@pytest.fixture
def open_client(place: rig.Place, cli_version: str, model: SimModel) -> Callable[..., AbstractAsyncContextManager[Client]]:
    return functools.partial(rig_client.client_at, place, cli_version, model)


@pytest.fixture
def raw_cli(bare_cli: list[str], project: Path, cli_env: dict[str, str]) -> rig_raw.RawStart:
    def start(*args: str, **env: str) -> AbstractAsyncContextManager[rig_raw.RawCli]:
        return rig_raw.raw_cli([*bare_cli, *rig_raw.STREAM], *args, cwd=project, env={**cli_env, **env})

    return start
