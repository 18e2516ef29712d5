"""The served OpenAPI document and the API agree, whatever a program makes of the document."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from .conftest import Door

ROOT = Path(__file__).parents[2]
LEFT_OUT = "ignored_auth"
"""Sends wrong tokens by the hundred, which are slowed; the walk over all routes shows the same."""


async def explored(url: str, token: str, session: str, folder: Path, examples: int, *left_out: str) -> tuple[int, str]:
    """Run schemathesis, seeded and bounded by count, against any hub that serves; its exit code and words."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "schemathesis.toml"
    settings.write_text(f'[parameters]\n"path.session" = "{session}"\n')
    arguments = ["--config-file", str(settings), "run", f"{url}/api/v1/openapi.json", "-H", f"Authorization: Bearer {token}",
                 "--phases=examples,coverage,fuzzing", f"--max-examples={examples}", "--seed=7", "--exclude-path-regex=/stream$",
                 f"--exclude-checks={','.join((LEFT_OUT, *left_out))}", "--generation-database=none", "--no-color"]  # fmt: skip
    environ = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.servers.schemathesis_hooks", "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "schemathesis.cli", *arguments, cwd=folder, env=environ,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    words, _ = await asyncio.wait_for(process.communicate(), 110)
    return process.returncode or 0, words.decode()


@pytest.mark.slow
async def test_whatever_the_document_allows_is_taken_and_what_it_forbids_refused(door: Door, tmp_path: Path) -> None:
    """ours: seeded; statuses, content types, schemas of answers, limits of bodies and parameters."""
    code, words = await explored(door.address.url, door.token, "s-one", tmp_path / "explored", 8)
    assert code == 0, words[-60000:]


async def test_the_document_says_what_the_structs_say(door: Door) -> None:
    async with door.client() as client:
        document = (await client.get("/api/v1/openapi.json")).json()
    schemas = document["components"]["schemas"]
    assert schemas["Prompt"]["additionalProperties"] is False and "additionalProperties" in schemas["Control"]
    assert schemas["ChangeSession"]["properties"]["tags"]["anyOf"][0]["items"]["minLength"] == 1
    prompts = document["paths"]["/api/v1/sessions/{session}/prompts"]["post"]
    assert "application/problem+json" in prompts["responses"]["409"]["content"]
    assert document["paths"]["/api/v1/signin"]["post"]["security"] == [] and document["security"] == [{"token": []}]
    assert document["paths"]["/api/v1/sessions/{session}/interrupt"]["post"]["requestBody"]["required"] is False
