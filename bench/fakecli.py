"""The fake CLI where no C compiler is: the same orders as fakecli.c, slower. Refuses to parse JSON or to measure."""

import os
import re
import sys
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
        (r"bench:ask (\d+)", desk.begin),
    ]
    for line in sys.stdin.buffer:
        for pattern, act in orders:
            if found := re.search(pattern.encode(), line):
                act(found)
                break


if __name__ == "__main__":
    main()
