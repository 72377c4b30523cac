"""Compares how MCP servers handle difficult calls.

Usage: compare.py TREE BIG SCRATCH -- PROGRAM ARGUMENT... [-- PROGRAM ARGUMENT...]

TREE is a large source tree, BIG a file with one line of 1 GiB, SCRATCH an empty directory. Each server must have access
to all three. Each case starts a new server and calls the first listed tool that the server has. The table in README.md
uses these numbers. The variable TIMEOUT sets the timeout of a call in seconds [default: 60].
"""

import json
import os
import pathlib
import select
import subprocess
import sys
import time

TIMEOUT = int(os.environ.get("TIMEOUT", "60"))
CHILD = "45.317"

# For each case, the tools that can do it and their arguments.
CASES = {
    "whole tree": [
        ("list_dir", lambda at: {"dir_path": at.tree, "depth": 99, "limit": 1000000}),
        ("directory_tree", lambda at: {"path": at.tree}),
        ("list_directory", lambda at: {"path": at.tree, "depth": 99}),
    ],
    "content search": [
        ("grep_files", lambda at: {"pattern": "kmalloc", "path": at.tree}),
        ("search_files_content", lambda at: {"path": at.tree, "pattern": "*", "query": "kmalloc"}),
        ("start_search", lambda at: {"path": at.tree, "pattern": "kmalloc", "searchType": "content"}),
    ],
    "1 GiB line": [
        ("read", lambda at: {"path": at.big}),
        ("read_text_file", lambda at: {"path": at.big}),
        ("read_file", lambda at: {"path": at.big}),
    ],
    "FIFO": [
        ("read", lambda at: {"path": at.fifo}),
        ("read_text_file", lambda at: {"path": at.fifo}),
        ("read_file", lambda at: {"path": at.fifo}),
    ],
    "listing after four FIFOs": [
        ("list_dir", lambda at: {"dir_path": at.scratch}),
        ("list_directory", lambda at: {"path": at.scratch}),
    ],
    "background child": [
        ("bash", lambda at: {"command": f"sleep {CHILD} & echo started"}),
        ("start_process", lambda at: {"command": f"sleep {CHILD} & echo started", "timeout_ms": 5000}),
    ],
}


class Paths:
    def __init__(self, tree: str, big: str, scratch: str):
        self.tree, self.big, self.scratch, self.fifo = tree, big, scratch, scratch + "/fifo"


class Server:
    def __init__(self, command: list[str]):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.rest = bytearray()
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "compare", "version": "1"}}
        self.ask(1, "initialize", client)
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, number: int, method: str, params: dict) -> bytes | None:
        """Sends a request. Returns the line of the reply, None after the timeout, or b"" if the server exits."""
        self.send({"id": number, "method": method, "params": params})
        end = time.monotonic() + TIMEOUT
        searched = 0
        while True:
            newline = self.rest.find(b"\n", searched)
            if newline >= 0:
                line = bytes(self.rest[:newline])
                del self.rest[: newline + 1]
                searched = 0
                if b'"id":%d' % number in line[-40:] + line[:80] and b'"method"' not in line[:80]:
                    return line
                continue
            searched = len(self.rest)
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                return b""
            self.rest += piece

    def peak(self) -> str:
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
            kibibytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
            return f"{int(kibibytes) // 1024} MiB peak"
        except (OSError, StopIteration):
            return "exited"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def describe(line: bytes | None, seconds: float, peak: str) -> str:
    if line is None:
        return f"no reply in {TIMEOUT} s ({peak})"
    if not line:
        return "the server exited"
    start = line[:300].decode(errors="replace") + " … " + line[-200:].decode(errors="replace")
    return f"{len(line):,} bytes in {seconds:.2f} s ({peak}) {start if len(line) > 500 else line.decode()}"


def child_runs() -> bool:
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if process.read_bytes() == f"sleep\0{CHILD}\0".encode():
                return True
        except OSError:
            pass
    return False


def find(case: str, names: set[str]):
    return next(((tool, make) for tool, make in CASES[case] if tool in names), None)


def ask(command: list[str], case: str, at: Paths) -> str:
    server = Server(command)
    try:
        listed = json.loads(server.ask(2, "tools/list", {}))["result"]["tools"]
        names = {tool["name"] for tool in listed}
        found = find(case, names)
        if found is None:
            return "no tool for this case"
        if "after four" in case:
            tool, make = find("FIFO", names)
            for number in range(10, 14):
                server.send({"id": number, "method": "tools/call", "params": {"name": tool, "arguments": make(at)}})
        start = time.monotonic()
        line = server.ask(3, "tools/call", {"name": found[0], "arguments": found[1](at)})
        reply = describe(line, time.monotonic() - start, server.peak())
        if case == "background child":
            reply += "; the child still runs" if child_runs() else "; the child no longer runs"
        return reply
    finally:
        server.close()


def main() -> None:
    tree, big, scratch, *rest = sys.argv[1:]
    servers = []
    for word in rest:
        servers.append([]) if word == "--" else servers[-1].append(word)
    at = Paths(tree, big, scratch)
    os.mkfifo(at.fifo)
    for command in servers:
        for case in CASES:
            print(f"{' '.join(command[:2])}, {case}: {ask(command, case, at)}", flush=True)


main()
