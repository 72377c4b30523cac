// The conformance suite against `eyelet mcp --http`: the scenarios that need no fixtures.
//
// The suite cannot send a token, so a proxy adds it; everything else passes through unchanged.

import { spawn } from 'node:child_process';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'server-sse-multiple-streams',
  'server-sse-polling',
  'dns-rebinding-protection',
];

let target, token;
const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const onward = http.request(
    { host: target.hostname, port: target.port, method: request.method, path: request.url, headers },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on('error', () => response.destroy());
  request.pipe(onward);
});
await new Promise((ready) => proxy.listen(0, '127.0.0.1', ready));
const { port } = proxy.address();
const origins = ['localhost', '127.0.0.1'].flatMap((host) => ['--http-origin', `http://${host}:${port}`]);
const server = spawn(process.argv[2], ['mcp', '--http', '127.0.0.1:0', ...origins], {
  stdio: ['ignore', 'ignore', 'pipe'],
});
let failed = [];
try {
  const lines = createInterface({ input: server.stderr })[Symbol.asyncIterator]();
  target = new URL((await lines.next()).value.split(' ').at(-1));
  token = (await lines.next()).value.split(' ').at(-1);
  const url = `http://127.0.0.1:${port}/mcp`;
  const entry = new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url);
  for (const scenario of process.argv.length > 3 ? process.argv.slice(3) : SCENARIOS) {
    const args = [fileURLToPath(entry), 'server', '--url', url, '--scenario', scenario];
    const run = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    run.stdout.on('data', (data) => (said += data));
    run.stderr.on('data', (data) => (said += data));
    const code = await new Promise((ended) => run.on('close', ended));
    console.log(`conformance ${scenario}: ${code === 0 ? 'passed' : said}`);
    if (code !== 0) failed.push(scenario);
  }
  proxy.close();
  proxy.closeAllConnections();
} finally {
  server.kill();
}
process.exit(failed.length === 0 ? 0 : 1);
