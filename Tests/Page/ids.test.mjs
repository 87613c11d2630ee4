import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apply, connect } from '../../Clients/js/client.js';
import { edited } from '../../Clients/js/edits.js';
import { share } from '../../Clients/js/share.js';
import { limited } from './support/clock.mjs';
import { freePort, start } from './support/server.mjs';

// Integers beyond 2^53, which `JSON.parse` would round: the writer's bodies are texts.
const [safe, even, odd, low, long] = [9007199254740991, '9007199254740992', '9007199254740993', '-9007199254740993', '36893488147419103233'];

let server;
const open = [];
before(async () => { server = await start(await freePort()); });
after(() => {
  for (const connection of open) connection.close();
  return server.stop();
});

/** Posts a text, like a writer with integers of any size. */
async function post(session, text, query = '') {
  const url = `${server.url}/v1/sessions/${session}/changes${query}`;
  const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: text });
  assert.ok(answer.ok, `${text}\n${await answer.clone().text()}`);
  return answer.json();
}

const idsOf = (state) => state.sections.map(({ id, items }) => [id, ...items.map(({ id }) => id)]);

/** Follows a session, until the tests are over. */
function follow(session, { connect: begin = (options) => connect(server.url, options), ...more } = {}) {
  const seen = { answers: [], statuses: [] };
  let check = () => {};
  const connection = begin({
    session, ...more,
    onChange(state, answer) {
      // Applying the changes to what was shown gives what is shown.
      if (seen.shown && answer.changes && state) assert.deepEqual(apply(seen.shown, answer.changes), state);
      seen.shown = state;
      seen.answers.push(answer);
      check();
    },
    onStatus(status) { seen.statuses.push(status.status); },
  });
  open.push(connection);
  const until = (claim) => limited(new Promise((resolve) => {
    check = () => { if (claim(seen)) resolve(); };
    check();
  }), () => `${claim}; seen: ${JSON.stringify(seen)}`);
  const shows = (...ids) => until(({ shown }) => shown && JSON.stringify(idsOf(shown)) === JSON.stringify(ids));
  const fits = () => assert.ok(seen.statuses.every((status) => status === 'live'), `${seen.statuses}`);
  return { connection, seen, until, shows, fits };
}

test('large integer ids: rows stay apart, whatever the writer does to one of them', async () => {
  await post('apart', `[${safe},${even},${odd},${low},${long}]`);
  const lists = share(server.url);
  const readers = [follow('apart'), follow('apart', { transport: 'poll' }), follow('apart', { connect: lists.connect })];
  await Promise.all(readers.map(({ shows }) => shows(['main', safe, even, odd, low, long])));
  const stays = readers.map(({ seen }) => seen.shown.sections[0].items[1]);

  await post('apart', `{"edits":[{"op":"move","items":[${odd}],"at":"start"},{"op":"delete","items":[${low}]},
    {"op":"update","items":[{"id":${long},"content":{"n":1}}]},{"op":"insert","items":[{"id":9007199254740995}],"before":${even}}]}`);
  await Promise.all(readers.map(({ shows }) => shows(['main', odd, safe, '9007199254740995', even, long])));
  readers.forEach(({ seen, fits }, at) => {
    assert.equal(seen.shown.sections[0].items[3], stays[at], 'a row that nothing happened to is the same object');
    assert.deepEqual(seen.shown.sections[0].items[4], { id: long, content: { n: 1 } });
    fits();
  });
});

test('large integer ids: sections, parents and a window around one', async () => {
  const state = `{"sections":[{"id":${odd},"items":[{"id":${even},"items":[${odd}]},1]},{"id":${even},"items":[${low}]}]}`;
  await post('tree', state);
  const whole = follow('tree');
  const part = follow('tree', { window: { around: odd, before: 1, after: 0 } });
  await whole.shows([odd, even, odd, 1], [even, low]);
  assert.deepEqual(whole.seen.shown.sections[0].items[1], { id: odd, level: 1, parent: even });
  await part.shows([odd, even, odd]);
  assert.deepEqual(part.connection.window, { anchor: odd, above: 0, below: 2 });

  await post('tree', `{"edits":[{"op":"move","items":[${odd}],"into":{"section":${even}}},{"op":"move","sections":[${even}],"at":"start"}]}`);
  await whole.shows([even, low, odd], [odd, even, 1]);
  await part.shows([even, low, odd]);
  assert.deepEqual(part.connection.window, { anchor: odd, above: 0, below: 2 });
  whole.fits();
  part.fits();
});

test('large integer ids: your own JSON has them in its contents rounded, and its rows apart', async () => {
  const document = `{"rows":[{"key":${even},"n":1},{"key":${odd},"n":2}]}`;
  await post('own', document, '?itemsAt=/rows&idAt=/key');
  const reader = follow('own');
  await reader.shows(['main', even, odd]);
  assert.deepEqual(reader.seen.shown.sections[0].items.map(({ content }) => content.n), [1, 2]);
  await post('own', document.replace('"n":2', '"n":3'), '?itemsAt=/rows&idAt=/key');
  await reader.until(({ answers }) => answers.length > 1);
  assert.deepEqual(reader.seen.shown.sections[0].items.map(({ content }) => content.n), [1, 3]);
  reader.fits();
});

test('large integer ids: an edit by id is shown at once, settles without another step, and is done to that row', async () => {
  await post('edit', `{"sections":[{"id":${odd},"items":[${safe},${even},${odd}]},{"id":${even}}]}`);
  const { connection, seen, shows, fits } = follow('edit');
  await shows([odd, safe, even, odd], [even]);
  const exact = [-(2 ** 53), 2 ** 60].map(String);
  const steps = [
    [{ op: 'move', items: [odd], before: even }, [odd, safe, odd, even], [even]],
    [{ op: 'move', items: [even], into: { section: even } }, [odd, safe, odd], [even, even]],
    [{ op: 'update', items: [{ id: odd, content: 'x' }] }, [odd, safe, odd], [even, even]],
    [{ op: 'insert', items: ['9007199254740997'], after: odd }, [odd, safe, odd, '9007199254740997'], [even, even]],
    // Doubles hold these; they come as strings all the same.
    [{ op: 'insert', items: [{ id: -(2 ** 53), items: [2 ** 60] }], into: { section: odd } },
      [odd, safe, odd, '9007199254740997', ...exact], [even, even]],
    [{ op: 'move', sections: [even], before: odd }, [even, even], [odd, safe, odd, '9007199254740997', ...exact]],
    [{ op: 'delete', items: [odd] }, [even, even], [odd, safe, '9007199254740997', ...exact]],
  ];
  for (const [edit, ...expected] of steps) {
    const before = seen.answers.length;
    const edits = JSON.parse(JSON.stringify([edit]));
    const wanted = edited(seen.shown, edits);
    assert.deepEqual(idsOf(wanted), expected, JSON.stringify(edit));
    const done = connection.edit(edits);
    await shows(...expected);
    await done;
    assert.deepEqual(seen.shown, wanted);
    assert.deepEqual(seen.shown, connection.state, 'the server says the same, down to how ids are written');
    const [first, ...rest] = seen.answers.slice(before);
    assert.equal(first.from, first.to, 'shown before the server has answered');
    assert.ok(first.changes.length);
    assert.deepEqual(rest.flatMap(({ changes }) => changes), [], JSON.stringify(edit));
  }
  fits();
});

test('large integer ids: a refused edit goes back, and says which id it was', async () => {
  await post('refused', `[${even},${odd}]`);
  const { connection, seen, shows } = follow('refused');
  await shows(['main', even, odd]);
  const refusal = connection.edit([{ op: 'move', items: [even], at: 'end' }, { op: 'insert', items: [odd] }]);
  await assert.rejects(refusal, ({ problem }) => problem.errors[0].detail.includes(odd));
  assert.deepEqual(idsOf(seen.shown), [['main', even, odd]]);
});
