"""Tests `eyelet mcp` with the official Python SDK, with both handshakes."""

import asyncio
import pathlib
import sys
import tempfile

from mcp import Client, StdioServerParameters
from mcp import types


async def check_jobs(client: Client) -> None:
    async def call(tool: str, **arguments) -> str:
        reply = await client.call_tool(tool, arguments)
        assert not reply.is_error and len(reply.content) == 1, reply
        return reply.content[0].text

    # It starts ...
    command = "echo up; until [ -e go ]; do sleep 0.05; done; echo done; exec sleep 1000"
    text = await call("bash", command=command, background=True)
    assert text.startswith("[job 1 running, ") and text.endswith("\nup\n"), text
    assert (await call("jobs")).startswith("1 running "), text
    # ... is polled ...
    await call("bash", command="touch go")
    while not text.endswith("\nup\ndone\n"):
        text = await call("jobs", job=1, wait_secs=1)
        assert text.startswith("[job 1 running, "), text
    # ... and stopped.
    text = await call("jobs", job=1, stop=True)
    assert text.startswith("[job 1 killed, "), text
    assert (await call("jobs")).startswith("1 killed after "), text
    await call("bash", command="rm go")


async def check(eyelet: str, folder: str, mode: str, version: str) -> None:
    server = StdioServerParameters(
        command=eyelet, args=["mcp", "--sandbox", "full"], cwd=folder
    )

    async def roots(_context):
        return types.ListRootsResult(roots=[types.Root(uri=f"file://{folder}/src")])

    async with Client(server, mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        assert names == [
            "list_dir",
            "find_files",
            "grep_files",
            "read",
            "bash",
            "jobs",
        ], names
        reply = await client.call_tool("read", {"path": "a.txt"})
        assert not reply.is_error and len(reply.content) == 1, reply
        assert reply.content[0].text == "[lines 1-2 of 2]\none\ntwo\n", reply
        reply = await client.call_tool("bash", {"command": "echo hi; exit 3"})
        assert reply.content[0].text.startswith("[exit 3; stdout 1 line"), reply
        await check_jobs(client)
        reply = await client.call_tool("read", {"path": "/etc/passwd"})
        assert reply.is_error and "outside the roots" in reply.content[0].text, reply

    async with Client(server, mode=mode, list_roots_callback=roots) as client:
        reply = await client.call_tool("read", {"path": f"{folder}/src/b.txt"})
        assert not reply.is_error, reply
        reply = await client.call_tool("read", {"path": f"{folder}/a.txt"})
        assert reply.is_error and "outside the roots" in reply.content[0].text, reply


def main() -> None:
    eyelet = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = str(pathlib.Path(folder).resolve())
        pathlib.Path(folder, "a.txt").write_text("one\ntwo\n")
        pathlib.Path(folder, "src").mkdir()
        pathlib.Path(folder, "src", "b.txt").write_text("three\n")
        asyncio.run(check(eyelet, folder, "legacy", "2025-11-25"))
        asyncio.run(check(eyelet, folder, "auto", "2026-07-28"))
    print("python: both handshakes, tools, calls, jobs, errors and roots passed")


main()
