// Tries a recipe between an upstream whose list changes and the server at DIFFSERVER_URL, through a network that loses
// answers. The recipe is a command: node try.mjs COMMAND…; Examples/bff/try does it with all.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import { once } from 'node:events';

const [anna, bert] = ['anna', 'bert'].map((name) => `${name} ${process.pid}`); // of this try alone
const server = process.env.DIFFSERVER_URL ?? 'http://127.0.0.1:8080';

// --- The upstream: a list in a document of its own, with a number that no parser of JavaScript keeps.

const incident = (id, acres) => `{"UniqueId":"${id}","AcresBurned":${acres},"Serial":12345678901234567890}`;
let incidents = [];
const upstream = http.createServer((_, response) => response.end(`{"Incidents":[${incidents}],"AllAcres":5351}`));
await once(upstream.listen(0, '127.0.0.1'), 'listening');

// --- A diffserver behind a network that loses the first answer to each write.

const seen = new Set();
const lossy = http.createServer((request, response) => {
  const forward = http.request(server + request.url, { method: request.method, headers: request.headers }, (answer) => {
    const key = request.headers['idempotency-key'];
    const isLost = key && !seen.has(key);
    seen.add(key);
    if (isLost) return answer.resume().on('end', () => request.socket.destroy());
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  request.pipe(forward);
});
await once(lossy.listen(0, '127.0.0.1'), 'listening');

// --- The recipe.

const [command, ...values] = process.argv.slice(2);
const bff = spawn(command, values, {
  env: {
    ...process.env, PORT: '0', UPSTREAM_URL: `http://127.0.0.1:${upstream.address().port}`,
    DIFFSERVER_URL: `http://127.0.0.1:${lossy.address().port}`,
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});

try {
  const [line] = await once(bff.stdout, 'data');
  const origin = /http:\S+/.exec(line)[0];
  const get = async (path, options) => {
    const answer = await fetch(origin + path, options);
    return { status: answer.status, text: await answer.text() };
  };
  const changes = async (query = '', user = anna) => {
    const { status, text } = await get(`/lists/fires/changes${query}`, { headers: { 'X-User': user } });
    return { status, text, ...JSON.parse(text) };
  };
  let passed = 0;
  const step = (name) => {
    passed += 1;
    console.log(`ok  ${name}`);
  };

  incidents = [incident('a', 1), incident('b', 2)];
  const first = await changes();
  assert.equal(first.status, 201);
  assert.equal(first.reset, 'initial');
  assert.match(first.text, /"Serial":12345678901234567890/);
  step('the first answer is all of it, byte by byte');

  incidents = [incident('b', 3), incident('a', 1), incident('c', 1)];
  const second = await changes(`?since=${first.to}&dialect=staged`);
  assert.equal(second.from, first.to);
  assert.deepEqual(second.changes.map((stage) => stage.name), ['updates', 'items']);
  step('the next one is what changed, in the form that was asked for');

  const again = await changes(`?since=${second.to}`);
  assert.deepEqual([again.to, again.changes], [second.to, []]);
  step('nothing changed, and a lost answer did not make a revision');

  const unknown = await changes('?since=7-0123456789abcdef');
  assert.deepEqual([unknown.status, unknown.reset], [200, 'unknown']);
  step('a revision that is unknown is a reset, not an error');

  assert.equal((await changes('', bert)).to.split('-')[0], '1');
  step('another user has a session of their own');

  const minted = JSON.parse((await get('/lists/fires/token', { method: 'POST', headers: { 'X-User': anna } })).text);
  const headers = { Authorization: `Bearer ${minted.token}` };
  const session = `${server}/v1/sessions/${minted.session}/changes`;
  const direct = await (await fetch(`${session}?since=${second.to}`, { headers })).json();
  assert.deepEqual(direct.changes, []);
  assert.equal((await fetch(session, { method: 'POST', headers, body: '[]' })).status, 403);
  step('a thin client follows the session with its token, and may not write');

  assert.equal((await get('/lists/fires')).status, 404);
  step('nothing else is there');
  console.log(`${passed} passed, 0 failed`);
} finally {
  bff.kill();
  upstream.close();
  lossy.close();
  lossy.closeAllConnections();
}
