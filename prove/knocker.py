"""A process of its own that sends one request when it is told to, and says when: the rig's own work does not delay it."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import time
from urllib.parse import urlsplit

from .house import House


async def knock(house: House, path: str) -> tuple[float, int]:
    """When a POST to this path was sent, and how it was answered."""
    words = [sys.executable, "-m", "prove.knocker", house.url, house.token, path]
    child = await asyncio.create_subprocess_exec(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=house.environ())
    assert child.stdin is not None and child.stdout is not None
    await child.stdout.readline()
    child.stdin.write(b"go\n")
    said = json.loads(await child.stdout.readline())
    await child.wait()
    return float(said["sent"]), int(said["status"])


def main() -> None:
    url, token, path = sys.argv[1:4]
    found = urlsplit(url)
    link = http.client.HTTPConnection(str(found.hostname), found.port or 80, timeout=30)
    link.connect()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sent = time.time()
    link.request("POST", path, b"{}", {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    status = link.getresponse().status
    sys.stdout.write(json.dumps({"sent": sent, "status": status}) + "\n")


if __name__ == "__main__":
    main()
