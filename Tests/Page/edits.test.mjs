import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { apply, connect } from '../../Clients/js/client.js';
import { difference, edited } from '../../Clients/js/edits.js';
import { later, pause, pauseAtRandom, waitFor } from './support/clock.mjs';
import { fake, append, reset, watch } from './support/fake.mjs';
import { call, chance, freePort, randomState, start } from './support/server.mjs';
import { World, naive, rowsOf } from './support/world.mjs';

const network = globalThis.fetch;
const worlds = new Map();
globalThis.fetch = (url, init) => {
  const world = worlds.get(new URL(url).host);
  return world ? world.fetch(url, init) : network(url, init);
};

let server;
before(async () => { server = await start(await freePort()); });
after(() => server.stop());

// MARK: What edits do

const rows = (...ids) => ids.map((id) => ({ id }));
const main = (...items) => ({ sections: [{ id: 'main', items }] });

test('edited: what did not change stays the same object', () => {
  const state = { sections: [{ id: 's', items: rows('a', 'b') }, { id: 't', items: rows('c') }] };
  const next = edited(state, [{ op: 'move', items: ['b'], at: 'start' }]);
  assert.equal(next.sections[1], state.sections[1]);
  assert.equal(next.sections[0].items[0], state.sections[0].items[1]);
  assert.equal(edited(state, [{ op: 'move', items: ['b'], after: 'a' }]), state);
  assert.equal(edited(state, [{ op: 'reload', items: ['b'] }]), state);
});

test('edited: what is hidden is counted and not shown', () => {
  const state = main({ id: 'a', expanded: false, children: 3 }, { id: 'b' }, { id: 'c' });
  assert.deepEqual(edited(state, [{ op: 'move', items: ['c'], into: 'a' }]), main({ id: 'a', expanded: false, children: 4 }, { id: 'b' }));
  assert.deepEqual(edited(state, [{ op: 'expand', items: ['a'] }]), main({ id: 'a', children: 3 }, { id: 'b' }, { id: 'c' }));
  assert.deepEqual(edited(state, [{ op: 'clear', items: ['a'] }]), main({ id: 'a', expanded: false }, { id: 'b' }, { id: 'c' }));
});

test('edited: in a window a row may be below one that is not there', () => {
  const state = main({ id: 'b', level: 2, parent: 'p', children: 1 }, { id: 'c', level: 3, parent: 'b' }, { id: 'd' });
  assert.deepEqual(edited(state, [{ op: 'update', items: [{ id: 'c', content: 1 }] }]).sections[0].items,
    [state.sections[0].items[0], { id: 'c', level: 3, parent: 'b', content: 1 }, { id: 'd' }]);
  assert.deepEqual(edited(state, [{ op: 'move', items: ['b'], after: 'd' }]),
    main({ id: 'd' }, { id: 'b', children: 1 }, { id: 'c', level: 1, parent: 'b' }));
});

test('edited: a row whose id is "undefined" is nobody\'s parent', () => {
  const state = main({ id: 'undefined' }, { id: 'b' });
  assert.equal(edited(state, [{ op: 'move', items: ['b'], after: 'undefined' }]), state);
});

const vectors = JSON.parse(readFileSync(new URL('../Fixtures/edits.json', import.meta.url)));
for (const { name, state, edits, after } of vectors) {
  test(`edited, as the server did it: ${name}`, () => {
    const copy = structuredClone(state);
    if (after) assert.deepEqual(JSON.parse(JSON.stringify(edited(state, edits))), after);
    else assert.throws(() => edited(state, edits));
    assert.deepEqual(state, copy, 'the state before is not touched');
  });
}

test('edited: a form that the server refuses is refused', async () => {
  const state = { sections: [{ id: 'x', items: [{ id: 'a', content: { n: 1 } }, { id: 'b' }] }, { id: 'y', items: [] }] };
  const move = (more) => ({ op: 'move', items: ['a'], ...more });
  const arrange = (more) => ({ op: 'move', sections: ['y'], ...more });
  const insert = (...items) => ({ op: 'insert', items });
  const add = (more) => ({ op: 'insert', sections: [{ id: 'z', ...more }] });
  const update = (more) => ({ op: 'update', items: [{ id: 'a', ...more }] });
  const forms = [
    ...[{}, { before: 'b', after: 'b' }, { before: 'b', at: 'end' }, { into: 'y', at: 'start' }, { into: 'y', before: 'b' },
      { into: 'y', at: 'start', after: 'b' }, { at: 'middle' }, { at: null }, { into: {} }, { into: { item: 'b', section: 'y' } },
      { into: { row: 'b' } }, { into: null }, { into: ['y'] }, { before: null }, { before: [] }, { before: ['b', null] }, { after: [null] },
      { before: [null, 'b'] }, { before: [['b']] }, { before: {} }, { before: '' }, { before: 1.5 }, { before: true }, { by: 'me' },
      { sections: ['x'] }, { op: 'shuffle' }, { op: 'constructor' }, { op: null }, { op: undefined }, { items: undefined }, { items: null },
      { items: 'a' }, { items: {} }, { items: [] }, { items: [{ id: 'a' }] }, { items: [null] }].map(move),
    ...[{ into: 'x' }, { into: { section: 'x' } }, { before: 'x' }, { at: 'start' }, { after: null }].map(arrange),
    ...[{}, { title: 'x' }, { id: 'n', title: 'x' }, { id: '' }, { id: null }, { id: 1.5 }, '', null, 1, -3, ['n'], 'n\u0001', 'n\u007f',
      'n'.repeat(2_048), 'n'.repeat(2_049), 'é'.repeat(1_025), { id: 'n', kind: null }, { id: 'n', kind: 1 }, { id: 'n', kind: 'k' },
      { id: 'n', expanded: null }, { id: 'n', expanded: 1 }, { id: 'n', content: null }, { id: 'n', patch: 1 }, { id: 'n', items: null },
      { id: 'n', items: {} }, { id: 'n', items: ['p', 2] }, { id: 'n', items: [{}] }, { id: 'n', items: [{ id: 'q', items: ['r'] }] },
    ].map((item) => insert(item)),
    ...[{}, { kind: 'k' }, { items: ['n'] }, { items: null }, { id: undefined }, { patch: 1 }].map(add), { op: 'insert', sections: ['z'] },
    ...[{}, { content: 1, patch: 2 }, { content: 1, add: {} }, { patch: {}, add: {} }, { add: [] }, { add: null }, { add: { n: 1 } },
      { add: { '/n': 1 } }, { add: { '/n': '1' } }, { items: [] }, { kind: null }, { kind: 2 }, { kind: 'q' }, { expanded: null },
      { expanded: false }, { title: 1 }, { id: undefined }].map(update),
    { op: 'update', items: ['a'] }, { op: 'update', sections: [{ id: 'x', kind: 'k' }] }, { op: 'update', sections: [{ id: 'x', content: 1 }] },
    { op: 'delete', items: ['a'], before: 'b' }, { op: 'delete', items: ['a'], at: 'end' }, { op: 'clear' }, { op: 'clear', items: null },
    { op: 'clear', items: [], sections: [] }, { op: 'expand' }, { op: 'reload', items: ['a', 'a'] }, null, 'move', [],
  ].map((edit) => JSON.parse(JSON.stringify(edit)));
  let refusals = 0;
  await Promise.all(forms.map(async (edit, at) => {
    const path = `${server.url}/v1/sessions/form-${at}`;
    await call('PUT', path, { state });
    const { status, body } = await call('POST', `${path}/changes`, { edits: [edit] });
    const told = `${JSON.stringify(edit)}: ${JSON.stringify(body.errors)}`;
    if (status === 200) return assert.doesNotThrow(() => edited(state, [edit]), told);
    assert.equal(status, 422, told);
    refusals += 1;
    return assert.throws(() => edited(state, [edit]), undefined, told);
  }));
  assert.ok(refusals > 60 && forms.length - refusals > 25, `${refusals} of ${forms.length}`);
});

/** Some edits, fitting or not, of the rows shown. */
function randomEdits(pick, state, fresh) {
  const ids = [...state.sections.flatMap(({ items }) => items.map(({ id }) => id)), 'nobody'];
  const sections = [...state.sections.map(({ id }) => id), 'nowhere'];
  const some = (list) => list[pick(pick(8) ? Math.max(1, list.length - 1) : list.length)];
  const several = (list) => Array.from({ length: 1 + pick(2) }, () => some(list));
  const place = (list) => [
    { before: some(list) }, { after: some(list) }, { before: null }, { after: null }, { before: [some(list), some(list), ...pick(2) ? [null] : []] },
    { after: [...several(list), some(list)] }, {}, { at: ['start', 'end'][pick(2)] },
    ...list === ids ? [{ into: { item: some(ids) }, at: ['start', 'end'][pick(2)] }, { into: { section: some(sections) } },
      { into: some([...ids, ...sections]) }] : [],
  ];
  const item = () => [{ id: `n${fresh()}`, content: { n: pick(9) }, items: pick(3) ? [] : [`n${fresh()}`] }, `n${fresh()}`, { id: some(ids) }][pick(8) ? pick(2) : 2];
  return Array.from({ length: 1 + pick(3) }, () => {
    const [name, list] = pick(4) ? ['items', ids] : ['sections', sections];
    const places = place(list);
    const where = places[pick(places.length)];
    const intent = [
      { patch: { n: pick(9) } }, { patch: { n: null, m: { a: pick(2) || null } } }, { add: { '/n': 1 } }, { add: { '': 2, '/m/a': 0.1 } },
      { patch: pick(3) }, { patch: { n: 0.2, l: [1, { n: null }] }, add: { '/n': 0.1 } }, { add: { '/l/0': 1, '/l/1/m': 1 } }, { add: { '/l/1/n': 1 } },
      { add: { '/l/2': 1 } }, { add: { '/m~1/~0': -1 } },
    ];
    const edits = [
      { op: 'update', [name]: [{ id: some(list), ...intent[pick(intent.length)] }, { id: some(list), ...intent[pick(intent.length)] }] },
      { op: 'insert', [name]: name === 'items' ? [item(), item()] : [{ id: pick(6) ? `n${fresh()}` : some(sections), items: [item()] }], ...where },
      { op: 'move', [name]: several(list), ...where }, { op: 'move', [name]: several(list), ...where }, { op: 'move', [name]: [some(list)], ...where },
      { op: 'delete', [name]: several(list) },
      { op: 'update', [name]: [{ id: some(list), content: pick(3), ...pick(3) ? {} : { expanded: !pick(2) } }] },
      ...name === 'items' ? [{ op: 'update', items: [{ id: some(ids), kind: `k${pick(2)}` }] }] : [],
      { op: ['expand', 'collapse', 'reload', 'clear'][pick(4)], [name]: [some(list)] },
      ...pick(9) ? [] : [{ op: 'clear' }],
    ];
    return edits[pick(edits.length)];
  });
}

/** A state with everything expanded. */
const unfolded = (value) => JSON.parse(JSON.stringify(value, (name, part) => (name === 'expanded' ? undefined : part)));

test('edited: 600 random batches are done, or refused, as the server does them', async () => {
  const pick = chance(11);
  let [count, refused, done] = [0, 0, 0];
  const path = `${server.url}/v1/sessions/edited/changes`;
  for (let round = 0; round < 600; round += 1) {
    const state = (await call('POST', `${path}?since=`, { state: unfolded(randomState(pick)) })).body.state;
    const edits = randomEdits(pick, state, () => { count += 1; return count; });
    const { status, body } = await call('POST', path, { edits });
    const { body: { state: next } } = await call('GET', path);
    let mine;
    try { mine = edited(state, edits); } catch (error) { mine = error; }
    const what = `${JSON.stringify(state)}\n${JSON.stringify(edits)}`;
    if (status === 200) assert.deepEqual(JSON.parse(JSON.stringify(mine)), next, what);
    else assert.ok(mine instanceof Error, `${what}\n${JSON.stringify(body)}`);
    if (status === 200) done += 1; else refused += 1;
  }
  assert.ok(done > 200 && refused > 100, `${done} done, ${refused} refused`);
});

test('difference: 400 random pairs take as few operations as the server says, and lead there', async () => {
  const pick = chance(7);
  const tally = (changes) => {
    const sum = {};
    for (const { op, items, section } of changes) sum[op] = (sum[op] ?? 0) + (items ?? [0]).length + (op === 'insert' && section?.items?.length || 0);
    return sum;
  };
  for (let round = 0; round < 400; round += 1) {
    const [old, next] = [randomState(pick), randomState(pick)];
    const sides = [];
    for (const state of [old, next]) sides.push((await call('POST', `${server.url}/v1/sessions/d/changes?since=`, { state })).body.state);
    const mine = difference(...sides);
    const { body } = await call('POST', `${server.url}/v1/diff`, { old, new: next });
    assert.deepEqual(apply(sides[0], mine), sides[1]);
    assert.deepEqual(tally(mine), tally(body.changes), `${JSON.stringify(sides)}\n${JSON.stringify(mine)}\n${JSON.stringify(body.changes)}`);
  }
});

for (const [content, said, expected] of [
  [{ t: 'a' }, { append: { '/t': 'é' } }, { t: 'aé' }], [undefined, { append: { '': 'a' } }, 'a'], ['a', { append: { '': 'b' } }, 'ab'],
  [{ n: 1, t: 'x' }, { append: { '/t': 'c' }, add: { '/n': 1 }, patch: { t: 'p' } }, { n: 2, t: 'pc' }],
  [{ l: ['a', null] }, { append: { '/l/0': 'b', '/m~1/n': 'c' } }, { l: ['ab', null], 'm/': { n: 'c' } }],
  [undefined, { append: { '/a/b': '' } }, { a: { b: '' } }],
  ...[[1, ''], [null, ''], [['a'], ''], [{ n: 1 }, '/n'], [{ n: null }, '/n'], [{ l: ['a'] }, '/l'], [{ l: ['a'] }, '/l/1'], [{ l: ['a'] }, '/l/length'],
    [{ t: 'a' }, '/t/x'], [{}, 't']].map(([content, place]) => [content, { append: { [place]: 'x' } }]),
  ...[{ append: 'x' }, { append: { '': 1 } }, { append: null }, { append: { '': 'x' }, content: 'y' }].map((said) => [undefined, said]),
]) {
  test(`a text that is appended: ${JSON.stringify(said)} to ${JSON.stringify(content)}`, () => {
    for (const name of ['items', 'sections']) {
      const value = content === undefined ? { id: 'a' } : { id: 'a', content };
      const list = (value) => ({ sections: name === 'items' ? [{ id: 's', items: [value] }] : [{ ...value, items: [] }] });
      const done = () => edited(list(value), [{ op: 'update', [name]: [{ id: 'a', ...said }] }]);
      if (expected === undefined) assert.throws(done);
      else assert.deepEqual(done(), list({ id: 'a', content: expected }));
    }
  });
}

// MARK: A network that fails

let hosts = 0;
const plain = (state) => JSON.parse(JSON.stringify(state));
const board = () => ({
  sections: [['x', 'abcdef'], ['y', 'ghij'], ['z', ''], ['others', '']].map(([id, ids]) => (
    { id, items: [...ids].map((id) => ({ id, content: { n: 0 }, items: [] })) })),
});

/** Follows a world, and checks what is shown after each step. */
function follow(world) {
  const host = `world${hosts += 1}`;
  worlds.set(host, world);
  const batches = [];
  const ui = { state: null, moves: 0, inserts: new Map(), steps: 0 };
  const errors = [];
  const connection = connect(`http://${host}`, {
    session: 's',
    onChange(state, { changes, reset, from, to, state: given }) {
      ui.steps += 1;
      if (reset) assert.equal(given, state);
      // Applying the changes to what is shown gives the same.
      const done = reset ? state : apply(ui.state, changes);
      if (!isDeepStrictEqual(done, state)) errors.push(`${JSON.stringify(changes)} do not lead to ${JSON.stringify(state)}`);
      for (const { op, items } of changes ?? []) {
        if (op === 'move') ui.moves += 1;
        if (op === 'insert') for (const { id } of items ?? []) ui.inserts.set(id, (ui.inserts.get(id) ?? 0) + 1);
      }
      ui.state = state;
      if (from === to && !changes.length) errors.push('nothing was handed on');
      check(state);
    },
  });

  /** The head with the pending edits: those that may or may not be known to be done, either way. */
  function check(state) {
    const { doc, history } = world.docs.get(connection.revision);
    const sequence = Number.parseInt(connection.revision, 10);
    const isMaybe = (batch) => {
      const { at, isRefused } = world.fate(batches.indexOf(batch));
      return isRefused || at && (world.docs.get(at).history !== history || Number.parseInt(at, 10) <= sequence);
    };
    const open = batches.filter(({ isSettled }) => !isSettled);
    // A module is awaited between the call and its effect.
    const isNew = ({ at }) => performance.now() - at < 20;
    const maybe = open.filter((batch) => isMaybe(batch) || isNew(batch));
    for (let choice = 0; choice < 2 ** maybe.length; choice += 1) {
      const chosen = open.filter((batch) => !maybe.includes(batch) || choice & 2 ** maybe.indexOf(batch));
      const wanted = chosen.reduce((doc, { edits }) => { try { return naive(doc, edits); } catch { return doc; } }, doc);
      if (isDeepStrictEqual(plain(state), plain(rowsOf(wanted)))) return;
    }
    errors.push(`shown:\n${JSON.stringify(state)}\nof ${JSON.stringify(rowsOf(doc))}\npending ${JSON.stringify(open)}`);
  }
  function edit(edits, options) {
    const batch = { edits, isSettled: false, at: performance.now() };
    batches.push(batch);
    batch.done = connection.edit(edits, options).then((to) => ({ to }), (error) => ({ error })).then((outcome) => {
      batch.isSettled = true;
      return Object.assign(batch, outcome);
    });
    return batch.done;
  }
  const rest = async () => {
    await Promise.all(batches.map(({ done }) => done));
    await waitFor(() => [ui.state, connection.state].every((state) => isDeepStrictEqual(plain(state), plain(rowsOf(world.doc)))));
    await pause(60, 'what the network still brings');
    assert.deepEqual(plain(ui.state), plain(rowsOf(world.doc)), 'at rest, the head');
    assert.deepEqual(errors, []);
  };
  return { connection, ui, edit, rest, batches, close: () => { connection.close(); worlds.delete(host); } };
}

/** One edit of one row shown. */
function randomEdit(pick, state, count) {
  const ids = state.sections.filter(({ id }) => id !== 'others').flatMap(({ items }) => items.map(({ id }) => id));
  const some = () => ids[pick(ids.length)];
  const place = (id) => {
    const anchor = ids.filter((other) => other !== id)[pick(Math.max(1, ids.length - 1))];
    return [{ before: anchor }, { after: anchor }, { into: { section: ['x', 'y', 'z'][pick(3)] }, at: ['start', 'end'][pick(2)] }][anchor ? pick(3) : 2];
  };
  if (ids.length < 3) return { op: 'insert', items: [{ id: `n${count}`, content: { n: 1 } }], ...place() };
  const id = some();
  return [
    { op: 'update', items: [{ id, content: { n: pick(99) } }] },
    { op: 'insert', items: [{ id: `n${count}`, content: { n: 1 } }], ...place() },
    { op: 'delete', items: [id] },
    { op: 'move', items: [id], ...place(id) }, { op: 'move', items: [id], ...place(id) },
  ][pick(5)];
}

const rough = { refusal: 20, requestLost: 12, answerLost: 15, busy: 8, drop: 6, twice: 20, latency: 30, lag: 40 };

test('at rest the head, while pending the head with its own edits: 24 lists with other writers, losses, resets', async () => {
  let [edits, refusals] = [0, 0];
  await Promise.all(Array.from({ length: 24 }, async (_, seed) => {
    const pick = chance(seed);
    const world = new World(pick, board(), { ...rough, expiry: seed % 3 ? 0 : 8 });
    const view = follow(world);
    await waitFor(() => view.ui.state);
    for (let round = 0; round < 20; round += 1) {
      const count = `${seed}.${round}`;
      if (pick(3)) {
        const batch = Array.from({ length: 1 + pick(2) }, (_, at) => randomEdit(pick, view.ui.state, `${count}.${at}`));
        view.edit(batch);
      } else world.write([randomEdit(pick, rowsOf(world.doc), `w${count}`)]);
      if (seed % 5 === 0 && pick(15) === 0) world.commit(board());
      if (seed % 7 === 0 && pick(20) === 0) world.recreate(board());
      await (pick(4) ? pauseAtRandom(pick, 25) : pause(120, 'a user who looks'));
    }
    await view.rest();
    for (const [number, { error, to }] of view.batches.entries()) {
      const fate = world.fate(number);
      assert.equal(Boolean(error), !to);
      if (error) assert.equal(error.problem?.status, 422, error.stack);
      if (error) assert.ok(fate.isRefused);
      if (world.history === 0 && to) assert.equal(fate.times, 1, 'it was done once');
    }
    edits += view.batches.length;
    refusals += view.batches.filter(({ error }) => error).length;
    view.close();
  }));
  assert.ok(edits > 250 && refusals > 30, `${edits} edits, ${refusals} refused`);
});

test('a move that is confirmed is one move on the screen, a refused one two: 20 lists', async () => {
  const sums = { confirmed: 0, refused: 0 };
  await Promise.all(Array.from({ length: 20 }, async (_, seed) => {
    const pick = chance(1_000 + seed);
    const world = new World(pick, board(), rough);
    const view = follow(world);
    await waitFor(() => view.ui.state);
    for (let round = 0; round < 6; round += 1) {
      const { moves } = view.ui;
      const shown = view.ui.state;
      let edit;
      do edit = randomEdit(pick, shown, round); while (edit.op !== 'move' || edited(shown, [edit]) === shown);
      const done = view.edit([edit]);
      // Meanwhile, others change contents and rows.
      while (pick(3)) {
        world.write([{ op: 'insert', items: [{ id: `w${seed}.${round}.${pick(1e9)}` }], into: { section: 'others' } }]);
        await pauseAtRandom(pick, 60);
      }
      const { error } = await done;
      assert.equal(view.ui.moves - moves, error ? 2 : 1, `${JSON.stringify(edit)}: ${error}`);
      sums[error ? 'refused' : 'confirmed'] += 1;
      await waitFor(() => isDeepStrictEqual(plain(view.ui.state), plain(rowsOf(world.doc))));
      assert.equal(view.ui.moves - moves, error ? 2 : 1, 'and it stays so');
    }
    await view.rest();
    view.close();
  }));
  assert.ok(sums.confirmed > 50 && sums.refused > 10, JSON.stringify(sums));
});

test('many edits at once: no more moves than edits, and each row comes once: 16 lists', async () => {
  await Promise.all(Array.from({ length: 16 }, async (_, seed) => {
    const pick = chance(2_000 + seed);
    const world = new World(pick, board(), { ...rough, refusal: seed % 2 * 10, requestLost: 4, answerLost: 6, busy: 2 });
    const view = follow(world);
    await waitFor(() => view.ui.state);
    view.ui.inserts.clear();
    for (let round = 0; round < 12; round += 1) {
      let edit;
      do edit = randomEdit(pick, view.ui.state, `${seed}.${round}`); while (edit.op === 'delete');
      view.edit([edit]);
      if (pick(2)) world.write([{ op: 'update', items: [{ id: 'a', content: { n: pick(99) } }] }]);
      await pauseAtRandom(pick, 30);
    }
    await view.rest();
    const cost = view.batches.reduce((sum, { edits: [{ op }], error }) => sum + (op === 'move' ? error ? 2 : 1 : 0), 0);
    // A row that goes back may have been an anchor of later ones.
    if (view.batches.every(({ error }) => !error)) assert.ok(view.ui.moves <= cost, `${view.ui.moves} moves for ${cost}`);
    for (const { edits: [{ op, items: [{ id }] }], error } of view.batches) {
      if (op === 'insert' && !error) assert.equal(view.ui.inserts.get(id), 1, `${id} came once`);
    }
    view.close();
  }));
});

test('where the stream brings what was edited it is not opened anew', async () => {
  const pick = chance(9);
  const world = new World(pick, board(), { latency: 20, lag: 20 });
  const view = follow(world);
  await waitFor(() => view.ui.state);
  for (let round = 0; round < 15; round += 1) {
    view.edit([randomEdit(pick, view.ui.state, round)]);
    world.write([{ op: 'update', items: [{ id: 'j', content: { n: round } }] }]);
    await pauseAtRandom(pick, 40);
  }
  await view.rest();
  assert.equal(world.opened, 1);
  view.close();
});

// MARK: One at a time

const ids = (state) => state.sections.flatMap(({ items }) => items.map(({ id }) => id)).join('');
const problem = (talk, status, headers) => talk.refuse(status, headers);
const onlyPosts = (script) => {
  const stream = (talk) => talk.stream(reset('1-a', 'abc'));
  return (talk, request) => {
    if (request.method === 'POST') script.shift()(talk, request);
    else if (request.headers.accept === 'text/event-stream') stream(talk);
    else talk.json({ ...append('1-a', '1-a'), changes: [] });
  };
};

/** Edits a scripted server; returns what was seen, and the fate of the edits. */
async function edit(script, edits, options) {
  const server = await fake(onlyPosts(script));
  const { seen, options: more, until } = watch();
  const connection = connect(server.url, more);
  await until((seen) => seen.ids === 'abc');
  const posts = () => server.asked.filter(({ headers }) => headers['idempotency-key']);
  const outcome = await connection.edit(edits, options).then((to) => ({ to }), (error) => ({ error }));
  connection.close();
  server.close();
  return { seen, posts: posts(), outcome, answers: seen.answers.slice(1) };
}

const move = [{ op: 'move', items: ['c'], at: 'start' }];
const moved = { session: 's', from: '1-a', to: '2-b', dialect: 'keyed', changes: [{ op: 'move', item: 'c', in: 'main', before: 'a' }] };

test('an edit is shown before it is sent, and stays where it is when the answer comes', async () => {
  const { answers, posts, outcome, seen } = await edit([(talk) => talk.json(moved)], move);
  assert.deepEqual(answers[0].changes, [{ op: 'move', item: 'c', in: 'main', before: 'a' }]);
  assert.deepEqual([answers[0].from, answers[0].to], ['1-a', '1-a']);
  assert.deepEqual(answers.slice(1).map(({ changes, to }) => [changes, to]), [[[], '2-b']]);
  assert.equal(seen.ids, 'cab');
  assert.equal(outcome.to, '2-b');
  assert.equal(posts.length, 1);
  assert.equal(posts[0].query.since, '1-a');
});

test('a refused edit goes back, and its problem is told', async () => {
  const { answers, outcome, seen, posts } = await edit([(talk) => problem(talk, 422)], move);
  assert.deepEqual(answers.map(({ changes }) => changes.map(({ op, item }) => [op, item])), [[['move', 'c']], [['move', 'c']]]);
  assert.equal(seen.ids, 'abc');
  assert.equal(outcome.error.problem.status, 422);
  assert.equal(posts.length, 1);
});

for (const status of [400, 401, 403, 404, 409, 412, 413]) {
  test(`${status} is a refusal`, async () => {
    const refuse = (talk) => problem(talk, status);
    const { outcome, posts } = await edit([refuse, refuse], move);
    assert.equal(outcome.error.problem.status, status);
    // An older server refuses the form of contents by 400.
    assert.equal(posts.length, status === 400 ? 2 : 1);
  });
}

test('what may pass is sent again under one key: losses, 429, 502, 503, half an answer', async () => {
  const { outcome, posts, answers } = await edit([
    (talk) => talk.response.destroy(), (talk) => problem(talk, 502, { 'Content-Type': 'text/html' }),
    (talk) => problem(talk, 429, { 'Retry-After': '1' }), (talk) => problem(talk, 503, { 'Retry-After': '0' }),
    (talk) => talk.response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 999 }).write('{"to":', () => talk.response.destroy()),
    (talk) => talk.json(moved),
  ], move);
  assert.equal(outcome.to, '2-b');
  assert.equal(posts.length, 6);
  assert.equal(new Set(posts.map(({ headers }) => headers['idempotency-key'])).size, 1);
  assert.ok(posts[3].at - posts[2].at >= 1_000, 'Retry-After is kept');
  assert.equal(answers.flatMap(({ changes }) => changes).length, 1);
}, { timeout: 30_000 });

test('a page of a portal in place of an answer is none', async () => {
  const { outcome } = await edit([
    (talk) => talk.response.writeHead(200, { 'Content-Type': 'text/html' }).end('<form>'), (talk) => talk.json(moved)], move);
  assert.equal(outcome.to, '2-b');
});

test('each edit has a key of its own', async () => {
  const { posts } = await edit([(talk) => talk.json(moved)], move);
  const other = await edit([(talk) => talk.json(moved)], move);
  assert.notEqual(posts[0].headers['idempotency-key'], other.posts[0].headers['idempotency-key']);
});

test('when its time is over an edit goes back', async () => {
  const { outcome, seen, posts } = await edit(Array(9).fill((talk) => problem(talk, 503)), move, { timeout: 600 });
  assert.equal(outcome.error.problem.status, 503);
  assert.equal(seen.ids, 'abc');
  assert.ok(posts.length >= 1 && posts.length < 4);
});

test('an edit that is given up goes back at once', async () => {
  const control = new AbortController();
  later(60, 'a user who gives up', () => control.abort());
  const begin = performance.now();
  const { outcome, seen } = await edit([() => {}], move, { signal: control.signal });
  assert.equal(outcome.error.name, 'AbortError');
  assert.equal(seen.ids, 'abc');
  assert.ok(performance.now() - begin < 1_000);
});

test('what does not fit is not shown, but sent: the server may know more', async () => {
  const { answers, outcome } = await edit([(talk) => problem(talk, 422)], [{ op: 'delete', items: ['a'] }, { op: 'move', items: ['q'] }]);
  assert.deepEqual(answers, []);
  assert.equal(outcome.error.problem.status, 422);
});

test('edits that the server drops go back', async () => {
  const { seen, outcome } = await edit([(talk) => talk.json({ ...append('1-a', '1-a'), changes: [] })], move);
  assert.equal(seen.ids, 'abc');
  assert.equal(outcome.to, '1-a');
});

test('an answer through a window says where it stands', async () => {
  const placed = { anchor: 'a', above: 4, below: 2 };
  const server = await fake((talk, { method }) => (
    method === 'POST' ? talk.json({ ...moved, window: placed }) : talk.stream({ ...reset('1-a', 'abc'), window: placed })));
  const { seen, options, until } = watch();
  const connection = connect(server.url, { ...options, window: { around: 'a', before: 1, after: 1 }, view: { limit: 5 } });
  await until((seen) => seen.ids === 'abc');
  assert.deepEqual(connection.window, placed);
  await connection.edit(move);
  assert.deepEqual(seen.answers[1].window, placed, 'known from the answer before');
  const { query } = server.asked.find(({ headers }) => headers['idempotency-key']);
  assert.deepEqual([query.around, query.view, query.dialect], ['a', '{"limit":5}', 'keyed']);
  connection.close();
  server.close();
});

test('edits go one by one, in order; what is behind one that is given up does not wait', async () => {
  const world = new World(chance(3), board(), { latency: 20 });
  const view = follow(world);
  await waitFor(() => view.ui.state);
  await Promise.all([..."fedcb"].map((id) => view.edit([{ op: 'move', items: [id], at: 'start' }])));
  assert.equal(ids({ sections: [view.ui.state.sections[0]] }), 'bcdefa');
  assert.equal(view.ui.moves, 5);
  await view.rest();
  view.close();
});

test('what is to be drawn again is told though an edit is pending', async () => {
  let stream;
  const marks = [{ op: 'update', items: [{ id: 'a' }], as: 'reconfigure' }, { op: 'update', items: [{ id: 'b' }], as: 'reload' }];
  const server = await fake((talk, { method }) => {
    if (method === 'POST') {
      stream.event({ ...append('1-a', '2-a'), changes: marks });
      later(60, 'a slow server', () => problem(talk, 422));
    } else stream = talk.stream(reset('1-a', 'abc'));
  });
  const { seen, options, until } = watch();
  const connection = connect(server.url, options);
  await until((seen) => seen.ids === 'abc');
  await assert.rejects(connection.edit(move));
  connection.close();
  server.close();
  assert.deepEqual(seen.answers[2].changes, marks);
  assert.deepEqual(seen.answers[2].told, marks);
});

test('an addition is shown on top of what others added meanwhile, and taken back when it is refused', async () => {
  let [stream, refuse] = [];
  const state = main({ id: 'a', content: { likes: 1, price: 0.1 } });
  const server = await fake((talk, { method }) => {
    if (method !== 'POST') {
      stream = talk.stream({ ...reset('1-a', ''), state });
      return;
    }
    refuse = () => problem(talk, 422);
    const items = [{ id: 'a', content: { likes: 5, price: 0.1 } }];
    stream.event({ ...append('1-a', '2-a'), changes: [{ op: 'update', items, as: 'reconfigure' }] });
  });
  const likes = [];
  const connection = connect(server.url, {
    session: 's', onChange({ sections: [{ items: [{ content }] }] }) { likes.push([content.likes, content.price]); if (likes.length === 3) refuse(); },
  });
  await waitFor(() => likes.length);
  await assert.rejects(connection.edit([{ op: 'update', items: [{ id: 'a', add: { '/likes': 1, '/price': 0.2 } }] }]));
  connection.close();
  server.close();
  assert.deepEqual(likes, [[1, 0.1], [2, 0.3], [6, 0.3], [5, 0.1]]);
});

// MARK: The real server

for (const transport of ['stream', 'poll']) {
  test(`the real server: two clients edit one list: ${transport}`, async () => {
    const path = `${server.url}/v1/sessions/both-${transport}`;
    const pick = chance(transport.length);
    await call('PUT', path, { state: board() });
    const clients = [0, 1].map((number) => {
      const client = { state: null, errors: [], number };
      client.connection = connect(server.url, {
        session: `both-${transport}`, transport: transport === 'poll' ? 'poll' : undefined, content: 'patch',
        onChange(state, { changes, reset, from, to }) {
          if (!reset && !isDeepStrictEqual(apply(client.state, changes), state)) client.errors.push(JSON.stringify(changes));
          // At once: the client's own edit, applied to what is shown.
          if (from === to && !client.atOnce) client.atOnce = [edited(client.state, client.edits), state];
          client.state = state;
        },
      });
      return client;
    });
    await waitFor(() => clients.every(({ state }) => state));
    const done = [];
    for (let round = 0; round < 80; round += 1) {
      const client = clients[pick(2)];
      const count = `${client.number}.${round}`;
      const edits = [randomEdit(pick, client.state, count)];
      if (pick(5) === 0) edits.push({ op: pick(2) ? 'collapse' : 'expand', items: [edits[0].items[0].id ?? edits[0].items[0]] });
      Object.assign(client, { edits, atOnce: null });
      done.push(client.connection.edit(edits).then(() => 'done', ({ problem }) => problem.status));
      await pauseAtRandom(pick, 43, 3);
      if (client.atOnce) assert.deepEqual(client.atOnce[1], client.atOnce[0], 'shown at once');
    }
    const outcomes = await Promise.all(done);
    assert.ok(outcomes.every((outcome) => outcome === 'done' || outcome === 422), outcomes.join());
    assert.ok(outcomes.filter((outcome) => outcome === 'done').length > 50, outcomes.join());
    const { body } = await call('GET', `${path}/changes`);
    for (const { connection, errors, number } of clients) {
      const client = clients[number];
      await waitFor(() => isDeepStrictEqual(client.state, body.state), () => JSON.stringify([client.state, body.state]));
      assert.deepEqual(connection.state, body.state);
      assert.deepEqual(errors, []);
      connection.close();
    }
  });
}

test('the real server: a refusal names each place, and tells of the first', async () => {
  const connection = connect(server.url, { session: 'refusals' });
  await connection.post(['a', 'b']);
  await assert.rejects(connection.edit([{ op: 'insert', items: ['b'], after: 'nobody' }]), ({ problem: { errors, detail, status } }) => {
    assert.equal(status, 422);
    assert.deepEqual(errors.map(({ pointer, code }) => [pointer, code]), [['/edits/0/after', 'anchor-not-found'], ['/edits/0/items/0', 'duplicate-id']]);
    assert.equal(detail, `${errors[0].detail}; and 1 more`);
    return true;
  });
  await assert.rejects(connection.post(['c', 'c']), ({ problem: { errors } }) => {
    assert.deepEqual(errors.map(({ pointer, code }) => [pointer, code]), [['/0', 'duplicate-id'], ['/1', 'duplicate-id']]);
    return errors.every(({ detail }) => detail);
  });
  connection.close();
});

test('the real server: through a view that does not show what was edited the row goes back', async () => {
  const path = `${server.url}/v1/sessions/ordered`;
  await call('PUT', path, { state: ['a', 'b', 'c'] });
  const { seen, options, until } = watch();
  const connection = connect(server.url, { ...options, session: 'ordered', view: { order: [{ at: '/id' }] } });
  await until((seen) => seen.ids === 'abc');
  await connection.edit(move);
  assert.deepEqual(seen.answers.map(({ changes }) => changes?.map(({ op }) => op)), [undefined, ['move'], ['move']]);
  assert.equal(seen.ids, 'abc');
  await call('POST', `${path}/changes`, { state: ['a', 'b'] });
  await until((seen) => seen.ids === 'ab');
  connection.close();
});
