// Tests `eyelet mcp --http` with the official TypeScript SDKs 1.x and 2.x, through a proxy that cuts a stream.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const TOKEN = '0123456789abcdef0123456789abcdef';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

async function until(condition) {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 6000, condition.toString());
    await sleep(10);
  }
}

// Forwards connections. When armed, it cuts the next stream after its first event ID, and then accepts nothing until
// `mayReconnect` is set.
class Proxy {
  isArmed = false;
  wasCut = false;
  mayReconnect = true;

  async start(port) {
    this.server = net.createServer(async (client) => {
      client.on('error', () => {});
      client.pause();
      await until(() => this.mayReconnect);
      const server = net.connect(port, '127.0.0.1');
      server.on('error', () => client.destroy());
      client.on('close', () => server.destroy());
      server.on('end', () => client.end());
      client.pipe(server);
      server.on('data', (data) => {
        client.write(data);
        if (this.isArmed && data.includes('\nid: ')) {
          this.isArmed = false;
          this.wasCut = true;
          this.mayReconnect = false;
          client.end();
          server.destroy();
        }
      });
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this.server.address().port;
  }
}

async function check(name, sdk, eyelet) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'eyelet-js-')));
  const project = join(folder, 'project');
  const token = join(folder, 'token');
  mkdirSync(project);
  writeFileSync(join(project, 'a.txt'), 'one\ntwo\n');
  writeFileSync(token, TOKEN);
  chmodSync(token, 0o600);
  const args = ['mcp', '--sandbox', 'full', '--log', 'off', '--http', '127.0.0.1:0', '--http-token-file', token];
  const server = spawn(eyelet, args, { cwd: project, stdio: ['ignore', 'ignore', 'pipe'] });
  const proxy = new Proxy();
  try {
    const lines = createInterface({ input: server.stderr });
    const [line] = await new Promise((resolve) => lines.once('line', (line) => resolve([line])));
    const port = Number(/:(\d+)\/mcp/.exec(line)[1]);
    const url = new URL(`http://127.0.0.1:${await proxy.start(port)}/mcp`);
    const client = new sdk.Client({ name: 'check', version: '1' }, { capabilities: {} });
    const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
    const transport = new sdk.StreamableHTTPClientTransport(url, { requestInit });
    await client.connect(transport);
    const listed = await client.listTools();
    assert.equal(listed._meta[SERVER_INFO].name, 'eyelet');
    const call = (tool, args) => client.callTool({ name: tool, arguments: args });
    const read = await call('read', { path: 'a.txt' });
    assert.equal(read.content[0].text, '[lines 1-2 of 2]\none\ntwo\n');
    // The answer is ready before the client reconnects.
    proxy.isArmed = true;
    const waiting = call('bash', { command: 'until [ -e ready ]; do sleep 0.01; done; echo an answer; : > ended' });
    await until(() => proxy.wasCut);
    writeFileSync(join(project, 'ready'), '');
    await until(() => existsSync(join(project, 'ended')));
    proxy.mayReconnect = true;
    assert.match((await waiting).content[0].text, /an answer/);
    await transport.terminateSession();
    await client.close();
    console.log(`${name} over HTTP: calls, a lost answer and the end of a session passed`);
  } finally {
    server.kill('SIGKILL');
    proxy.server?.close();
    rmSync(folder, { recursive: true });
  }
}

const eyelet = process.argv[2];
const one = {
  ...(await import('@modelcontextprotocol/sdk/client/index.js')),
  ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
};
await check('typescript 1.x', one, eyelet);
await check('typescript 2.x', await import('@modelcontextprotocol/client'), eyelet);
process.exit(0);
