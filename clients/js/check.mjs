// Tests `eyelet mcp` with the official TypeScript SDKs 1.x and 2.x.

import assert from 'node:assert/strict';
import { mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const eyelet = process.argv[2];

async function checkJobs(call) {
  const text = async (name, args) => {
    const reply = await call(name, args);
    assert.ok(!reply.isError, reply.content[0].text);
    return reply.content[0].text;
  };
  // It starts ...
  const command = 'echo up; until [ -e go ]; do sleep 0.05; done; echo done; exec sleep 1000';
  let said = await text('bash', { command, background: true });
  assert.match(said, /^\[job 1 running, [^]*\nup\n$/);
  assert.match(await text('jobs', {}), /^1 running /);
  // ... is polled ...
  await text('bash', { command: 'touch go' });
  while (!said.endsWith('\nup\ndone\n')) {
    said = await text('jobs', { job: 1, wait_secs: 1 });
    assert.match(said, /^\[job 1 running, /);
  }
  // ... and stopped.
  assert.match(await text('jobs', { job: 1, stop: true }), /^\[job 1 killed, /);
  assert.match(await text('jobs', {}), /^1 killed after /);
}

async function check(name, sdk, options) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'eyelet-js-')));
  try {
    writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n');
    mkdirSync(join(folder, 'src'));
    const client = new sdk.Client({ name: 'check', version: '1' }, options);
    client.onerror = (error) => {
      throw error;
    };
    const args = ['mcp', '--sandbox', 'full'];
    await client.connect(new sdk.StdioClientTransport({ command: eyelet, args, cwd: folder }));
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ['list_dir', 'find_files', 'grep_files', 'read', 'bash', 'jobs']);
    const call = (name, args) => client.callTool({ name, arguments: args });
    const read = await call('read', { path: 'a.txt' });
    assert.deepEqual(read.content, [{ type: 'text', text: '[lines 1-2 of 2]\none\ntwo\n' }]);
    const listed = await call('list_dir', { dir_path: folder });
    assert.equal(listed.content[0].text, `Absolute path: ${folder}\na.txt\nsrc/`);
    const outside = await call('read', { path: '/etc/passwd' });
    assert.equal(outside.isError, true);
    const many = await Promise.all(
      Array.from({ length: 40 }, (_, i) => call(i % 2 ? 'bash' : 'read', i % 2 ? { command: `echo ${i}` } : { path: 'a.txt' })),
    );
    assert.ok(many.every((reply) => !reply.isError));
    await checkJobs(call);
    await client.close();
    console.log(`${name}: handshake, tools, calls, jobs, errors and 40 concurrent calls passed`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const one = {
  ...(await import('@modelcontextprotocol/sdk/client/index.js')),
  ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
};
await check('typescript 1.x', one, { capabilities: {} });
const two = {
  ...(await import('@modelcontextprotocol/client')),
  ...(await import('@modelcontextprotocol/client/stdio')),
};
await check('typescript 2.x', two, { capabilities: {} });
