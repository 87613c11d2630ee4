#!/usr/bin/env node
// A backend-for-frontend in Node 20, without packages: it fetches an upstream's list, posts it to diffserver as it is, and passes the
// changeset on. docs/bff.md explains each step.
//
//   GET  /lists/{name}/changes?since=…&dialect=…   fetches upstream and answers what changed for this client
//   POST /lists/{name}/token                       gives a thin client a token, with which it follows the session itself

import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';

const {
  DIFFSERVER_URL = 'http://127.0.0.1:8080', DIFFSERVER_SECRET, UPSTREAM_URL = 'http://127.0.0.1:9000',
  ITEMS_AT = '/Incidents', ID_AT = '/UniqueId', PORT = '3000',
} = process.env;

/** A request to diffserver. What may pass is tried again: the body is the same, and so is the key, so nothing is done twice. */
async function ask(method, path, body, headers = {}) {
  if (DIFFSERVER_SECRET) headers.Authorization = `Bearer ${DIFFSERVER_SECRET}`;
  if (method === 'POST') headers['Idempotency-Key'] = randomUUID();
  for (let failures = 0; ; failures += 1) {
    const isLast = failures === 3;
    try {
      const answer = await fetch(DIFFSERVER_URL + path, { method, body, headers, signal: AbortSignal.timeout(10_000) });
      if (isLast || (answer.status < 500 && answer.status !== 429)) return answer;
      await answer.body?.cancel();
      await pause(failures, Number(answer.headers.get('Retry-After')) || 0);
    } catch (error) {
      if (isLast) throw error;
      await pause(failures, 0);
    }
  }
}

/** What `Retry-After` asks for, and some chance, so that not all return as one. */
const pause = (failures, seconds) => new Promise((resolve) => {
  setTimeout(resolve, seconds * 1_000 + (0.5 + Math.random() / 2) * 100 * 2 ** failures);
});

/** One session a user and list: who may see another list must not share it. Names are of `A-Z a-z 0-9 . _ ~ : -`. */
function sessionOf(user, list) {
  return `${list}:${createHash('sha256').update(user).digest('hex').slice(0, 24)}`;
}

/** Who asks. Put your own authentication here. */
const userOf = (request) => request.headers['x-user'] ?? 'guest';

async function changes(request, response, list, query) {
  const upstream = await fetch(`${UPSTREAM_URL}/${list}`, { signal: AbortSignal.timeout(10_000) });
  if (!upstream.ok) return send(response, 502, { title: 'Upstream failed', status: 502 });
  const asked = new URLSearchParams({ itemsAt: ITEMS_AT, idAt: ID_AT });
  // Nothing means everything: a client without a revision gets a reset, and so does one whose revision is unknown.
  asked.set('since', query.get('since') ?? '');
  for (const name of ['dialect', 'staging', 'content']) if (query.has(name)) asked.set(name, query.get(name));
  const session = sessionOf(userOf(request), list);
  // The upstream's bytes go through as they came: parsing and writing them again would change numbers beyond 2^53.
  const body = await upstream.arrayBuffer();
  const answer = await ask('POST', `/v1/sessions/${session}/changes?${asked}`, body, { 'Content-Type': 'application/json' });
  pass(response, answer, await answer.arrayBuffer());
}

async function token(request, response, list) {
  const session = sessionOf(userOf(request), list);
  const answer = await ask('POST', `/v1/sessions/${session}/tokens`, '{"ttl":3600,"scope":["read"]}', { 'Content-Type': 'application/json' });
  const minted = await answer.json();
  send(response, answer.status, answer.ok ? { session, ...minted } : minted);
}

/** Hands an answer on: its status, its type, its bytes, and when to come back. */
function pass(response, answer, body) {
  const fields = { 'Cache-Control': 'no-store' };
  for (const name of ['Content-Type', 'Retry-After']) if (answer.headers.has(name)) fields[name] = answer.headers.get(name);
  response.writeHead(answer.status, fields).end(Buffer.from(body));
}

function send(response, status, value) {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(JSON.stringify(value));
}

const server = http.createServer(async (request, response) => {
  const url = new URL(request.url, 'http://bff');
  const [, list, what] = /^\/lists\/([\w-]{1,64})\/(changes|token)$/.exec(url.pathname) ?? [];
  try {
    if (what === 'changes' && request.method === 'GET') await changes(request, response, list, url.searchParams);
    else if (what === 'token' && request.method === 'POST') await token(request, response, list);
    else send(response, 404, { title: 'Not found', status: 404 });
  } catch (error) {
    console.error(error);
    if (response.headersSent) response.destroy();
    else send(response, 502, { title: 'Bad gateway', status: 502 });
  }
});

server.listen(Number(PORT), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => { server.close(); server.closeAllConnections(); });
