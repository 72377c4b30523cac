// Starts the server of an unpacked bundle as its manifest says, and talks to it. Usage: node check.mjs DIRECTORY ROOT
import { spawn } from "node:child_process";
import { deepStrictEqual as same, ok } from "node:assert";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";

const [directory, root] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync(join(directory, "manifest.json"), "utf8"));
const config = (userConfig) =>
  getMcpConfigForManifest({ manifest, extensionPath: directory, systemDirs: {}, userConfig, pathSeparator: "/" });

// The server must not start without a root.
same(await config({}), undefined);

mkdirSync(root, { recursive: true });
writeFileSync(join(root, "a.txt"), "one\ntwo\n");
const { command, args, env } = await config({ root });
// Hosts start servers in a directory of their own.
const server = spawn(command, args, { cwd: "/", env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "inherit"] });
const exit = new Promise((resolve, reject) => server.on("exit", resolve).on("error", reject));
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
const deadline = setTimeout(() => server.kill("SIGKILL"), 60_000);

const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
let id = 0;
async function request(method, params) {
  id += 1;
  send({ id, method, params });
  for (;;) {
    const { value, done } = await lines.next();
    ok(!done, `the server ended before it answered ${method}`);
    const message = JSON.parse(value);
    if (message.id === id && message.method === undefined) {
      ok(message.result, value);
      return message.result;
    }
  }
}

const { serverInfo } = await request("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "check", version: "1" },
});
same([serverInfo.name, serverInfo.version], [manifest.name, manifest.version]);
send({ method: "notifications/initialized" });

const { tools } = await request("tools/list", {});
const names = (list) => list.map((tool) => tool.name);
same(names(tools), names(manifest.tools));

const read = async (path) => request("tools/call", { name: "read", arguments: { path } });
const inside = await read(join(root, "a.txt"));
same([inside.isError ?? false, inside.content[0].text], [false, "[lines 1-2 of 2]\none\ntwo\n"]);
const outside = await read("/etc/passwd");
same(outside.isError, true);

server.stdin.end();
same(await exit, 0);
clearTimeout(deadline);
console.log(`bundle: started ${[command, ...args].join(" ").replaceAll(directory, "BUNDLE").replaceAll(root, "ROOT")}, tools ${names(tools).join(", ")}`);
