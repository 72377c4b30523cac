// Runs scenarios of the MCP conformance suite against a server over HTTP.
// Usage: conformance.mjs SCENARIO... -- PROGRAM ARGUMENT...
// Adds the origin of the suite's requests as the last argument of PROGRAM.
//
// The suite cannot send a token, so a proxy adds it. The proxy changes nothing else.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const words = process.argv.slice(2);
const scenarios = words.slice(0, words.indexOf('--'));
const [program, ...args] = words.slice(words.indexOf('--') + 1);

let target, token;
const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const forwarded = http.request(
    { host: target.hostname, port: target.port, method: request.method, path: request.url, headers },
    (reply) => {
      response.writeHead(reply.statusCode, reply.headers);
      reply.pipe(response);
    },
  );
  forwarded.on('error', () => response.destroy());
  request.pipe(forwarded);
});
await new Promise((ready) => proxy.listen(0, '127.0.0.1', ready));
const { port } = proxy.address();
const state = mkdtempSync(join(tmpdir(), 'eyelet-js-'));
const server = spawn(program, [...args, `http://127.0.0.1:${port}`], {
  env: { ...process.env, XDG_STATE_HOME: state },
  stdio: ['ignore', 'ignore', 'pipe'],
});
let failed = [];
try {
  const lines = createInterface({ input: server.stderr })[Symbol.asyncIterator]();
  target = new URL((await lines.next()).value.split(' ').at(-1));
  // The token, or the file that contains it.
  const line = (await lines.next()).value;
  const file = /with the token in `(.*)`/.exec(line)?.[1];
  token = file ? readFileSync(file, 'utf8').trim() : line.split(' ').at(-1);
  const url = `http://127.0.0.1:${port}/mcp`;
  const entry = new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url);
  for (const scenario of scenarios) {
    const run = spawn(process.execPath, [fileURLToPath(entry), 'server', '--url', url, '--scenario', scenario], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    run.stdout.on('data', (data) => (printed += data));
    run.stderr.on('data', (data) => (printed += data));
    const code = await new Promise((ended) => run.on('close', ended));
    // The suite prints the number of passed checks, and warnings for recommendations.
    const counts = printed.match(/^Passed: .*$/m)?.[0] ?? 'no result';
    const passed = code === 0 && /^Passed: [1-9]/.test(counts);
    console.log(`conformance ${scenario}: ${passed ? counts : printed}`);
    if (!passed) failed.push(scenario);
  }
  proxy.close();
  proxy.closeAllConnections();
} finally {
  server.kill();
  rmSync(state, { recursive: true });
}
process.exit(failed.length === 0 ? 0 : 1);
