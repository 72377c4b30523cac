"""What servers answer to the same hard questions: `compare.py TREE BIG SCRATCH -- PROGRAM ARGUMENT… [-- PROGRAM …]`.

TREE is a large source tree, BIG a file of one line of 1 GiB, SCRATCH an empty folder; the servers have to be allowed all
three. Each question goes to a new server, with the first of the known tools that the server has. The numbers in the table
of README.md come from here.
"""

import json
import os
import pathlib
import select
import subprocess
import sys
import time

PATIENCE = int(os.environ.get("PATIENCE", "60"))
CHILD = "45.317"

# For each question the tools that can answer it, by name, and their arguments.
QUESTIONS = {
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
    "a FIFO": [
        ("read", lambda at: {"path": at.fifo}),
        ("read_text_file", lambda at: {"path": at.fifo}),
        ("read_file", lambda at: {"path": at.fifo}),
    ],
    "a listing after four FIFOs": [
        ("list_dir", lambda at: {"dir_path": at.scratch}),
        ("list_directory", lambda at: {"path": at.scratch}),
    ],
    "background child": [
        ("bash", lambda at: {"command": f"sleep {CHILD} & echo started"}),
        ("start_process", lambda at: {"command": f"sleep {CHILD} & echo started", "timeout_ms": 5000}),
    ],
}


class Places:
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
        """The line with the answer; none where it does not come in time or the server ends."""
        self.send({"id": number, "method": method, "params": params})
        end = time.monotonic() + PATIENCE
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
            return f"{int(kibibytes) // 1024} MiB at most"
        except (OSError, StopIteration):
            return "gone"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def told(line: bytes | None, seconds: float, peak: str) -> str:
    if line is None:
        return f"no answer in {PATIENCE} s ({peak})"
    if not line:
        return "the server dies"
    start = line[:300].decode(errors="replace") + " … " + line[-200:].decode(errors="replace")
    return f"{len(line):,} bytes of reply in {seconds:.2f} s ({peak}) {start if len(line) > 500 else line.decode()}"


def child_lives() -> bool:
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if process.read_bytes() == f"sleep\0{CHILD}\0".encode():
                return True
        except OSError:
            pass
    return False


def find(question: str, names: set[str]):
    return next(((tool, make) for tool, make in QUESTIONS[question] if tool in names), None)


def ask(command: list[str], question: str, at: Places) -> str:
    server = Server(command)
    try:
        listed = json.loads(server.ask(2, "tools/list", {}))["result"]["tools"]
        names = {tool["name"] for tool in listed}
        way = find(question, names)
        if way is None:
            return "has no tool for it"
        if "after four" in question:
            tool, make = find("a FIFO", names)
            for number in range(10, 14):
                server.send({"id": number, "method": "tools/call", "params": {"name": tool, "arguments": make(at)}})
        start = time.monotonic()
        line = server.ask(3, "tools/call", {"name": way[0], "arguments": way[1](at)})
        answer = told(line, time.monotonic() - start, server.peak())
        if question == "background child":
            answer += "; the child lives on" if child_lives() else "; the child is gone"
        return answer
    finally:
        server.close()


def main() -> None:
    tree, big, scratch, *rest = sys.argv[1:]
    servers = []
    for word in rest:
        servers.append([]) if word == "--" else servers[-1].append(word)
    at = Places(tree, big, scratch)
    os.mkfifo(at.fifo)
    for command in servers:
        for question in QUESTIONS:
            print(f"{' '.join(command[:2])}, {question}: {ask(command, question, at)}", flush=True)


main()
