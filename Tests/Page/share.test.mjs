import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { share } from '../../Clients/js/share.js';
import { listStore } from '../../Clients/js/store.js';
import { later, letPass, pauseAtRandom, stays, waitFor } from './support/clock.mjs';
import { cutting } from './support/cutting.mjs';
import { append, fake, reset, watch } from './support/fake.mjs';
import { call, chance, freePort, start } from './support/server.mjs';

const of = (session, answer) => ({ ...answer, session });
const sessionsOf = ({ url }) => new URL(url, 'http://x').searchParams.getAll('session');
const isShared = ({ url }) => url.startsWith('/v1/changes?');
const wantsStream = ({ headers }) => headers.accept === 'text/event-stream';
const statuses = ({ seen }) => seen.statuses.map(({ status, problem }) => (problem ? `${status} ${problem.status ?? ''}`.trim() : status));

/** A shared line to a scripted server; `list` connects one more list, and returns what it shows. */
async function shared(t, script, more) {
  const server = await fake(...script);
  const lists = share(server.url, more);
  const all = [];
  t.after(() => { for (const { connection } of all) connection.close(); server.close(); });
  const list = (session, options) => {
    const view = watch();
    const connection = lists.connect({ ...view.options, session, ...options });
    all.push({ connection });
    return { ...view, connection, shows: (ids) => view.until((seen) => seen.ids === ids) };
  };
  return { list, asked: server.asked };
}

const first = (talk) => talk.stream(of('a', reset('1-a', 'a')), of('b', reset('1-b', 'b')));

test('lists that are connected at once are one request, and each is told its own', async (t) => {
  const { list, asked } = await shared(t, [(talk) => first(talk).event(of('b', append('1-b', '2-b', 'c')))], { token: 'secret' });
  const [a, b] = [list('a'), list('b')];
  await Promise.all([a.shows('a'), b.shows('bc')]);
  await stays(() => asked.length === 1, 'they are one request', 600);
  assert.equal(asked[0].url, '/v1/changes?content=delta&dialect=keyed&session=a&session=b');
  assert.equal(asked[0].headers.authorization, 'Bearer secret');
  assert.deepEqual([a, b].map(statuses), [['live'], ['live']]);
  assert.deepEqual([a, b].map(({ seen }) => seen.answers.length), [1, 2]);
  assert.deepEqual([a, b].map(({ connection }) => connection.revision), ['1-a', '2-b']);
});

test('a list that comes later is asked for with those that are there, which go on from what they have', async (t) => {
  const { list, asked } = await shared(t, [
    (talk) => talk.stream(of('a', reset('1-a', 'a'))),
    (talk) => talk.stream(of('b', reset('1-b', 'b')), of('a', append('1-a', '2-a', 'x'))),
  ]);
  const a = list('a');
  await a.shows('a');
  const b = list('b');
  await Promise.all([a.shows('ax'), b.shows('b')]);
  assert.deepEqual(asked.map(sessionsOf), [['a'], ['a@1-a', 'b']]);
  assert.deepEqual(statuses(a), ['live'], 'it is no failure');
});

test('a list that leaves is no longer asked for, and the last closes the stream', async (t) => {
  let open = 0;
  const script = (talk) => { open += 1; talk.response.on('close', () => { open -= 1; }); };
  const { list, asked } = await shared(t, [
    (talk) => { script(talk); first(talk); }, (talk) => { script(talk); talk.stream(); },
    (talk) => talk.json({ answers: [of('b', { ...append('1-b', '1-b'), changes: [] })] }),
  ]);
  const [a, b] = [list('a'), list('b')];
  await b.shows('b');
  a.connection.close();
  await waitFor(() => asked.length === 2);
  assert.deepEqual(sessionsOf(asked[1]), ['b@1-b']);
  await waitFor(() => open === 1);
  b.connection.close();
  await waitFor(() => open === 0);
});

test('a stream that breaks is one failure for all, and is resumed by one request', async (t) => {
  const { list, asked } = await shared(t, [
    (talk) => first(talk).drop(), (talk) => talk.refuse(503, { 'Retry-After': '1' }),
    (talk) => talk.stream(of('a', append('1-a', '2-a', 'x')), of('b', append('1-b', '2-b', 'y'))),
  ]);
  const [a, b] = [list('a'), list('b')];
  await a.until(({ statuses }) => statuses.at(-1)?.problem?.status === 503);
  const late = list('c');
  await late.until(({ statuses }) => statuses.at(-1)?.problem?.status === 503);
  await Promise.all([a.shows('ax'), b.shows('by')]);
  assert.deepEqual(asked.map(sessionsOf), [['a', 'b'], ['a@1-a', 'b@1-b'], ['a@1-a', 'b@1-b', 'c']]);
  assert.ok(asked[2].at - asked[1].at >= 1_000, 'whoever comes meanwhile waits as well');
  assert.deepEqual([a, b].map(statuses), Array(2).fill(['live', 'waiting', 'waiting 503', 'live']));
  const last = list('d');
  await waitFor(() => asked.length === 4);
  assert.deepEqual(statuses(last), [], 'that is over');
});

test('quiet streams that end do not count as failures', async (t) => {
  const quiet = (talk) => { talk.stream(); later(500, 'a server that goes', () => talk.drop()); };
  const same = (talk) => talk.json({ answers: [of('a', { ...append('1-a', '1-a'), changes: [] })] });
  const { list } = await shared(t, [quiet, same, quiet, same, quiet, same, (talk) => talk.stream(of('a', append('1-a', '2-b', 'b')))]);
  const a = list('a', { since: '1-a', state: reset('1-a', 'a').state });
  await a.shows('ab');
  const delays = a.seen.statuses.filter(({ status }) => status === 'waiting').map(({ delay }) => delay);
  assert.equal(delays.length, 3);
  assert.ok(delays.every((delay) => delay <= 20), `${delays}`);
});

test('a silent source is told to its list alone, by a stream, by what is asked beside it, and by polls', async (t) => {
  const quiet = { changes: [] };
  let stream;
  const { list, asked } = await shared(t, [
    (talk) => { stream = talk.stream(of('a', { ...reset('1-a', 'a'), stale: 33 }), of('b', reset('1-b', 'b'))); },
    (talk) => talk.stream(), // without a word: they are asked for
    (talk) => talk.json({ answers: [of('a', { ...append('2-a', '2-a'), ...quiet, stale: 50 }), of('b', { ...append('1-b', '1-b'), ...quiet })] }),
  ]);
  const [a, b] = [list('a'), list('b')];
  const told = ({ seen }) => seen.statuses.map(({ status, transport, stale }) => [status, transport, stale]);
  await a.until((seen) => seen.statuses.length === 1);
  assert.equal(a.connection.stale, 33);
  stream.event(of('a', { ...append('1-a', '1-a'), ...quiet, stale: 40 })).event(of('a', append('1-a', '2-a', 'x')));
  await a.shows('ax');
  assert.equal(a.connection.stale, undefined, 'that is over');
  b.connection.reconnect();
  await a.until((seen) => seen.statuses.length === 4);
  assert.deepEqual(told(a), [['live', 'stream', 33], ['live', 'stream', 40], ['live', 'stream', undefined], ['live', 'stream', 50]]);
  assert.deepEqual(told(b), [['live', 'stream', undefined]]);
  assert.ok(!('stale' in a.seen.statuses[2]), 'as connect tells it');
  assert.equal(asked.length, 3);

  const polled = await shared(t, [(talk) => talk.json({ answers: [of('a', { ...reset('1-a', 'a'), stale: 7 })] }),
    (talk) => later(20, 'a slow server', () => talk.json({ answers: [of('a', append('1-a', '2-a', 'x'))] }))], { transport: 'poll' });
  const c = polled.list('a');
  await c.shows('ax');
  assert.deepEqual(told(c).slice(0, 2), [['live', 'poll', 7], ['live', 'poll', undefined]]);
});

test('what share would not call is told at once', () => {
  assert.throws(() => share('http://127.0.0.1:1', { onStatus() {} }), /share takes no "onStatus"/);
  assert.throws(() => share('http://127.0.0.1:1').connect({ session: 'a', onChang() {} }), /connect calls no "onChang"/);
});

// MARK: What concerns one list

test('those of which a stream says nothing are asked for by one request: which is as one has it, which is not there', async (t) => {
  let stream;
  const { list, asked } = await shared(t, [(talk) => { stream = talk.stream(of('a', reset('1-a', 'a'))); }, (talk) => talk.json({ answers: [
    of('b', { ...append('1-b', '1-b'), changes: [] }), { session: 'c', problem: { title: 'There is no such session', status: 404 } }] })]);
  const a = list('a');
  const b = list('b', { since: '1-b', state: reset('1-b', 'b').state });
  const c = list('c');
  await c.until((seen) => seen.statuses.length);
  assert.deepEqual([a, b, c].map(statuses), [['live'], ['live'], ['waiting 404']]);
  assert.equal(c.seen.statuses[0].delay, 0);
  await stays(() => asked.length === 2, 'they are asked for once', 600);
  assert.deepEqual(asked.map(sessionsOf), [['a', 'b@1-b', 'c'], ['b@1-b', 'c']]);
  stream.event(of('c', reset('1-c', 'c')));
  await c.shows('c');
  assert.deepEqual(statuses(c), ['waiting 404', 'live']);
  assert.equal(asked.length, 2);
});

test('a session that ends is told to its list alone, and waited for on the same stream', async (t) => {
  let stream;
  const { list, asked } = await shared(t, [(talk) => { stream = first(talk); }]);
  const [a, b] = [list('a'), list('b')];
  await b.shows('b');
  stream.raw(`event: end\ndata: ${JSON.stringify({ title: 'There is no such session', status: 404, session: 'a' })}\n\n`);
  await a.until(({ statuses }) => statuses.at(-1).problem?.status === 404);
  assert.equal(a.seen.ids, 'a', 'what is shown stays');
  stream.event(of('a', reset('1-c', 'c', 'unknown')));
  await a.shows('c');
  assert.deepEqual([a, b].map(statuses), [['live', 'waiting 404', 'live'], ['live']]);
  assert.equal(asked.length, 1);
});

test('an end that names nobody is for all', async (t) => {
  const { list } = await shared(t, [
    (talk) => first(talk).end({ title: 'The token has expired', status: 401 }), (talk) => talk.stream(of('a', append('1-a', '2-a', 'x')))]);
  const [a, b] = [list('a'), list('b')];
  await a.shows('ax');
  assert.deepEqual(statuses(b).slice(0, 2), ['live', 'waiting 401']);
});

for (const [name, wrong] of [
  ['does not fit', { ...append('1-a', '2-a'), changes: [{ op: 'remove', items: ['q'] }] }], ['leads from elsewhere', append('7-x', '8-x', 'q')],
]) {
  test(`a list whose answer ${name} asks by itself, and comes back; the others do not notice`, async (t) => {
    const { list, asked } = await shared(t, [
      (talk) => first(talk).event(of('a', wrong)),
      (talk) => talk.stream(of('a', reset('3-a', 'xy', 'unknown'))),
      (talk) => talk.stream(of('a', append('3-a', '4-a', 'z')), of('b', append('1-b', '2-b', 'c'))),
    ]);
    const [a, b] = [list('a'), list('b')];
    await Promise.all([a.shows('xyz'), b.shows('bc')]);
    assert.ok(asked[1].url.startsWith('/v1/sessions/a/changes?'));
    assert.equal(new URL(asked[1].url, 'http://x').searchParams.get('since'), name === 'does not fit' ? null : '1-a');
    assert.deepEqual(sessionsOf(asked[2]).sort(), ['a@3-a', 'b@1-b']);
    assert.deepEqual([a, b].map(statuses), [['live', 'waiting', 'live'], ['live']]);
  });
}

test('a refusal of all is traced to the list that it is for', async (t) => {
  const { list, asked } = await shared(t, [
    first, (talk, { url }) => talk.refuse(isShared({ url }) ? 403 : 500),
    ...Array(8).fill((talk, { url }) => {
      if (url.startsWith('/v1/sessions/secret/')) return talk.refuse(403);
      assert.ok(isShared({ url }) && !url.includes('secret'), url);
      return talk.stream(of('b', append('1-b', '2-b', 'c')));
    })]);
  const [a, b] = [list('a'), list('b')];
  await b.shows('b');
  const secret = list('secret');
  await secret.until(({ statuses }) => statuses.at(-1)?.status === 'stopped');
  await b.shows('bc');
  assert.equal(secret.seen.statuses.at(-1).problem.status, 403);
  assert.deepEqual([a, b].map(statuses), [['live'], ['live']]);
  assert.deepEqual(asked.filter(isShared).map(sessionsOf)[1], ['a@1-a', 'b@1-b', 'secret']);
});

test('a list that may be read comes back, though its session is not there', async (t) => {
  const { list, asked } = await shared(t, [(talk, { url, headers }) => {
    if (url.includes('secret')) return talk.refuse(403);
    return headers.accept === 'text/event-stream' ? talk.stream() : talk.refuse(404);
  }]);
  const [secret, gone] = [list('secret'), list('gone')];
  await secret.until(({ statuses }) => statuses.at(-1)?.status === 'stopped');
  await waitFor(() => asked.filter(isShared).some((each) => sessionsOf(each).join() === 'gone'));
  assert.deepEqual(statuses(gone), ['waiting 404']);
});

test('without a token, a list that is not public holds nobody up, and joins the others later', async (t) => {
  let isPublic = false;
  const { list, asked } = await shared(t, [(talk, { url }) => {
    const sessions = isShared({ url }) ? sessionsOf({ url }) : [url.split('/')[3]];
    if (!isPublic && sessions.includes('b')) return talk.refuse(401);
    return isShared({ url }) ? first(talk) : talk.stream(of(sessions[0], reset(`1-${sessions[0]}`, sessions[0])));
  }]);
  const [a, b] = [list('a'), list('b')];
  await a.shows('a');
  await b.until(({ statuses }) => statuses.some(({ problem }) => problem?.status === 401));
  const before = asked.length;
  isPublic = true;
  await b.shows('b');
  assert.deepEqual([...new Set([...statuses(a), ...statuses(b)])].sort(), ['live', 'waiting 401']);
  await waitFor(() => asked.slice(before).some((each) => isShared(each) && sessionsOf(each).length === 2), 'they are one request again');
});

test('a token that is refused stops all of them', async (t) => {
  const { list, asked } = await shared(t, [(talk) => talk.refuse(401), first], { token: 'x' });
  const [a, b] = [list('a'), list('b')];
  await Promise.all([a, b].map(({ until }) => until(({ statuses }) => statuses.at(-1)?.status === 'stopped')));
  assert.equal(asked.length, 1);
  for (const { connection } of [a, b]) connection.reconnect();
  await Promise.all([a.shows('a'), b.shows('b')]);
  assert.deepEqual(asked.map(sessionsOf), [['a', 'b'], ['a', 'b']]);
});

test('a token that a function gives is renewed for all', async (t) => {
  const tokens = ['old', 'new'];
  const { list, asked } = await shared(t, [(talk) => talk.refuse(401), first], { token: async () => tokens.shift() });
  const [a, b] = [list('a'), list('b')];
  await Promise.all([a.shows('a'), b.shows('b')]);
  assert.deepEqual(asked.map(({ headers }) => headers.authorization), ['Bearer old', 'Bearer new']);
});

for (const status of [400, 404]) {
  test(`where the way for many is closed, ${status}, each goes by itself`, async (t) => {
    const alone = (talk, { url }) => (isShared({ url }) ? talk.refuse(status)
      : talk.stream(of(url.split('/')[3], reset('1-a', url.split('/')[3]))));
    const { list, asked } = await shared(t, [alone]);
    const lists = ['a', 'b', 'c'].map((session) => list(session));
    await Promise.all(lists.map(({ shows }, at) => shows('abc'[at])));
    await letPass(300, "the client's look beside a stream");
    // 400 may be about the form of contents: then another is tried.
    assert.equal(asked.filter(isShared).length, status === 400 ? 2 : 1);
    assert.equal(asked.filter((each) => !isShared(each)).length, 3);
    assert.ok(lists.every((list) => isDeepStrictEqual(statuses(list), ['live'])));
  });
}

test('an id alone has the lists ask what theirs are called now', async (t) => {
  let stream;
  const { list, asked } = await shared(t, [(talk) => { stream = first(talk); }, (talk) => talk.json({ answers: [
    of('a', { ...append('1-a', '3-a'), changes: [] }), of('b', append('1-b', '2-b', 'c'))] })]);
  const [a, b] = [list('a'), list('b')];
  await b.shows('b');
  stream.raw('id: 0=3-a\n\n');
  await waitFor(() => a.connection.revision === '3-a');
  assert.equal(b.connection.revision, '1-b', 'the stream tells what changed');
  stream.event(of('a', append('3-a', '4-a', 'x'))).event(of('b', append('1-b', '2-b', 'c')));
  await Promise.all([a.shows('ax'), b.shows('bc')]);
  assert.deepEqual(asked.map(sessionsOf), [['a', 'b'], ['a@1-a', 'b@1-b']]);
});

for (const ahead of [0, 1]) test(`of two that show one session, one is ahead by an edit of its own: both end at the same: ${ahead}`, async (t) => {
  const { list, asked } = await shared(t, [(talk, { method, url }) => {
    if (method === 'POST') return talk.json(of('a', append('1-a', '2-b', 'b'))); // and no event of it
    const has = [...sessionsOf({ url }), url].join();
    if (has.includes('2-b')) return talk.stream();
    return talk.stream(of('a', has.includes('1-a') ? append('1-a', '2-b', 'b') : reset('1-a', 'a')));
  }]);
  const twins = [list('a'), list('a')];
  await Promise.all(twins.map(({ shows }) => shows('a')));
  await twins[ahead].connection.edit([{ op: 'insert', items: ['b'] }]);
  await Promise.all(twins.map(({ shows }) => shows('ab')));
  assert.ok(twins.every(({ connection }) => connection.revision === '2-b'));
  assert.ok(asked.length < 9, `${asked.length} requests`);
});

// MARK: Which go together

test('a list with a window has a line of its own for as long', async (t) => {
  const { list, asked } = await shared(t, [(talk, { url }) => {
    if (!isShared({ url })) return talk.stream(of('w', url.includes('since') ? append('1-w', '1-w~2', 'w') : reset('1-w~1', 'v')));
    return talk.stream(...url.includes('w%40') ? [of('w', append('1-w~1', '1-w', 'x'))] : [], ...url.includes('a%40') ? [] : [of('a', reset('1-a', 'a'))]);
  }]);
  const a = list('a');
  const w = list('w', { window: { at: 'start' } });
  await Promise.all([a.shows('a'), w.shows('v')]);
  assert.deepEqual(asked.filter(isShared).map(sessionsOf), [['a']]);
  w.connection.show(null);
  await w.shows('vx');
  assert.deepEqual(sessionsOf(asked.filter(isShared)[1]).sort(), ['a@1-a', 'w@1-w~1']);
  w.connection.show({ at: 'end' });
  await w.shows('vxw');
  assert.ok(asked.at(-1).url.includes('at=end') && asked.at(-1).url.includes('since=1-w'));
  list('v', { view: { limit: 3 } });
  await waitFor(() => asked.some(({ url }) => url.startsWith('/v1/sessions/v/')));
});

test('one session that is shown twice is asked for once, and later by another stream', async (t) => {
  const { list, asked } = await shared(t, [
    (talk) => talk.stream(of('a', reset('1-a', 'a')), of('a', append('1-a', '2-a', 'b'))), (talk) => talk.stream(of('a', reset('2-a', 'ab')))]);
  const twins = [list('a'), list('a')];
  await Promise.all(twins.map(({ shows }) => shows('ab')));
  assert.deepEqual(asked.map(sessionsOf), [['a']]);
  await list('a').shows('ab');
  assert.deepEqual(asked.map(sessionsOf), [['a'], ['a']]);
  assert.ok(twins.every((list) => isDeepStrictEqual(statuses(list), ['live'])));
});

test('other dialects, and more lists than one request takes, are requests of their own', async (t) => {
  const { list, asked } = await shared(t, [(talk) => talk.stream()]);
  for (let number = 0; number < 70; number += 1) list(`list-${number}`);
  list('s', { dialect: 'staged' });
  list('c', { content: 'patch' });
  await waitFor(() => asked.filter(wantsStream).length === 4);
  assert.deepEqual(asked.filter(wantsStream).map((each) => sessionsOf(each).length).sort((a, b) => a - b), [1, 1, 6, 64]);
});

test('what is said for all cannot be said for one', () => {
  const lists = share('http://127.0.0.1:1');
  assert.throws(() => lists.connect({ session: 'a', token: 'x' }), TypeError);
  assert.throws(() => lists.connect({ session: 'a', transport: 'poll' }), TypeError);
  assert.throws(() => lists.connect({ session: 'a', poll: 2 }), TypeError);
});

test('polls in place of a stream: one address for all, in one order', async (t) => {
  const nothing = (name, to) => of(name, { ...append(to, to), changes: [] });
  const { list, asked } = await shared(t, [
    (talk) => talk.json({ answers: [of('b', reset('1-b', 'b')), of('a', reset('1-a', 'a'))] }),
    (talk) => talk.json({ answers: [of('a', append('1-a', '2-a', 'x')), { ...nothing('b', '1-b'), stale: 5 }] }),
    (talk) => talk.json({ answers: [nothing('a', '2-a'), { ...nothing('b', '1-b'), stale: 5 }] }),
  ], { poll: 0.1 });
  const [b, a] = [list('b'), list('a')];
  await a.shows('ax');
  await waitFor(() => asked.length === 4);
  const path = '/v1/changes?content=delta&dialect=keyed&session=a';
  assert.deepEqual(asked.slice(0, 3).map(({ url }) => decodeURIComponent(url)),
    [`${path}&session=b`, `${path}@1-a&session=b@1-b`, `${path}@2-a&session=b@1-b`]);
  for (const { headers } of asked) {
    assert.deepEqual([headers.accept, headers['cache-control'], headers.pragma], ['*/*', undefined, undefined]);
  }
  assert.ok(asked[2].at - asked[1].at > 85);
  assert.deepEqual([a, b].map(statuses), [['live'], ['live', 'live']]);
});

test('an older server is asked by many lists for patches, once and for all', async (t) => {
  const { list, asked } = await shared(t, [(talk) => talk.refuse(400), (talk) => first(talk), (talk) => talk.stream()]);
  const [a, b] = [list('a'), list('b')];
  await Promise.all([a.shows('a'), b.shows('b')]);
  a.connection.reconnect();
  await waitFor(() => asked.length > 2);
  assert.deepEqual(asked.slice(0, 3).map(({ query }) => query.content), ['delta', 'patch', 'patch']);
  assert.deepEqual([a, b].map(statuses), [['live'], ['live']]);
});

test('without streams all are polled by one request', async (t) => {
  const { list, asked } = await shared(t, [
    (talk) => talk.refuse(406),
    (talk) => talk.json({ answers: [of('a', reset('1-a', 'a')), { session: 'b', later: true }, { session: 'c', problem: { title: 'None', status: 404 } }] }),
    (talk) => talk.json({ answers: [of('a', { ...append('1-a', '1-a'), changes: [] }), of('b', reset('1-b', 'b')), of('c', reset('1-c', 'c'))] }), () => {},
  ]);
  const [a, b, c] = ['a', 'b', 'c'].map((session) => list(session));
  await Promise.all([a.shows('a'), b.shows('b'), c.shows('c')]);
  assert.deepEqual(asked.slice(1, 3).map(sessionsOf), [['a', 'b', 'c'], ['a@1-a', 'b', 'c']]);
  assert.deepEqual([a, b, c].map(statuses), [['live'], ['live'], ['waiting 404', 'live']]);
  assert.equal(a.seen.statuses[0].transport, 'poll');
});

test('a store follows over a shared line', async (t) => {
  const server = await fake(first);
  t.after(() => server.close());
  const lists = share(server.url);
  const stores = ['a', 'b'].map((session) => listStore(lists, { session }));
  const stops = stores.map((store) => store.subscribe(() => {}));
  await waitFor(() => stores.map((store) => store.get().rows.map(({ id }) => id).join('')).join() === 'a,b');
  for (const stop of stops) stop();
  assert.equal(server.asked.length, 1);
});

// MARK: The real server

const sameRows = async (lists) => {
  for (const { path, connection } of lists) {
    const { body } = await call('GET', path);
    await waitFor(() => isDeepStrictEqual(connection.state, body.state), () => `${path}: ${JSON.stringify(connection.state)}`);
  }
};

test('the real server: lists come, go, end, and are edited over one stream', async (t) => {
  const server = await start(await freePort());
  const lists = share(server.url);
  const pathOf = (session) => `${server.url}/v1/sessions/${session}/changes`;
  const open = [];
  t.after(async () => { for (const { connection } of open) connection.close(); await server.stop(); });
  const connect = (session, options) => {
    const view = watch();
    const list = { ...view, path: pathOf(session), connection: lists.connect({ ...view.options, session, ...options }) };
    open.push(list);
    return list;
  };
  for (const session of ['a', 'b', 'c']) await call('POST', pathOf(session), { state: [session] });
  const [a, b, c, missing] = ['a', 'b', 'c', 'missing'].map((session) => connect(session));
  await Promise.all([a, b, c].map(({ until }, at) => until((seen) => seen.ids === 'abc'[at])));
  await missing.until(({ statuses }) => statuses.at(-1)?.problem?.type === '/problems/session-not-found');
  const metric = async (name) => Number((await (await fetch(`${server.url}/metrics`)).text()).match(new RegExp(`^${name} (\\d+)`, 'm'))[1]);
  assert.equal(await metric('diffserver_streams'), 1);

  await a.connection.edit([{ op: 'insert', items: ['new'] }]);
  await call('POST', pathOf('b'), { state: ['b', 'more'] });
  await call('POST', pathOf('missing'), { state: ['m'] });
  await sameRows([a, b, c, missing]);
  assert.equal(missing.seen.statuses.at(-1).status, 'live');

  await call('DELETE', `${server.url}/v1/sessions/c`);
  await c.until(({ statuses }) => statuses.at(-1).problem?.status === 404);
  c.connection.close();
  const window = connect('b', { window: { at: 'end', before: 0 } });
  await window.until((seen) => seen.ids === 'more');
  window.connection.show(null);
  await window.until((seen) => seen.ids === 'bmore');
  await assert.rejects(a.connection.edit([{ op: 'move', items: ['gone'], before: 'a' }]), { name: 'ProblemError' });
  await sameRows([a, b, missing]);
  assert.ok([a, b].every((list) => statuses(list).every((status) => status === 'live')), 'nothing was lost');
  assert.deepEqual(a.seen.answers.filter(({ reset }) => reset).length, 1);
});

test('the real server: a token that does not cover all of them', async (t) => {
  const secret = 'a rather long secret of this test';
  const server = await start(await freePort(), '--key', `test:${(await import('node:crypto')).createHash('sha256').update(secret).digest('hex')}`,
    '--token-secret', 'another rather long secret of it');
  const key = { Authorization: `Bearer ${secret}` };
  for (const session of ['a', 'b', 'c']) await call('POST', `${server.url}/v1/sessions/${session}/changes`, { state: [session] }, key);
  const { body: { token } } = await call('POST', `${server.url}/v1/tokens`, { sessions: ['a', 'b'] }, key);
  const lists = share(server.url, { token });
  const views = ['a', 'b', 'c'].map((session) => ({ session, ...watch() }));
  const connections = views.map(({ session, options }) => lists.connect({ ...options, session }));
  t.after(async () => { for (const connection of connections) connection.close(); await server.stop(); });
  await views[2].until(({ statuses }) => statuses.at(-1)?.status === 'stopped');
  assert.equal(views[2].seen.statuses.at(-1).problem.status, 403);
  await call('POST', `${server.url}/v1/sessions/a/changes`, { state: ['a', 'x'] }, key);
  await views[0].until((seen) => seen.ids === 'ax');
  await views[1].until((seen) => seen.ids === 'b');
});

test('the real server, through a network that cuts: each list ends where the server is, and each edit is done once', async (t) => {
  const pick = chance(5);
  const port = await freePort();
  const server = await start(port);
  const network = await cutting(port, pick);
  const lists = share(network.url);
  const names = Array.from({ length: 12 }, (_, at) => `list-${at}`);
  const open = names.map((session) => ({ session, path: `${server.url}/v1/sessions/${session}/changes`, ...watch() }));
  for (const { path } of open.slice(1)) await call('POST', path, { state: ['a', 'b', 'c', 'd'] });
  for (const list of open) list.connection = lists.connect({ ...list.options, session: list.session });
  t.after(async () => { for (const { connection } of open) connection.close(); network.close(); await server.stop(); });
  await Promise.all(open.slice(1).map(({ until }) => until((seen) => seen.ids === 'abcd')));
  assert.ok(network.most <= 6, `${network.most} connections`);
  network.isFaulty = true;
  const edits = [];
  for (let round = 0; round < 90; round += 1) {
    const { path, connection } = open[1 + pick(11)];
    if (pick(4)) await call('POST', path, { state: ['a', 'b', 'c', 'd', 'e', 'f'].filter(() => pick(3)) });
    else edits.push(open[0].connection.edit([{ op: 'insert', items: [`edit-${edits.length}`] }]).catch((error) => error));
    if (!round) await call('POST', open[0].path, { state: [] });
    if (pick(9) === 0) connection.reconnect();
    if (pick(12) === 0) {
      connection.close();
      const list = open.find((each) => each.connection === connection);
      list.connection = lists.connect({ ...list.options, session: list.session, since: connection.revision, state: connection.state });
    }
    await pauseAtRandom(pick, 60);
  }
  network.isFaulty = false;
  const answers = await Promise.all(edits);
  assert.deepEqual(answers.filter((answer) => answer instanceof Error), []);
  for (const { connection } of open) connection.reconnect();
  await sameRows(open);
  assert.deepEqual(open[0].connection.state.sections[0].items.map(({ id }) => id), edits.map((_, at) => `edit-${at}`));
  assert.ok(network.cuts > 5, `${network.cuts} cuts`);
  for (const { seen } of open) assert.ok(seen.statuses.every(({ status }) => status !== 'stopped'));
});
