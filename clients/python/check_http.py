"""Tests `eyelet mcp --http` with the official Python SDK, also through a proxy that cuts a stream."""

import asyncio
import contextlib
import logging
import pathlib
import subprocess
import sys
import tempfile

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "0123456789abcdef0123456789abcdef"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


class Warnings(logging.Handler):
    """Collects what the SDK complains about."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Proxy:
    """Forwards connections. When armed, it cuts the next stream after its first event ID, and forwards nothing more until
    `may_reconnect` is set."""

    def __init__(self, port: int) -> None:
        self.server_port = port
        self.is_armed = False
        self.was_cut = asyncio.Event()
        self.may_reconnect = asyncio.Event()
        self.may_reconnect.set()

    async def start(self) -> int:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer) -> None:
        await self.may_reconnect.wait()
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.server_port)

        async def forward(source, target, is_answer) -> None:
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
                if is_answer and self.is_armed and b"\nid: " in data:
                    self.is_armed = False
                    self.may_reconnect.clear()
                    self.was_cut.set()
                    break
            target.close()

        tasks = [
            asyncio.create_task(forward(reader, up_writer, False)),
            asyncio.create_task(forward(up_reader, writer, True)),
        ]
        # The loop ends while connections are open.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for one in (writer, up_writer):
            one.close()


async def lose_an_answer(client: Client, proxy: Proxy, folder: pathlib.Path) -> None:
    """The answer is ready before the client reconnects."""
    proxy.is_armed = True
    command = "until [ -e ready ]; do sleep 0.01; done; echo an answer; : > ended"
    call = asyncio.create_task(client.call_tool("bash", {"command": command}))
    await asyncio.wait_for(proxy.was_cut.wait(), 60)
    (folder / "ready").touch()
    while not (folder / "ended").exists():
        await asyncio.sleep(0.01)
    proxy.may_reconnect.set()
    reply = await asyncio.wait_for(call, 60)
    assert not reply.is_error and "an answer" in reply.content[0].text, reply


async def check(port: int, folder: pathlib.Path, mode: str, version: str) -> None:
    warnings = Warnings()
    logging.getLogger("mcp").addHandler(warnings)
    proxy = Proxy(port)
    url = f"http://127.0.0.1:{await proxy.start()}/mcp"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            assert client.protocol_version == version, client.protocol_version
            listed = await client.list_tools()
            if mode == "auto":
                # The SDK ignores both in the older protocol.
                assert listed.ttl_ms == 60 * 60 * 1000, listed.ttl_ms
                assert listed.cache_scope == "public", listed.cache_scope
            assert listed.meta[SERVER_INFO]["name"] == "eyelet", listed.meta
            reply = await client.call_tool("read", {"path": "a.txt"})
            assert reply.content[0].text == "[lines 1-2 of 2]\none\ntwo\n", reply
            assert reply.meta[SERVER_INFO]["name"] == "eyelet", reply.meta
            if mode == "legacy":
                await lose_an_answer(client, proxy, folder)
    assert not warnings.lines, warnings.lines


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        project = folder / "project"
        project.mkdir()
        (project / "a.txt").write_text("one\ntwo\n")
        (folder / "token").write_text(TOKEN)
        (folder / "token").chmod(0o600)
        flags = ["--http", "127.0.0.1:0", "--http-token-file", str(folder / "token")]
        server = subprocess.Popen(
            [sys.argv[1], "mcp", "--sandbox", "full", "--log", "off", *flags],
            cwd=project,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            url = server.stderr.readline()
            port = int(url.rsplit(":", 1)[1].split("/")[0])
            asyncio.run(check(port, project, "legacy", "2025-11-25"))
            asyncio.run(check(port, project, "auto", "2026-07-28"))
        finally:
            server.kill()
            server.wait()
    print("python over HTTP: both handshakes, a lost answer and the end of a session passed")


main()
