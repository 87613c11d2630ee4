// A server that answers by a script, to provoke every fault at will.

import { createServer } from 'node:http';
import { limited } from './clock.mjs';

const type = { stream: 'text/event-stream', json: 'application/json', problem: 'application/problem+json' };

/**
 * Runs `script`, with one function per request; the last one answers all further requests. Requests are kept in
 * `asked`.
 */
export async function fake(...script) {
  const asked = [];
  const server = createServer((request, response) => {
    const query = Object.fromEntries(new URL(request.url, 'http://x').searchParams);
    asked.push({ url: request.url, query, headers: request.headers, at: performance.now() });
    script[Math.min(asked.length, script.length) - 1](new Talk(response), request);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => { server.closeAllConnections(); server.close(); };
  return { url: `http://127.0.0.1:${server.address().port}/`, asked, close };
}

class Talk {
  constructor(response) { this.response = response; }

  /** Begins a stream; the reader comes back after 20 ms instead of a second. */
  stream(...events) {
    this.response.writeHead(200, { 'Content-Type': type.stream });
    this.response.write('retry: 20\n\n');
    for (const event of events) this.event(event);
    return this;
  }

  event(answer) { this.raw(`event: changes\nid: ${answer.to}\ndata: ${JSON.stringify(answer)}\n\n`); return this; }
  raw(bytes) { this.response.write(bytes); return this; }
  end(problem) { this.raw(`event: end\ndata: ${JSON.stringify(problem)}\n\n`).response.end(); }
  close() { this.response.end(); }
  drop() { this.response.write('', () => this.response.destroy()); }

  json(value) { this.response.writeHead(200, { 'Content-Type': type.json }).end(JSON.stringify(value)); }
  refuse(status, headers = {}, body = JSON.stringify({ title: `Refused ${status}`, status })) {
    this.response.writeHead(status, { 'Content-Type': type.problem, ...headers }).end(body);
  }
}

const items = (ids) => [...ids].map((id) => ({ id }));
export const reset = (to, ids, why = 'initial') => (
  { session: 's', from: null, to, dialect: 'keyed', reset: why, state: { sections: [{ id: 'main', items: items(ids) }] } });
export const append = (from, to, ...ids) => ({
  session: 's', from, to, dialect: 'keyed',
  changes: ids.map((id) => ({ op: 'insert', items: [{ id }], in: 'main', before: null })),
});

/** What a connection shows, and a way to wait until it shows this. */
export function watch() {
  const seen = { ids: '', answers: [], statuses: [] };
  const waiting = [];
  const check = () => {
    for (const wait of [...waiting]) if (wait.claim(seen)) { waiting.splice(waiting.indexOf(wait), 1); wait.resolve(); }
  };
  const options = {
    session: 's',
    onChange(state, answer) {
      seen.ids = state?.sections.flatMap((section) => section.items.map((row) => row.id)).join('') ?? null;
      seen.answers.push(answer);
      check();
    },
    onStatus(status) { seen.statuses.push({ ...status, at: performance.now() }); check(); },
  };
  const until = (claim) => limited(
    new Promise((resolve) => { waiting.push({ claim, resolve }); check(); }), () => `${claim}; seen: ${JSON.stringify(seen)}`);
  return { seen, options, until };
}
