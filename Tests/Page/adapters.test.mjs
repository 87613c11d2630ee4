import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { list } from '../../Clients/js/svelte.js';
import { listStore } from '../../Clients/js/store.js';
import { stays, waitFor } from './support/clock.mjs';
import { append, fake, reset } from './support/fake.mjs';
import { installed } from './support/package.mjs';
import { call, freePort, start } from './support/server.mjs';

const ids = (rows) => rows.map(({ id }) => id).join('');

let server;
before(async () => { server = await start(await freePort()); });
after(() => server.stop());

/** How many streams the server says it has open on a session. */
async function readers(session) {
  const { body } = await call('GET', `${server.url}/v1/sessions`);
  return body.sessions.find((each) => each.session === session).readers;
}

// MARK: The store

test('store: one connection for all who listen, closed with the last, resumed by the next', async () => {
  let open = 0;
  const serve = (...events) => (talk) => { open += 1; talk.response.on('close', () => { open -= 1; }); talk.stream(...events); };
  const server = await fake(serve(reset('1-a', 'a')), serve(append('1-a', '2-b', 'b')));
  const store = listStore(server.url, { session: 's' });
  await stays(() => server.asked.length === 0, 'nothing is asked where nobody listens', 50);
  const told = [0, 0];
  const leave = [0, 1].map((at) => store.subscribe(() => { told[at] += 1; }));
  await waitFor(() => ids(store.get().rows) === 'a' && store.get().status === 'live');
  const given = store.get();
  assert.equal(server.asked.length, 1);
  assert.ok(told[0] && told[0] === told[1]);
  leave[0]();
  leave[0]();
  await stays(() => open === 1, 'one listens still', 50);
  leave[1]();
  await waitFor(() => open === 0);
  assert.equal(store.get(), given, 'what was shown stays');
  const stop = store.subscribe(() => {});
  await waitFor(() => ids(store.get().rows) === 'ab');
  assert.equal(server.asked[1].query.since, '1-a');
  assert.equal(store.get().rows[0], given.rows[0], 'the same row');
  stop();
  server.close();
});

test('store: who comes and goes at once, as StrictMode does, asks once', async () => {
  const server = await fake((talk) => talk.stream(reset('1-a', 'a')));
  const store = listStore(server.url, { session: 's' });
  store.subscribe(() => {})();
  const stop = store.subscribe(() => {});
  await waitFor(() => ids(store.get().rows) === 'a');
  assert.equal(server.asked.length, 1);
  stop();
  server.close();
});

test('store: a window is moved, and not asked for again where it is the same', async () => {
  const server = await fake((talk) => talk.stream({ ...reset('1-a~0.1.5', 'a'), window: { anchor: 'a', above: 0, below: 5 } }),
    (talk) => talk.stream(append('1-a~0.1.5', '1-a~0.2.4', 'b')), (talk) => talk.stream());
  const store = listStore(server.url, { session: 's', window: { at: 'start', after: 1 } });
  const stop = store.subscribe(() => {});
  await waitFor(() => ids(store.get().rows) === 'a');
  assert.equal(store.get().window.below, 5);
  store.get().show({ at: 'start', after: 1 });
  store.get().show({ at: 'start', after: 2 });
  await waitFor(() => ids(store.get().rows) === 'ab');
  assert.deepEqual(server.asked.map(({ query }) => query.after), ['1', '2']);
  store.get().show();
  await waitFor(() => server.asked.length === 3);
  assert.equal(server.asked[2].query.at, undefined);
  stop();
  server.close();
});

test('store: a problem is told, and reconnect begins anew', async () => {
  const server = await fake((talk) => talk.refuse(403), (talk) => talk.stream(reset('1-a', 'a')));
  const store = listStore(server.url, { session: 's' });
  const stop = store.subscribe(() => {});
  await waitFor(() => store.get().status === 'stopped');
  assert.equal(store.get().problem.status, 403);
  store.get().reconnect();
  await waitFor(() => ids(store.get().rows) === 'a' && store.get().status === 'live');
  assert.equal(store.get().problem, null);
  stop();
  server.close();
});

test('store: it is written to while it is followed, and else refuses', async () => {
  const store = listStore(server.url, { session: 'written' });
  await assert.rejects(store.get().post(['a']), /not followed/);
  const stop = store.subscribe(() => {});
  await store.get().post(['a', 'b']);
  const done = store.get().edit([{ op: 'move', items: ['b'], at: 'start' }]);
  await waitFor(() => ids(store.get().rows) === 'ba');
  await done;
  stop();
});

test('store: an edit that nobody waits for is not shown to who comes back', async () => {
  const control = new AbortController();
  const server = await fake((talk, request) => (request.method === 'POST' ? undefined : talk.stream(reset('1-a', 'ab'))));
  const store = listStore(server.url, { session: 's' });
  const stop = store.subscribe(() => {});
  await waitFor(() => ids(store.get().rows) === 'ab');
  const done = store.get().edit([{ op: 'delete', items: ['a'] }], { signal: control.signal });
  await waitFor(() => ids(store.get().rows) === 'b');
  stop();
  assert.equal(ids(store.get().rows), 'ab');
  control.abort();
  await assert.rejects(done);
  server.close();
});

test('store: a silent source is told, and what waits for the server, to whoever listens', async () => {
  let answer, stream;
  const server = await fake((talk) => { stream = talk.stream({ ...reset('1-a', 'ab'), stale: 33 }); },
    (talk) => { answer = () => talk.json({ ...append('1-a', '2-b'), changes: [{ op: 'remove', items: ['a'] }] }); }, (talk) => talk.stream());
  const store = listStore(server.url, { session: 's' });
  const told = [];
  const stop = store.subscribe(() => told.push([store.get().stale, store.get().pending.count]));
  assert.deepEqual([store.get().stale, store.get().pending.count, store.get().pending.has('a')], [undefined, 0, false]);
  await waitFor(() => store.get().stale === 33);
  stream.event({ ...append('1-a', '1-a'), changes: [] });
  await waitFor(() => store.get().stale === undefined && store.get().status === 'live');
  const done = store.get().edit([{ op: 'delete', items: ['a'] }]);
  await waitFor(() => store.get().pending.count === 1 && answer);
  const { pending } = store.get();
  assert.deepEqual(['a', 'b'].map((id) => pending.has(id)), [true, false]);
  assert.deepEqual(['items', 'sections'].map((kind) => pending.has('a', kind)), [true, false]);
  answer();
  stream.event({ ...append('1-a', '2-b'), changes: [{ op: 'remove', items: ['a'] }] });
  await done;
  assert.equal(store.get().pending.count, 0);
  assert.ok(told.some(([stale]) => stale === 33) && told.some(([, count]) => count === 1));
  assert.deepEqual(told.at(-1), [undefined, 0]);
  stop();
  server.close();
});

test('store: nothing waits, and nothing is silent, for who comes back', async () => {
  const server = await fake((talk) => talk.stream({ ...reset('1-a', 'ab'), stale: 9 }), () => {}, (talk) => talk.stream());
  const control = new AbortController();
  const store = listStore(server.url, { session: 's' });
  const stop = [0, 1].map(() => store.subscribe(() => {}));
  await waitFor(() => store.get().stale === 9);
  const done = store.get().edit([{ op: 'delete', items: ['a'] }], { signal: control.signal });
  await waitFor(() => store.get().pending.has('a'));
  stop[0]();
  assert.equal(store.get().pending.count, 1, 'somebody listens still');
  control.abort();
  await assert.rejects(done);
  await waitFor(() => store.get().pending.count === 0);
  stop[1]();
  server.close();

  const other = await fake((talk) => talk.stream({ ...reset('1-a', 'ab'), stale: 9 }), () => {}, () => {});
  const left = listStore(other.url, { session: 's' });
  const leave = left.subscribe(() => {});
  await waitFor(() => left.get().stale === 9);
  const end = new AbortController();
  const never = left.get().edit([{ op: 'delete', items: ['a'] }], { signal: end.signal });
  await waitFor(() => left.get().pending.has('a'));
  leave();
  assert.equal(left.get().pending.count, 0);
  let calls = 0;
  const again = left.subscribe(() => { calls += 1; });
  assert.equal(left.get().stale, undefined, 'it is asked for again');
  end.abort();
  await assert.rejects(never);
  assert.deepEqual([left.get().pending.count, calls], [0, 0], 'what the former connection tells is not for it');
  again();
  other.close();
});

test('store: callbacks that it would not call are told at once', () => {
  for (const name of ['onChang', 'onChange', 'onStatus', 'onPending']) {
    assert.throws(() => listStore('http://127.0.0.1:1', { session: 's', [name]() {} }), new RegExp(`calls no "${name}"`));
  }
});

// MARK: Svelte's contract

test('svelte: a subscriber is called at once, then with each change, until it leaves', async () => {
  await call('PUT', `${server.url}/v1/sessions/svelte`, { state: ['a', 'b'] });
  const store = list(server.url, { session: 'svelte' });
  const seen = [];
  const stop = store.subscribe(({ rows }) => seen.push(rows));
  assert.deepEqual(seen, [[]], 'synchronously');
  await waitFor(() => ids(seen.at(-1)) === 'ab');
  const [row] = seen.at(-1);
  await call('POST', `${server.url}/v1/sessions/svelte/changes`, ['b', 'a']);
  await waitFor(() => ids(seen.at(-1)) === 'ba');
  assert.equal(seen.at(-1)[1], row, 'the same row');
  stop();
  const count = seen.length;
  await waitFor(async () => await readers('svelte') === 0, 'nobody reads', 20);
  await call('POST', `${server.url}/v1/sessions/svelte/changes`, ['a']);
  await stays(() => seen.length === count, 'who has left is told nothing', 100);
});

// MARK: Vue, by a stand-in

test('vue: a component follows between mount and unmount', async (t) => {
  await call('PUT', `${server.url}/v1/sessions/vue`, { state: ['a', 'b'] });
  const folder = installed(t, { vue: fileURLToPath(new URL('support/vue-stub', import.meta.url)) });
  const module = (name) => import(pathToFileURL(join(folder, 'node_modules', name)));
  const { useList } = await module('diffserver-client/vue.js');
  const { component } = await import('./support/vue-stub/index.js');
  const { given, mount, unmount } = component(() => useList(server.url, { session: 'vue' }));
  assert.deepEqual(given.value.rows, []);
  mount();
  await waitFor(() => ids(given.value.rows) === 'ab');
  await given.value.post(['b', 'a']);
  assert.equal(ids(given.value.rows), 'ba');
  unmount();
  await assert.rejects(given.value.post(['a']), /not followed/);
});

// MARK: React, without a page

test('react: rendered on a server it shows no rows, and asks for none', async (t) => {
  const require = createRequire('/usr/share/nodejs/react/');
  process.env.NODE_PATH = '/usr/share/nodejs';
  require('node:module').Module._initPaths();
  const folder = installed(t, { react: '/usr/share/nodejs/react' });
  const { useList } = await import(pathToFileURL(join(folder, 'node_modules/diffserver-client/react.js')));
  const { createElement } = require('/usr/share/nodejs/react');
  const { renderToString } = require('/usr/share/nodejs/react-dom/server');
  const server = await fake((talk) => talk.stream(reset('1-a', 'a')));
  const List = () => `${useList(server.url, { session: 's' }).rows.length} rows`;
  assert.equal(renderToString(createElement(List)), '0 rows');
  await stays(() => server.asked.length === 0, 'nothing is asked', 50);
  server.close();
});
