"""The fake CLI where no C compiler is: the same orders as fakecli.c, slower. Refuses to parse JSON or to measure."""

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

ENDS = (
    b'{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"duration_api_ms":1,"num_turns":1,"result":"bench:end",'
    b'"stop_reason":"end_turn","session_id":"5e551000-0000-4000-8000-00000000beac","total_cost_usd":0.01,'
    b'"usage":{"input_tokens":1,"output_tokens":1},"modelUsage":{},"permission_denials":[],"uuid":"5e551000-0000-4000-8000-00000000e4d0"}\n'
)
QUESTION = (
    '{"type":"control_request","request_id":"9f0c%04x-30ab-4c05-ae86-a4f39bb572f2","request":{"subtype":"can_use_tool",'
    '"tool_name":"Bash","input":{"command":"make -C build test-%d","description":"run a test"},"permission_suggestions":'
    '[{"type":"setMode","mode":"acceptEdits","destination":"session"}],"tool_use_id":"toolu_%08d"}}\n'
)
REPLY = '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"commands":[],"models":[]}}}\n'


def write(words: bytes) -> None:
    at = 0
    while at < len(words):
        at += os.write(1, memoryview(words)[at:])


SESSION = '"session_id":"5e551000-0000-4000-8000-00000000beac"'
STREAMED = f'{{"type":"stream_event","event":%s,{SESSION},"parent_tool_use_id":null,"uuid":"5e551000-0000-4000-8001-%012x"}}\n'
BEGUN = '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[]}}'
BLOCK = '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'
PIECE = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"piece %d at=%d; "}}'
SAID = (
    '{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[{"type":"text",'
    f'"text":"at=%d; the rope is laid from three strands"}}]}},"parent_tool_use_id":null,{SESSION},'
    '"uuid":"5e551000-0000-4000-8002-%012x"}\n'
)


def pace(order: re.Match[bytes]) -> None:
    """Timed lines, so many a second. It hears nothing meanwhile."""
    rate, count, deltas = int(order[1]), int(order[2]), order[3] == b"delta"
    write(f'{{"type":"system","subtype":"init","cwd":"/","tools":[],"claude_code_version":"2.1.326",{SESSION}}}\n'.encode())
    if deltas:
        write((STREAMED % (BEGUN, 1) + STREAMED % (BLOCK, 2)).encode())
    began = time.monotonic_ns()
    for number in range(1, count + 1):
        time.sleep(max(0.0, (began + (number - 1) * 1_000_000_000 // rate - time.monotonic_ns()) / 1e9))
        at = time.monotonic_ns()
        write((STREAMED % (PIECE % (number, at), number + 2) if deltas else SAID % (number, at, number)).encode())
    if deltas:
        write((SAID % (1, 0, 0)).replace("at=0", "all of it").encode())
    write(ENDS)


def stream(order: re.Match[bytes]) -> None:
    lines, count = Path(os.fsdecode(order[1])).read_bytes().splitlines(keepends=True), int(order[2])
    while count > 0:
        write(b"".join(lines[:count]))
        count -= len(lines)
    write(ENDS)


class Desk:
    """Questions, one after the answer to the other."""

    left = asked = 0

    def begin(self, order: re.Match[bytes]) -> None:
        self.left = int(order[1])
        self.ask()

    def answered(self, line: re.Match[bytes]) -> None:
        if self.left:
            self.left -= 1
            if self.left:
                self.ask()
            else:
                write(ENDS)

    def ask(self) -> None:
        write((QUESTION % (self.asked & 0xFFFF, self.asked, self.asked)).encode())
        self.asked += 1


def main() -> None:
    if {"--version", "-v"} & set(sys.argv[1:]):
        write(b"2.1.326 (Claude Code)\n")
        return
    desk = Desk()
    orders: list[tuple[str, Callable[[re.Match[bytes]], None]]] = [
        (r'"control_request".*"request_id": ?"([^"]+)"', lambda found: write((REPLY % found[1].decode()).encode())),
        (r'"control_response".*"behavior"', desk.answered),
        (r"bench:stream (\S+) (\d+)", stream),
        (r"bench:pace (\d+) (\d+) (text|delta)", pace),
        (r"bench:ask (\d+)", desk.begin),
    ]
    for line in sys.stdin.buffer:
        for pattern, act in orders:
            if found := re.search(pattern.encode(), line):
                act(found)
                break


if __name__ == "__main__":
    main()
