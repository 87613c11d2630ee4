import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ProblemError, connect } from '../../Clients/js/client.js';
import { later, stays, waitFor } from './support/clock.mjs';
import { append, fake, reset, watch } from './support/fake.mjs';
import { call, freePort, start } from './support/server.mjs';

const idsOf = (state) => state.sections.flatMap(({ items }) => items.map(({ id }) => id)).join('');

let server;
before(async () => { server = await start(await freePort()); });
after(() => server.stop());

// MARK: Signals

test('a signal closes the connection, and its request with it', async () => {
  let isEnded = false;
  const server = await fake((talk) => {
    talk.response.on('close', () => { isEnded = true; });
    talk.stream(reset('1-a', 'a'));
  });
  const control = new AbortController();
  const { options, until: sees, seen } = watch();
  const connection = connect(server.url, { ...options, signal: control.signal });
  await sees(({ ids }) => ids === 'a');
  control.abort();
  assert.equal(connection.status, 'closed');
  await waitFor(() => isEnded);
  assert.equal(server.asked.length, 1);
  assert.equal(seen.answers.length, 1);
  server.close();
});

test('a signal that is aborted already lets nothing begin', async () => {
  const server = await fake((talk) => talk.stream());
  const connection = connect(server.url, { session: 's', signal: AbortSignal.abort() });
  assert.equal(connection.status, 'closed');
  connection.reconnect();
  for await (const update of connection) assert.fail(JSON.stringify(update));
  assert.equal(server.asked.length, 0);
  server.close();
});

// MARK: Loops

test('a loop is given each state, and ends with the connection', async () => {
  const server = await fake((talk) => { talk.stream(reset('1-a', 'a')); later(60, 'a slow server', () => talk.event(append('1-a', '2-b', 'b'))); });
  const seen = [];
  const connection = connect(server.url, { session: 's' });
  for await (const { state, answer } of connection) {
    seen.push([idsOf(state), answer.reset, answer.changes?.length]);
    if (seen.length === 2) setImmediate(connection.close);
  }
  assert.deepEqual(seen, [['a', 'initial', undefined], ['ab', undefined, 1]]);
  server.close();
});

test('a loop that is left closes the connection', async () => {
  const server = await fake((talk) => talk.stream(reset('1-a', 'a')));
  const connection = connect(server.url, { session: 's' });
  for await (const { state } of connection) {
    assert.equal(idsOf(state), 'a');
    break;
  }
  assert.equal(connection.status, 'closed');
  server.close();
});

test('a loop ends without an error when it is aborted', async () => {
  const server = await fake((talk) => talk.stream(reset('1-a', 'a')));
  const control = new AbortController();
  let count = 0;
  for await (const update of connect(server.url, { session: 's', signal: control.signal })) {
    count += Boolean(update);
    later(20, 'a reader who leaves', () => control.abort());
  }
  assert.equal(count, 1);
  server.close();
});

test('a loop that is busy is given the newest state next, without changes that would not lead there', async () => {
  const server = await fake((talk) => { talk.stream(reset('1-a', 'a')); later(20, 'a slow server', () => talk.event(append('1-a', '2-b', 'b')).event(append('2-b', '3-c', 'c'))); });
  const seen = [];
  const connection = connect(server.url, { session: 's' });
  for await (const { state, answer } of connection) {
    seen.push([idsOf(state), answer.to, 'changes' in answer]);
    if (seen.length === 1) await waitFor(() => connection.revision === '3-c');
    else connection.close();
  }
  assert.deepEqual(seen, [['a', '1-a', false], ['abc', '3-c', false]]);
  server.close();
});

test('a loop that begins late begins with what there is', async () => {
  const server = await fake((talk) => talk.stream(reset('1-a', 'a')));
  const connection = connect(server.url, { session: 's' });
  await waitFor(() => connection.state);
  for await (const { state, answer } of connection) {
    assert.deepEqual([idsOf(state), answer.to], ['a', '1-a']);
    break;
  }
  server.close();
});

test('in other dialects a busy loop is given every answer', async () => {
  const first = { ...reset('1-a', 'a'), dialect: 'staged' };
  const next = (from, to) => ({ session: 's', from, to, dialect: 'staged', changes: [{ name: 'items' }] });
  const server = await fake((talk) => talk.stream(first, next('1-a', '2-b'), next('2-b', '3-c')));
  const seen = [];
  const connection = connect(server.url, { session: 's', dialect: 'staged' });
  for await (const { state, answer } of connection) {
    assert.equal(state, null);
    seen.push(answer.to);
    await waitFor(() => connection.revision === '3-c');
    if (seen.length === 3) break;
  }
  assert.deepEqual(seen, ['1-a', '2-b', '3-c']);
  server.close();
});

test('of counts a busy loop is given the newest', async () => {
  const counts = (to, inserted) => ({ session: 's', from: '1-a', to, dialect: 'counts', changes: { items: { inserted } } });
  const server = await fake((talk) => { talk.stream(counts('2-b', 1)); later(20, 'a slow server', () => talk.event(counts('3-c', 2)).event(counts('4-d', 3))); });
  const seen = [];
  let count = 0;
  for await (const { answer } of connect(server.url, { session: 's', dialect: 'counts', since: '1-a', onChange() { count += 1; } })) {
    seen.push(answer.changes.items.inserted);
    await waitFor(() => count === 3);
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, [1, 3]);
  server.close();
});

test('a loop throws the problem when asking again cannot help', async () => {
  const server = await fake((talk) => talk.refuse(403));
  await assert.rejects(async () => {
    for await (const update of connect(server.url, { session: 's' })) assert.fail(JSON.stringify(update));
  }, (error) => error instanceof ProblemError && error.problem.status === 403);
  server.close();
});

test('loops and edits together: an edit is in the next state at once', async () => {
  await call('PUT', `${server.url}/v1/sessions/both`, { state: ['a', 'b', 'c'] });
  const connection = connect(server.url, { session: 'both' });
  const seen = [];
  for await (const { state } of connection) {
    seen.push(idsOf(state));
    if (seen.length === 1) connection.edit([{ op: 'move', items: ['c'], at: 'start' }]).then(() => later(50, 'a stream that brings it, too', connection.close));
  }
  assert.equal(seen[0], 'abc');
  assert.deepEqual([...new Set(seen.slice(1))], ['cab']);
});

// MARK: Waking

/** Events as a browser sends them, and whether its page is visible. */
function page(t) {
  const events = new EventTarget();
  const names = { addEventListener: events.addEventListener.bind(events), removeEventListener: events.removeEventListener.bind(events), document: { hidden: false } };
  Object.assign(globalThis, names);
  t.after(() => { for (const name of Object.keys(names)) delete globalThis[name]; });
  return { hide: (hidden) => { document.hidden = hidden; }, send: (name) => events.dispatchEvent(new Event(name)) };
}
const waits = ({ statuses }) => statuses.at(-1)?.status === 'waiting';

for (const event of ['online', 'visibilitychange']) {
  test(`${event}: what waits in a back-off asks at once`, async (t) => {
    const { send } = page(t);
    // The first delay of this server is half a minute.
    const server = await fake((talk) => { talk.stream(reset('1-a', 'a')).raw('retry: 30000\n\n'); later(50, 'a server that goes', () => talk.drop()); },
      (talk) => talk.stream(append('1-a', '2-b', 'b')));
    const { options, until: sees } = watch();
    const connection = connect(server.url, options);
    await sees(waits);
    assert.equal(server.asked.length, 1);
    send(event);
    await sees(({ ids }) => ids === 'ab');
    connection.close();
    server.close();
  });

  test(`${event}: a delay that the server named holds`, async (t) => {
    const { send } = page(t);
    const server = await fake((talk) => talk.refuse(503, { 'Retry-After': '1' }), (talk) => talk.stream(reset('1-a', 'a')));
    const { options, until: sees } = watch();
    const connection = connect(server.url, options);
    await sees(waits);
    send(event);
    await sees(({ ids }) => ids === 'a');
    assert.ok(server.asked[1].at - server.asked[0].at >= 1_000);
    connection.close();
    server.close();
  });
}

test('a page that is hidden wakes nothing, and a closed connection stays closed', async (t) => {
  const { send, hide } = page(t);
  const server = await fake((talk) => { talk.stream(reset('1-a', 'a')).raw('retry: 30000\n\n'); later(50, 'a server that goes', () => talk.drop()); });
  const { options, until: sees } = watch();
  const connection = connect(server.url, options);
  await sees(waits);
  hide(true);
  send('visibilitychange');
  await stays(() => server.asked.length === 1, 'a hidden page asks nothing', 100);
  connection.close();
  hide(false);
  for (const name of ['online', 'visibilitychange']) send(name);
  await stays(() => server.asked.length === 1, 'what is closed asks nothing', 100);
  server.close();
});

test('online: a stream that seems to live is opened anew, from mine', async (t) => {
  const { send } = page(t);
  const server = await fake((talk) => talk.stream(reset('1-a', 'a')), (talk) => talk.stream(append('1-a', '2-b', 'b')));
  const { options, until: sees, seen } = watch();
  const connection = connect(server.url, options);
  await sees(({ ids }) => ids === 'a');
  send('online');
  await sees(({ ids }) => ids === 'ab');
  assert.equal(server.asked[1].query.since, '1-a');
  assert.ok(!seen.statuses.some(({ status }) => status === 'waiting'));
  connection.close();
  server.close();
});

test('reconnect asks at once: in a back-off, after a delay that was named, and where it had stopped', async () => {
  const server = await fake((talk) => talk.refuse(503, { 'Retry-After': '60' }), (talk) => talk.refuse(403), (talk) => talk.stream(reset('1-a', 'a')));
  const { options, until: sees } = watch();
  const connection = connect(server.url, options);
  await sees(waits);
  connection.reconnect();
  await sees(({ statuses }) => statuses.at(-1).status === 'stopped');
  connection.reconnect();
  await sees(({ ids }) => ids === 'a');
  assert.equal(server.asked.length, 3);
  connection.close();
  connection.reconnect();
  await stays(() => server.asked.length === 3, 'what is closed asks nothing', 50);
  server.close();
});

// MARK: Posts

test('post: the reader was first, and sees the state that makes the session', async () => {
  const { options, until: sees } = watch();
  const connection = connect(server.url, { ...options, session: 'first' });
  const revision = await connection.post(['x', 'y']);
  assert.equal(connection.revision, revision);
  await sees(({ ids }) => ids === 'xy');
  await connection.post({ rows: [{ key: 'z' }], next: 7 }, { itemsAt: '/rows', idAt: '/key', rest: true });
  await sees(({ ids }) => ids === 'z');
  assert.deepEqual(connection.state.content, { next: 7 });
  connection.close();
});

test('post: where the revision is another, nothing is written, and the problem says which it is', async () => {
  const connection = connect(server.url, { session: 'strict' });
  const first = await connection.post(['a']);
  const second = await connection.post(['a', 'b'], { ifMatch: first });
  await assert.rejects(connection.post(['c'], { ifMatch: first }),
    (error) => error instanceof ProblemError && error.problem.status === 412 && error.problem.current === second);
  assert.equal(idsOf(connection.state), 'ab');
  connection.close();
});

test('post: lost answers are asked for again under one key, refusals are not', async () => {
  const script = [(talk) => talk.response.destroy(), (talk) => talk.refuse(503, { 'Retry-After': '0' }), (talk) => talk.json(append('1-a', '2-b', 'b')), (talk) => talk.refuse(422)];
  const server = await fake((talk, request) => {
    if (request.method === 'POST') script.shift()(talk);
    else if (request.headers.accept === 'text/event-stream') talk.stream(reset('1-a', 'a'));
    else talk.json(append('1-a', '2-b', 'b'));
  });
  const { options, until: sees } = watch();
  const connection = connect(server.url, options);
  await sees(({ ids }) => ids === 'a');
  assert.equal(await connection.post(['a', 'b']), '2-b');
  assert.equal(idsOf(connection.state), 'ab');
  const posts = server.asked.filter(({ headers }) => headers['idempotency-key']);
  assert.equal(posts.length, 3);
  assert.equal(new Set(posts.map(({ headers }) => headers['idempotency-key'])).size, 1);
  await assert.rejects(connection.post(['c']), ({ problem }) => problem.status === 422);
  connection.close();
  server.close();
});

test('posts and edits are sent in their order', async () => {
  const connection = connect(server.url, { session: 'order' });
  const all = [
    connection.post(['a', 'b', 'c']), connection.edit([{ op: 'move', items: ['c'], at: 'start' }]),
    connection.post(['d', 'a', 'b']), connection.edit([{ op: 'delete', items: ['a'] }]),
  ];
  const revisions = await Promise.all(all);
  assert.deepEqual(revisions.map(Number.parseFloat), [1, 2, 3, 4]);
  assert.equal(idsOf(connection.state), 'db');
  connection.close();
});

for (const dialect of ['staged', 'sequential', 'counts', 'json-patch']) {
  test(`post: in the dialect ${dialect}`, async () => {
    await call('PUT', `${server.url}/v1/sessions/post-${dialect}`, { state: ['a'] });
    const answers = [];
    const connection = connect(server.url, { session: `post-${dialect}`, dialect, onChange: (_, answer) => answers.push(answer) });
    await waitFor(() => answers.length);
    const revision = await connection.post(['b', 'a']);
    await waitFor(() => answers.at(-1).to === revision);
    connection.close();
  });
}
