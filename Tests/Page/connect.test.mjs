import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { connect, eventParser } from '../../Clients/js/client.js';
import { later, pause, stays, waitFor } from './support/clock.mjs';
import { append, fake, reset, watch } from './support/fake.mjs';
import { call, chance, freePort, start } from './support/server.mjs';

/** Follows a scripted server until `claim` holds; returns the requests and what was seen. */
async function follow(script, claim, more = {}) {
  const server = await fake(...script);
  const { seen, options, until } = watch();
  const connection = connect(server.url, { ...options, ...more });
  try { await until(claim); } finally { connection.close(); server.close(); }
  return { asked: server.asked, seen, connection };
}

const shows = (ids) => (seen) => seen.ids === ids;
const stopped = (seen) => seen.statuses.at(-1)?.status === 'stopped';

// MARK: Events

const text = ': note\r\nretry: 7\n\nevent: changes\nid: 1-a\ndata: {"é":1,\ndata:  "b":2}\n\ndata\n\nevent:end\ndata:x\r\n\r\nid: 9\n\ndata: unfinished';
const events = [['retry', '7'], ['changes', '{"é":1,\n "b":2}'], ['message', ''], ['end', 'x'], ['id', '9']];

test('events: every split of the bytes gives the same', () => {
  const bytes = new TextEncoder().encode(text);
  for (let first = 0; first <= bytes.length; first += 1) {
    for (const second of [first, Math.min(first + 1, bytes.length), bytes.length]) {
      const [found, decoder] = [[], new TextDecoder()];
      const parse = eventParser((...event) => found.push(event));
      for (const piece of [bytes.slice(0, first), bytes.slice(first, second), bytes.slice(second)]) {
        parse(decoder.decode(piece, { stream: true }));
      }
      assert.deepEqual(found, events, `split at ${first} and ${second}`);
    }
  }
});

test('events: byte by byte', () => {
  const found = [];
  const parse = eventParser((...event) => found.push(event));
  for (const letter of text) parse(letter);
  assert.deepEqual(found, events);
});

test('events: one line of 8 MB in pieces is quick', () => {
  let length = 0;
  const parse = eventParser((_, data) => { length = data.length; });
  const begin = performance.now();
  parse('data: ');
  for (let piece = 0; piece < 2_000; piece += 1) parse('x'.repeat(4_000));
  parse('\n\n');
  assert.equal(length, 8_000_000);
  assert.ok(performance.now() - begin < 2_000);
});

// MARK: What cannot work

const works = { session: 's', signal: AbortSignal.abort() };
for (const [name, url, options, message] of [
  ['no options', 'http://127.0.0.1:8080', undefined, /name of a session/],
  ['no session', 'http://127.0.0.1:8080', {}, /name of a session/],
  ['an empty session', 'http://127.0.0.1:8080', { session: '' }, /name of a session/],
  ['no address', undefined, works, /not "undefined"/],
  ['no scheme', 'localhost:8080', works, /http:\/\/127.0.0.1:8080.*not "localhost:8080"/],
  ['no scheme, and numbers', '127.0.0.1:8080', works, /not "127/],
  ['another scheme', 'ftp://127.0.0.1', works, /not "ftp/],
  ['no host', 'http://', works, /not "http:/],
  ['a path', 'http://127.0.0.1:8080/feed', works, /below a path, not "http:\/\/127.0.0.1:8080\/feed"/],
  ['a path of the API', new URL('http://127.0.0.1:8080/v1/sessions/s'), works, /below a path, not/],
  ['a query', 'http://127.0.0.1:8080/?session=s', works, /not "http/],
  ['the origin of a page, where there is none', '', works, /not ""/],
  ['a path on it', '/lists/', works, /not "/],
  ...[0, -1, Infinity, 'soon', '', 1e6, []].map((poll) => (
    [`polls each ${JSON.stringify(poll)}`, 'http://127.0.0.1:8080', { ...works, poll }, /^connect needs poll in seconds, not "/])),
]) {
  test(`refused at once: ${name}`, () => assert.throws(() => connect(url, options), { name: 'TypeError', message }));
}

test('addresses of servers, also below a path and on the origin of a page', async () => {
  globalThis.location = new URL('http://127.0.0.1/page');
  try {
    for (const url of ['http://localhost', 'HTTPS://example.org:1/', new URL('http://[::1]:8080'), 'https://h/lists/', '', '/', '/lists/']) {
      connect(url, works);
    }
  } finally { delete globalThis.location; }
  const server = await fake((talk) => talk.stream(reset('1-a', 'a')));
  const { options, until } = watch();
  const connection = connect(`${server.url}lists/`, options);
  await until(shows('a'));
  assert.ok(server.asked[0].url.startsWith('/lists/v1/sessions/s/changes?'));
  connection.close();
  server.close();
});

test('why there is no connection', async () => {
  const port = await freePort();
  for (const host of ['127.0.0.1', 'localhost']) {
    const { seen, options, until } = watch();
    const connection = connect(`http://${host}:${port}`, options);
    await until((seen) => seen.statuses.length);
    assert.equal(seen.statuses[0].status, 'waiting');
    assert.match(seen.statuses[0].problem.detail, /^fetch failed: .*ECONNREFUSED/);
    await assert.rejects(connection.post([], { timeout: 50 }), ({ problem }) => /ECONNREFUSED/.test(problem.detail));
    connection.close();
  }
});

test('a path that the server does not know stops it, at the first request', async () => {
  const server = await start(await freePort());
  const { seen, options, until } = watch();
  const connection = connect(`${server.url}/lists/`, options);
  await until(stopped);
  assert.equal(seen.statuses.length, 1);
  assert.equal(seen.statuses[0].problem.type, '/problems/route-not-found');
  await assert.rejects(connection.post(['a']), ({ problem }) => problem.type === '/problems/route-not-found');
  await server.stop();
});

// MARK: The client's rule

test('a reset, then changes from mine', async () => {
  const { asked, connection } = await follow([(talk) => talk.stream(reset('1-a', 'ab'), append('1-a', '2-b', 'c'))], shows('abc'));
  assert.equal(asked[0].headers.accept, 'text/event-stream');
  assert.equal(asked[0].query.since, undefined);
  assert.equal(asked[0].url, '/v1/sessions/s/changes?content=delta&dialect=keyed');
  assert.equal(connection.revision, '2-b');
});

test('a repeated answer is nothing', async () => {
  const twice = append('1-a', '2-b', 'c');
  const { seen, asked } = await follow(
    [(talk) => talk.stream(reset('1-a', 'a'), twice, twice, append('2-b', '3-c', 'd'))], shows('acd'));
  assert.equal(seen.answers.length, 3);
  assert.equal(asked.length, 1);
});

test('an answer that was lost is asked for again at once, from mine', async () => {
  const { asked } = await follow([
    (talk) => talk.stream(reset('1-a', 'a'), append('2-b', '3-c', 'z')),
    (talk) => talk.stream(append('1-a', '3-c', 'b', 'c')),
  ], shows('abc'));
  assert.equal(asked[1].query.since, '1-a');
  assert.ok(asked[1].at - asked[0].at < 200);
});

test('a delayed answer that came by another way is nothing', async () => {
  const { asked } = await follow(
    [(talk) => talk.stream(reset('2-b', 'ab'), append('1-a', '2-b', 'b'), append('2-b', '3-c', 'c'))], shows('abc'));
  assert.equal(asked.length, 1);
});

test('a changeset that does not fit leads to a reset', async () => {
  const { asked } = await follow([
    (talk) => talk.stream(reset('1-a', 'a'), { ...append('1-a', '2-b'), changes: [{ op: 'remove', items: ['q'] }] }),
    (talk) => talk.stream(reset('2-b', 'xy')),
  ], shows('xy'));
  assert.equal(asked[1].query.since, undefined);
});

test('a stream is closed before the wait that follows it', async () => {
  const unfit = { ...append('1-a', '2-b'), changes: [{ op: 'remove', items: ['q'] }] };
  let closed;
  const { asked } = await follow([(talk) => {
    talk.response.on('close', () => { closed = performance.now(); });
    talk.stream(reset('1-a', 'a')).raw('retry: 1500\n\n').event(unfit);
  }, (talk) => talk.stream(reset('2-b', 'xy'))], shows('xy'));
  assert.ok(asked[1].at - closed > 500, `${asked[1].at - closed} ms`);
});

test('marks alone are news of another revision', async () => {
  const mark = { ...append('1-a', '2-a'), changes: [{ op: 'update', items: [{ id: 'a' }], as: 'reload' }] };
  await follow([(talk) => talk.stream(reset('1-a', 'a'), mark)], (seen) => seen.answers.length === 2);
});

test('since and state of an earlier connection go on', async () => {
  const { state } = reset('1-a', 'a');
  const { asked } = await follow([(talk) => talk.stream(append('1-a', '2-b', 'b'))], shows('ab'), { since: '1-a', state });
  assert.equal(asked[0].query.since, '1-a');
});

test('other dialects hand their answers on', async () => {
  const answer = { session: 's', from: null, to: '1-a', dialect: 'staged', reset: 'initial', state: { sections: [] } };
  const next = { session: 's', from: '1-a', to: '2-b', dialect: 'staged', changes: [{ name: 'items' }] };
  const { seen, asked } = await follow(
    [(talk) => talk.stream(answer, next)], (seen) => seen.answers.length === 2, { dialect: 'staged' });
  assert.deepEqual(seen.answers[1].changes, [{ name: 'items' }]);
  assert.equal(seen.ids, null);
  assert.equal(asked[0].query.dialect, 'staged');
});

test('an id without data is the revision of what is shown', async () => {
  const { asked, seen } = await follow([
    (talk) => talk.stream(reset('1-a', 'a')).raw('id: 1-a\n\n').raw('id: 3-a\n\n').close(),
    (talk) => talk.stream(append('3-a', '4-b', 'b')),
  ], shows('ab'));
  assert.equal(asked[1].query.since, '3-a');
  assert.equal(seen.answers.length, 2);
});

// MARK: Forms of contents

const grown = {
  session: 's', from: '1-a', to: '2-b', dialect: 'keyed', list: { append: { '/title': '!' } },
  changes: [{ op: 'update', items: [{ id: 'a', append: { '/text': 'lo' } }], as: 'reconfigure' }],
};
const young = { ...reset('1-a', ''), state: { content: { title: 'Hi' }, sections: [{ id: 'main', items: [{ id: 'a', content: { text: 'Hel' } }] }] } };

test('texts that grew come as what was added', async () => {
  const { connection } = await follow([(talk) => talk.stream(young, grown)], (seen) => seen.answers.length === 2);
  assert.deepEqual(connection.state,
    { content: { title: 'Hi!' }, sections: [{ id: 'main', items: [{ id: 'a', content: { text: 'Hello' } }] }] });
});

test('what was added to no text leads to a reset', async () => {
  const { asked } = await follow([
    (talk) => talk.stream({ ...young, state: { ...young.state, content: { title: 1 } } }, grown), (talk) => talk.stream(reset('2-b', 'xy')),
  ], shows('xy'));
  assert.equal(asked[1].query.since, undefined);
});

for (const transport of [undefined, 'poll']) {
  test(`an older server is asked for patches, once and for all: ${transport ?? 'stream'}`, async () => {
    const give = (answer) => (talk) => (transport ? talk.json(answer) : talk.stream(answer).close());
    const { asked, seen } = await follow([
      (talk) => talk.refuse(400), give(reset('1-a', 'a')), give(append('1-a', '2-b', 'b')),
    ], shows('ab'), { transport });
    assert.deepEqual(asked.slice(0, 3).map(({ query }) => query.content), ['delta', 'patch', 'patch']);
    assert.equal(seen.statuses[0].status, 'live', 'it is no failure');
  });
}

test('a form of contents that is named is asked for as it is, and so is that of another dialect', async () => {
  for (const [options, content, count] of [
    [{ content: 'delta' }, 'delta', 1], [{ content: 'patch' }, 'patch', 1], [{ content: 'full' }, 'full', 1],
    [{ dialect: 'staged' }, 'full', 1], [{}, 'patch', 2],
  ]) {
    const { asked } = await follow([(talk) => talk.refuse(400)], stopped, options);
    assert.equal(asked.length, count);
    assert.equal(asked.at(-1).query.content, content);
  }
});

test('an edit that finds an older server is sent again, under its key', async () => {
  const server = await fake((talk, { method, url }) => {
    if (url.includes('delta')) return talk.refuse(400);
    return method === 'POST' ? talk.json(append('1-a', '2-b', 'b')) : talk.stream(reset('1-a', 'a'));
  });
  const { state } = reset('1-a', 'a');
  const connection = connect(server.url, { session: 's', since: '1-a', state });
  assert.equal(await connection.edit([{ op: 'insert', items: ['b'] }]), '2-b');
  connection.close();
  server.close();
  const keys = server.asked.map(({ headers }) => headers['idempotency-key']).filter(Boolean);
  assert.equal(new Set(keys).size, 1);
});

// MARK: Polls in place of a stream

test('polls that a cache can answer: one address, and no header of its own', async () => {
  const nothing = { ...append('2-b', '2-b'), changes: [] };
  const { asked, seen } = await follow([
    (talk) => talk.json(reset('1-a', 'a')), (talk) => talk.json(append('1-a', '2-b', 'b')), (talk) => talk.json(nothing),
    (talk) => talk.json({ ...nothing, stale: 9 }), (talk) => talk.json({ ...nothing, stale: 9 }),
    (talk) => talk.json(append('2-b', '3-c', 'c')), (talk) => talk.json({ ...append('3-c', '4-d', 'd') }),
  ], shows('abcd'), { poll: 0.1 });
  const path = '/v1/sessions/s/changes?content=delta&dialect=keyed';
  assert.deepEqual(asked.map(({ url }) => url),
    [path, ...['1-a', '2-b', '2-b', '2-b', '2-b', '3-c'].map((since) => `${path}&since=${since}`)]);
  for (const { headers } of asked) {
    assert.equal(headers.accept, '*/*');
    for (const name of ['cache-control', 'pragma', 'prefer', 'authorization']) assert.equal(headers[name], undefined, name);
  }
  assert.deepEqual(seen.statuses.map(({ transport, stale }) => [transport, stale]),
    [['poll', undefined], ['poll', 9], ['poll', undefined]]);
});

test('the time between polls is as named, give or take a tenth', async () => {
  let turn = 0;
  const { asked } = await follow([(talk) => { turn += 1; talk.json(turn === 1 ? reset('1', 'a') : append(`${turn - 1}`, `${turn}`, turn)); }],
    ({ answers }) => answers.length === 5, { poll: 0.3 });
  for (let at = 1; at < 5; at += 1) {
    const time = asked[at].at - asked[at - 1].at;
    assert.ok(time > 265 && time < 1_000, `${time} ms`);
  }
});

test('parameters have one order, whatever that of the options', async () => {
  const window = { at: 'start', after: 5, before: 1 };
  const others = { before: 1, after: 5, at: 'start' };
  const urls = await Promise.all([window, others].map(async (window) => (
    await follow([(talk) => talk.json(reset('1-a', 'a'))], shows('a'), { poll: 60, window })).asked[0].url));
  assert.equal(urls[0], urls[1]);
});

test('between polls: another window, a refusal and an edit', async () => {
  let connection;
  const server = await fake((talk) => talk.json(reset('1-a', 'a')), (talk) => talk.refuse(503, { 'Retry-After': '1' }),
    (talk) => talk.json(append('1-a', '2-b', 'b')), (talk) => talk.json(append('2-b', '3-c', 'c')), (talk) => talk.json(append('3-c', '4-d', 'd')));
  const { seen, options, until } = watch();
  connection = connect(server.url, { ...options, poll: 3 });
  await until(shows('a'));
  connection.show({ at: 'end' }); // at once
  await until(shows('ab'));
  const [first, second, third] = server.asked.map(({ at }) => at);
  assert.ok(second - first < 1_500 && third - second >= 1_000, 'the refusal says when');
  assert.equal(server.asked[2].query.at, 'end');
  connection.edit([{ op: 'insert', items: ['c'] }]);
  await until(shows('abcd'));
  assert.equal(connection.revision, '4-d');
  assert.deepEqual(seen.statuses.map(({ status }) => status), ['live', 'waiting', 'live']);
  connection.close();
  server.close();
});

// MARK: Views and windows

const placed = (answer, above, below) => ({ ...answer, window: { anchor: 'a', above, below } });

test('a view and a window are asked for, and the place of the window is handed on', async () => {
  const view = { where: [{ at: '/content/name', has: 'a+b & c' }] };
  const { asked, seen } = await follow(
    [(talk) => talk.stream(placed(reset('1-a~4.1.4', 'a'), 4, 2))], shows('a'),
    { view, window: { at: undefined, around: 'ü/1', before: 2, after: 0 } });
  const { view: sent, ...query } = asked[0].query;
  assert.deepEqual(JSON.parse(sent), view);
  assert.ok(!asked[0].url.includes('+'), 'a space is %20');
  assert.deepEqual(query, { dialect: 'keyed', content: 'delta', around: 'ü/1', before: '2', after: '0' });
  assert.deepEqual(seen.answers[0].window, { anchor: 'a', above: 4, below: 2 });
});

/** Follows as `follow` does; `act` is called with the connection after each answer. */
async function move(script, claim, act, more = {}) {
  const server = await fake(...script);
  const { seen, options, until } = watch();
  const onChange = (...values) => { options.onChange(...values); act(connection, seen.answers.length); };
  const connection = connect(server.url, { ...options, onChange, window: { at: 'start' }, ...more });
  try { await until(claim); } finally { connection.close(); server.close(); }
  return { asked: server.asked, seen, connection };
}

const first = ({ show }, count) => { if (count === 1) show({ at: 7 }); };

for (const transport of ['stream', 'poll']) {
  test(`another window is asked for at once, from mine: ${transport}`, async () => {
    const give = (talk, answer) => (transport === 'poll' ? talk.json(answer) : talk.stream(answer));
    const { asked, seen, connection } = await move([
      (talk) => give(talk, reset('1-a~0.2.0', 'ab')), (talk) => give(talk, append('1-a~0.2.0', '1-a~0.3.2', 'c')), () => {},
    ], shows('abc'), first, { transport });
    assert.deepEqual(asked.slice(0, 2).map(({ query }) => query.at), ['start', '7']);
  assert.equal(asked[1].query.since, '1-a~0.2.0');
    assert.ok(asked[1].at - asked[0].at < 500);
    assert.ok(seen.statuses.every(({ status }) => status === 'live'), 'to move is no failure');
    assert.equal(connection.revision, '1-a~0.3.2');
  });
}

test('a held request is given up for another window', async () => {
  const { state } = reset('1-a', 'a');
  let connection;
  const server = await fake(
    () => connection.show({ at: 'end' }), (talk) => talk.json(append('1-a', '1-a~1.2.2', 'b')), () => {});
  const { seen, options, until } = watch();
  connection = connect(server.url, { ...options, transport: 'poll', since: '1-a', state });
  await until(shows('ab'));
  connection.close();
  server.close();
  assert.deepEqual(server.asked.slice(0, 2).map(({ query }) => query.at), [undefined, 'end']);
  assert.ok(seen.statuses.every(({ status }) => status === 'live'));
});

test('what still comes for the window before is taken by the rule, and asked for again where it is lost', async () => {
  for (const late of [append('1-a', '2-b', 'b'), append('0-z', '1-a', 'a'), append('8-x', '9-y', 'z')]) {
    const from = late.from === '1-a' ? '2-b' : '1-a';
    const { asked, seen } = await move([
      (talk) => talk.stream().raw([reset('1-a', 'a'), late].map((answer) => (
        `event: changes\nid: ${answer.to}\ndata: ${JSON.stringify(answer)}\n\n`)).join('')),
      (talk) => talk.stream(append(from, '3-c', 'c')),
    ], (seen) => seen.ids.endsWith('c'), first);
    assert.equal(seen.ids, from === '2-b' ? 'abc' : 'ac');
    assert.equal(asked[1].query.since, from);
    assert.equal(asked[1].query.at, '7');
    assert.ok(asked[1].at - asked[0].at < 500);
  }
});

test('the same window again is no failure, and none is all rows', async () => {
  const window = { at: 'end' };
  const { asked, seen } = await move([
    (talk) => talk.stream(reset('1-a', 'a')), (talk) => talk.stream(append('1-a', '2-b', 'b')), (talk) => talk.stream(append('2-b', '3-c', 'c')),
  ], shows('abc'), ({ show }, count) => { if (count < 3) show(count === 1 ? window : null); }, { window });
  assert.deepEqual(asked.map(({ query }) => query.at), ['end', 'end', undefined]);
  assert.ok(seen.statuses.every(({ status }) => status === 'live'));
});

test('windows asked for before a stream has begun do not lead to polls', async () => {
  let connection;
  const server = await fake(
    () => connection.show({ at: 1 }), () => connection.show({ at: 2 }), (talk) => talk.stream(reset('1-a~0.1.0', 'a')));
  const { options, until } = watch();
  connection = connect(server.url, { ...options, window: { at: 0 } });
  await until(shows('a'));
  connection.close();
  server.close();
  assert.deepEqual(server.asked.map(({ query, headers }) => [query.at, headers.accept]),
    ['0', '1', '2'].map((at) => [at, 'text/event-stream']));
});

test('another window waits as Retry-After says, too', async () => {
  let connection;
  const server = await fake((talk) => talk.refuse(503, { 'Retry-After': '1' }), (talk) => talk.stream(reset('1-a', 'a')));
  const { options, until } = watch();
  const onStatus = (status) => { options.onStatus(status); if (status.status === 'waiting') connection.show({ at: 3 }); };
  connection = connect(server.url, { ...options, onStatus, window: { at: 0 } });
  await until(shows('a'));
  connection.close();
  server.close();
  assert.ok(server.asked[1].at - server.asked[0].at >= 1_000);
  assert.equal(server.asked[1].query.at, '3');
});

// MARK: Faults

test('a dropped stream resumes from what was applied', async () => {
  const { asked, seen } = await follow([
    (talk) => talk.stream(reset('1-a', 'a'), append('1-a', '2-b', 'b')).drop(),
    (talk) => talk.stream(append('2-b', '3-c', 'c')).close(),
    (talk) => talk.stream(append('3-c', '4-d', 'd')),
  ], shows('abcd'));
  assert.deepEqual(asked.map(({ query }) => query.since), [undefined, '2-b', '3-c']);
  assert.ok(seen.statuses.filter(({ status }) => status === 'waiting').every(({ delay }) => delay >= 10 && delay <= 40));
});

test('half an event at the end of a stream is not taken', async () => {
  const whole = `event: changes\ndata: ${JSON.stringify(append('1-a', '2-b', 'x'))}\n\n`;
  const { asked } = await follow([
    (talk) => talk.stream(reset('1-a', 'a')).raw(whole.slice(0, -1)).close(),
    (talk) => talk.stream(append('1-a', '2-b', 'b')),
  ], shows('ab'));
  assert.equal(asked[1].query.since, '1-a');
});

test('chunks split inside a character', async () => {
  const bytes = Buffer.from(`event: changes\ndata: ${JSON.stringify(reset('1-a', ['é', '😀']))}\n\n`);
  await follow([async (talk) => {
    talk.stream();
    for (const byte of bytes) {
      talk.raw(Buffer.of(byte));
      if (byte > 127) await pause(5, 'a network in pieces');
    }
  }], shows('é😀'));
});

test('429 and 503 are obeyed, what is shown stays', async () => {
  const { asked, seen } = await follow([
    (talk) => talk.stream(reset('1-a', 'a')).drop(),
    (talk) => talk.refuse(503, { 'Retry-After': '1' }),
    (talk) => talk.refuse(429, { 'Retry-After': new Date(Date.now() + 2_500).toUTCString() }),
    (talk) => talk.stream(append('1-a', '2-b', 'b')),
  ], shows('ab'));
  assert.ok(asked[2].at - asked[1].at >= 1_000, 'seconds');
  assert.ok(asked[3].at - asked[2].at >= 400, 'a date');
  assert.ok(asked[3].at - asked[1].at < 4_000);
  assert.equal(asked[3].query.since, '1-a');
  assert.equal(seen.statuses.filter(({ problem }) => problem?.status === 503)[0].problem.title, 'Refused 503');
});

test('a Retry-After beyond what timers can count waits', async () => {
  const { seen } = await follow([(talk) => talk.refuse(503, { 'Retry-After': '99999999999' })],
    (seen) => seen.statuses.length === 1);
  assert.equal(seen.statuses[0].delay, 2 ** 31 - 1);
});

test('a page of a proxy in place of a problem', async () => {
  const { seen } = await follow([(talk) => talk.refuse(502, { 'Content-Type': 'text/html' }, '<h1>Bad gateway</h1>')],
    (seen) => seen.statuses.length === 1);
  assert.deepEqual(seen.statuses[0].problem, { title: 'Bad Gateway', status: 502 });
});

test('404, then the session is made again', async () => {
  const { asked, seen } = await follow([
    (talk) => talk.stream(reset('5-a', 'ab')).drop(),
    (talk) => talk.refuse(404), (talk) => talk.refuse(404),
    (talk) => talk.stream(reset('1-c', 'xy', 'unknown')),
  ], shows('xy'));
  assert.deepEqual(asked.map(({ query }) => query.since), [undefined, '5-a', '5-a', '5-a']);
  assert.equal(seen.answers.at(-1).reset, 'unknown');
});

test('an end keeps what is shown, and asks again', async () => {
  const { asked, seen } = await follow([
    (talk) => talk.stream(reset('1-a', 'a')).end({ title: 'Gone', status: 404 }),
    (talk) => talk.stream(append('1-a', '2-b', 'b')),
  ], shows('ab'));
  assert.equal(asked[1].query.since, '1-a');
  assert.equal(seen.statuses.find(({ status }) => status === 'waiting').problem.title, 'Gone');
});

test('back-off grows, with chance in it', async () => {
  const { seen } = await follow([(talk) => talk.stream().drop(), ...Array(5).fill((talk) => talk.refuse(500)), (talk) => talk.stream(reset('1-a', 'a'))], shows('a'));
  seen.statuses.filter(({ status }) => status === 'waiting').forEach(({ delay }, at) => {
    assert.ok(delay >= 10 * 2 ** at && delay <= 20 * 2 ** at, `${delay} after ${at} failures`);
  });
});

test('streams of a list that is quiet do not count as failures when they end', async () => {
  const quiet = (talk) => talk.stream().raw('id: 1-a\n\n').drop();
  const { seen } = await follow([
    (talk) => talk.stream(reset('1-a', 'a')).drop(), ...Array(5).fill(quiet), (talk) => talk.stream(append('1-a', '2-b', 'b')),
  ], shows('ab'));
  const delays = seen.statuses.filter(({ status }) => status === 'waiting').map(({ delay }) => delay);
  assert.equal(delays.length, 6);
  assert.ok(delays.every((delay) => delay <= 20), `${delays}`);
});

// MARK: Sessions that are not there

const said = ({ statuses }) => statuses.map(({ status, problem, delay }) => (
  problem ? `${status} ${problem.status ?? problem.title}${delay ? '' : ' 0'}` : status));

/** Follows a script for a while; a function instead of a claim decides when it is enough. */
async function watched(script, until, more = {}) {
  const server = await fake(...script);
  const view = watch();
  const connection = connect(server.url, { ...view.options, ...more });
  try { await until(view, server); } finally { connection.close(); server.close(); }
  return { asked: server.asked, seen: view.seen };
}

test('a session that is not there is told at once, by one request, and is waited for on the same stream', async () => {
  let stream;
  const { asked, seen } = await watched([(talk) => { stream = talk.stream(); }, (talk) => talk.refuse(404)], async ({ seen, until }, { asked }) => {
    const isAskedOnce = () => seen.statuses.length === 1 && asked.length === 2;
    await until((seen) => seen.statuses.length === 1);
    await stays(isAskedOnce, 'it is told once', 500);
    stream.raw(': \n\n'); // as every 15 s
    await stays(isAskedOnce, 'it is told once', 500);
    stream.event(reset('1-a', 'ab'));
    await until(shows('ab'));
  });
  assert.deepEqual(said(seen), ['waiting 404 0', 'live']);
  assert.deepEqual(asked.map(({ headers }) => headers.accept), ['text/event-stream', '*/*']);
  assert.ok(asked[1].at - asked[0].at < 1_500);
  assert.equal(asked[1].query.wait, undefined);
});

const bases = { fresh: {}, resumed: { since: '1-a', state: reset('1-a', 'a').state } };
for (const [name, more, ...pieces] of [
  ['with a reset', bases.fresh, `event: changes\nid: 1-a\ndata: ${JSON.stringify(reset('1-a', 'a'))}\n\n`],
  ['with the revision that one has', bases.resumed, 'id: 1-a\n\n'],
  ['with a reset that is long', bases.fresh, 'event: changes\nid: 1-a\ndata', `: ${JSON.stringify(reset('1-a', 'a'))}\n\n`],
]) {
  test(`a stream that answers ${name} is the only request`, async () => {
    const script = [async (talk) => {
      talk.stream();
      for (const piece of pieces) {
        talk.raw(piece);
        await pause(600, 'a slow server');
      }
    }, (talk) => talk.refuse(404)];
    const { asked, seen } = await watched(script, async ({ until }, { asked }) => {
      await until((seen) => seen.statuses.length === 1);
      await stays(() => asked.length === 1, 'it is the only request', 700);
    }, more);
    assert.deepEqual(said(seen), ['live']);
    assert.equal(asked.length, 1);
  });
}

test('a list that is made just now is no missing one, and is not taken twice', async () => {
  const { asked, seen } = await watched([
    (talk) => { talk.stream(); later(900, 'a slow server', () => talk.event(reset('1-a', 'ab'))); }, (talk) => talk.json(reset('1-a', 'ab')),
  ], ({ until }) => until(shows('ab')));
  assert.deepEqual(said(seen), ['live']);
  assert.equal(seen.answers.length, 1);
  assert.equal(asked.length, 2);
});

test('a session that is found while one asks is no missing one', async () => {
  let stream;
  const { seen } = await watched([(talk) => { stream = talk.stream(); }, async (talk) => {
    stream.event(reset('1-a', 'a'));
    await pause(100, 'a slow server');
    talk.refuse(404);
  }], async ({ seen, until }) => {
    await until(shows('a'));
    await stays(() => said(seen).every((words) => words === 'live'), 'it is no missing one', 300);
  });
  assert.deepEqual(said(seen), ['live']);
});

for (const status of [401, 403, 429, 503]) {
  test(`that one may not ask, ${status}, is for the stream to tell`, async () => {
    const { asked, seen } = await watched([
      (talk) => { talk.stream(); later(600, 'a slow server', () => talk.event(reset('1-a', 'a'))); }, (talk) => talk.refuse(status),
    ], ({ until }) => until(shows('a')));
    assert.deepEqual(said(seen), ['live']);
    assert.equal(asked.length, 2);
  });
}

test('a session that has ended is not asked for, and what is shown stays', async () => {
  let stream;
  const { asked, seen } = await watched([
    (talk) => talk.stream(reset('1-a', 'a')).end({ title: 'Gone', status: 404 }), (talk) => { stream = talk.stream(); },
  ], async ({ seen, until }, { asked }) => {
    await until(() => seen.statuses.length === 2);
    await waitFor(() => asked.length === 2);
    await stays(() => asked.length === 2 && seen.ids === 'a', 'nothing is asked beside it, and what is shown stays', 900);
    stream.event(reset('1-b', 'b', 'unknown'));
    await until(shows('b'));
  });
  assert.deepEqual(said(seen), ['live', 'waiting 404', 'live']);
  assert.equal(asked[1].query.since, '1-a');
});

test('after a stream that broke it is asked again', async () => {
  const { asked, seen } = await watched([
    (talk) => talk.stream(reset('1-a', 'a')).drop(), (talk) => talk.stream(), (talk) => talk.refuse(404), () => {},
  ], async ({ until }, { asked }) => {
    await until(({ statuses }) => statuses.at(-1)?.problem?.status === 404);
    await stays(() => asked.length === 3, 'it is asked once', 500);
  });
  assert.deepEqual(said(seen).filter((words) => words !== 'live').at(-1), 'waiting 404 0');
  assert.deepEqual(asked.map(({ query }) => query.since), [undefined, '1-a', '1-a']);
});

test('what is asked beside a stream ends with it', async () => {
  let isEnded;
  await watched([(talk) => talk.stream(), (talk) => { talk.response.on('close', () => { isEnded = true; }); }],
    (_, { asked }) => waitFor(() => asked.length > 1));
  await waitFor(() => isEnded);
});

test('polls tell it at once, and wait for it then', async () => {
  const { asked, seen } = await watched([
    (talk) => talk.refuse(404), (talk) => talk.json(reset('1-a', 'a')), () => {},
  ], ({ until }) => until(shows('a')), { transport: 'poll' });
  assert.deepEqual(said(seen), ['waiting 404', 'live']);
  assert.deepEqual(asked.map(({ query }) => query.wait).slice(0, 2), [undefined, '25']);
});

const secret = 'a secret of the one who writes it';
const key = `test:${createHash('sha256').update(secret).digest('hex')}`;

// A reader of a public list has no credentials, so what is missing is 401.
for (const [transport, options, missing] of ['stream', 'poll'].flatMap((transport) => (
  [[transport, [], 'session-not-found'], [transport, ['--key', key], 'unauthenticated']]))) {
  test(`the real server: a session that appears, goes and comes again: ${transport}, ${missing}`, async () => {
    const server = await start(await freePort(), ...options);
    const path = `${server.url}/v1/sessions/s`;
    const write = (method, body) => call(method, path, body, options.length ? { Authorization: `Bearer ${secret}` } : {});
    const { seen, options: told, until } = watch();
    const connection = connect(server.url, { ...told, transport });
    await until((seen) => seen.statuses.length === 1);
    assert.deepEqual([seen.statuses[0].status, seen.statuses[0].problem.type], ['waiting', `/problems/${missing}`]);
    await pause(100, 'a writer who comes later');
    await write('PUT', { state: ['a'], public: true });
    await until(shows('a'));
    assert.equal(seen.statuses.at(-1).status, 'live');
    await pause(300, 'a writer who comes while a request is held, which ends with the session');
    await write('DELETE');
    await until((seen) => [401, 404].includes(seen.statuses.at(-1).problem?.status));
    assert.equal(seen.ids, 'a', 'what is shown stays');
    await write('PUT', { state: ['b'], public: true });
    await until(shows('b'));
    assert.equal(seen.statuses.at(-1).status, 'live');
    connection.close();
    await server.stop();
  });
}

// MARK: Who asks

test('a wrong token stops it', async () => {
  const { asked, seen } = await follow([(talk) => talk.refuse(401)], stopped, { token: 'x' });
  assert.equal(asked[0].headers.authorization, 'Bearer x');
  assert.equal(seen.statuses.at(-1).problem.status, 401);
});

test('without a token, 401 is waited for: the list may be public later', async () => {
  const { asked, seen } = await follow([
    (talk) => talk.stream(reset('1-a', 'a')).drop(), (talk) => talk.refuse(401), (talk) => talk.stream(append('1-a', '2-b', 'b')),
  ], shows('ab'));
  assert.deepEqual(seen.statuses.filter(({ problem }) => problem?.status === 401).map(({ status }) => status), ['waiting']);
  assert.deepEqual(asked.map(({ query }) => query.since), [undefined, '1-a', '1-a']);
});

test('a token that a function gives is renewed', async () => {
  const tokens = ['old', 'new'];
  const { asked } = await follow([
    (talk) => talk.refuse(401), (talk) => talk.stream(reset('1-a', 'a')),
  ], shows('a'), { token: async () => tokens.shift() });
  assert.deepEqual(asked.map(({ headers }) => headers.authorization), ['Bearer old', 'Bearer new']);
});

for (const status of [400, 403, 422]) {
  test(`${status} stops it`, () => follow([(talk) => talk.refuse(status)], stopped));
}

// MARK: Polling

test('without streams it polls', async () => {
  const { asked, seen } = await follow([
    (talk) => talk.refuse(406), (talk) => talk.json(reset('1-a', 'a')), (talk) => talk.json(append('1-a', '2-b', 'b')), () => {},
  ], shows('ab'));
  assert.deepEqual(asked.slice(1, 3).map(({ query }) => [query.since, query.wait]), [[undefined, undefined], ['1-a', '25']]);
  assert.equal(seen.statuses.at(-1).transport, 'poll');
});

test('an answer that is no stream leads to polls, and later to a stream again', async () => {
  const { asked } = await follow([
    (talk) => talk.json(reset('0-z', 'z')), (talk) => talk.json(reset('0-a', '')),
    ...Array.from({ length: 4 }, (_, at) => (talk) => talk.json(append(`${at}-a`, `${at + 1}-a`, `${at}`))),
    (talk) => talk.stream(append('4-a', '5-a', 'x')),
  ], shows('0123x'));
  assert.equal(asked.at(-1).headers.accept, 'text/event-stream');
});

test('polls that nobody holds do not go in a circle', async () => {
  const server = await fake((talk) => talk.json({ ...append('1-a', '1-a'), changes: [] }));
  const { options } = watch();
  const { state } = reset('1-a', 'a');
  const connection = connect(server.url, { ...options, transport: 'poll', since: '1-a', state });
  await stays(() => server.asked.length <= 3, 'there are three requests at most', 1_200);
  connection.close();
  server.close();
});

test('something that holds a stream back leads to polls', async () => {
  const { asked } = await follow([() => {}, (talk) => talk.json(reset('1-a', 'a')), () => {}], shows('a'));
  assert.ok(asked[1].at - asked[0].at > 3_000);
}, { timeout: 12_000 });

// MARK: Ending

test('close ends everything, and no callback comes after it', async () => {
  const server = await fake((talk) => talk.stream(reset('1-a', 'a'), append('1-a', '2-b', 'b')));
  const { seen, options, until } = watch();
  const connection = connect(server.url, { ...options, onChange(...values) { options.onChange(...values); connection.close(); } });
  await until(shows('a'));
  await stays(() => seen.ids === 'a' && server.asked.length === 1, 'nothing comes after it', 100);
  assert.equal(connection.status, 'closed');
  server.close();
});

// MARK: The real server

test('the real server: changes, restart and re-creation', async () => {
  const port = await freePort();
  let server = await start(port);
  const path = `${server.url}/v1/sessions/s`;
  await call('PUT', path, { state: ['a'] });
  const { seen, options, until } = watch();
  const connection = connect(server.url, options);
  await until(shows('a'));
  await call('POST', `${path}/changes`, { state: ['b', 'a'] });
  await until(shows('ba'));
  assert.ok(seen.answers[1].changes, 'the second answer is a changeset');

  await server.stop('SIGKILL');
  await until((seen) => seen.statuses.at(-1).status === 'waiting');
  assert.equal(seen.ids, 'ba', 'what is shown stays');
  server = await start(port);
  await until((seen) => seen.statuses.at(-1).problem?.status === 404);
  await call('PUT', path, { state: ['n', 'a'] });
  await until(shows('na'));
  assert.equal(seen.answers.at(-1).reset, 'unknown');

  await call('DELETE', path);
  await until((seen) => seen.statuses.at(-1).problem?.type === '/problems/session-not-found');
  connection.close();
  await server.stop();
});

test('the real server: polls', async () => {
  const server = await start(await freePort());
  await call('PUT', `${server.url}/v1/sessions/s`, { state: ['a'] });
  const { options, until } = watch();
  const connection = connect(server.url, { ...options, transport: 'poll' });
  await until(shows('a'));
  await call('POST', `${server.url}/v1/sessions/s/changes`, { state: ['b', 'a'] });
  await until(shows('ba'));
  connection.close();
  await server.stop();
});

for (const transport of ['stream', 'poll']) {
  test(`the real server: a window of a view that moves while the list changes: ${transport}`, async () => {
    const server = await start(await freePort());
    const pick = chance(transport.length);
    const path = `${server.url}/v1/sessions/s/changes`;
    const row = (id) => ({ id, content: { n: pick(4), text: `row ${id}` } });
    const ids = Array.from({ length: 200 }, (_, at) => at);
    const view = { where: [{ at: '/content/n', below: 3 }], fields: ['/content/n'] };
    await call('POST', path, { state: ids.map(row) });
    const { seen, options } = watch();
    const connection = connect(server.url, { ...options, view, window: { at: 'start' }, transport });
    for (let round = 0; round < 60; round += 1) {
      const { items } = (await call('GET', `${path}?view=${encodeURIComponent(JSON.stringify(view))}`)).body.state.sections[0];
      const anchor = items[pick(items.length)].id;
      const size = { before: pick(20), after: pick(20) };
      const window = { ...[{ at: 'start' }, { at: 'end' }, { at: pick(200) }, { around: anchor }][pick(4)], ...size };
      const gone = ids.filter((id) => id !== anchor)[pick(ids.length - 1)];
      const edits = [
        { op: 'delete', items: [gone] }, { op: 'insert', items: [row(200 + round)], at: ['start', 'end'][pick(2)] },
        { op: 'move', items: [anchor], after: ids.find((id) => id !== gone && id !== anchor) },
      ];
      // Sometimes before the list changes, sometimes after, sometimes both at once.
      if (pick(2)) connection.show(window);
      const writing = call('POST', path, { edits });
      if (pick(2)) await writing;
      connection.show(window);
      assert.equal((await writing).status, 200);
      ids.splice(ids.indexOf(gone), 1);
      ids.push(200 + round);
      const query = new URLSearchParams({ view: JSON.stringify(view), ...window });
      const { body } = await call('GET', `${path}?${query}`);
      await waitFor(() => isDeepStrictEqual(connection.state, body.state),
        () => `round ${round}: ${query}: ${JSON.stringify([connection.state, body.state])}`);
      // A write that changes nothing shown is not reported.
      if (connection.revision === body.to) assert.deepEqual(seen.answers.at(-1).window, body.window);
    }
    assert.ok(seen.answers.slice(1).every(({ reset }) => !reset), 'one reset, the first');
    assert.ok(seen.statuses.every(({ status }) => status === 'live'));
    connection.close();
    await server.stop();
  });
}

test('counts are handed on, and not adopted', async () => {
  const counted = (to, inserted) => ({ session: 's', from: '1-a', to, dialect: 'counts', changes: { items: { inserted } } });
  const { asked, seen, connection } = await follow([
    (talk) => { talk.stream(counted('2-b', 1), counted('3-c', 12)); talk.response.end(); },
    (talk) => talk.stream(counted('4-d', 13)),
  ], (seen) => seen.answers.length === 3, { dialect: 'counts', since: '1-a' });
  assert.deepEqual(seen.answers.map(({ changes }) => changes.items.inserted), [1, 12, 13]);
  assert.equal(connection.revision, '1-a');
  assert.equal(asked[1].query.since, '1-a');
});

test('counts are polled without waiting', async () => {
  const answer = { session: 's', from: '1-a', to: '2-b', dialect: 'counts', changes: { items: { inserted: 1 } } };
  const { asked } = await follow(
    [(talk) => talk.json(answer), (talk) => talk.json(answer)], (seen) => seen.answers.length === 2,
    { dialect: 'counts', since: '1-a', transport: 'poll' });
  assert.equal(asked[0].query.wait, undefined);
  assert.equal(asked[1].query.since, '1-a');
});
