import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apply } from '../../Clients/js/client.js';
import { call, chance, freePort, randomState, start } from './support/server.mjs';

const rows = (...ids) => ids.map((id) => ({ id }));
const main = (...ids) => ({ sections: [{ id: 'main', items: rows(...ids) }] });

const table = [
  ['nothing', main('a'), [], main('a')],
  ['a move to the end', main('a', 'b'), [{ op: 'move', item: 'a', in: 'main', before: null }], main('b', 'a')],
  ['a move before a row that moved', main('a', 'b', 'c', 'd'), [
    { op: 'move', item: 'b', in: 'main', before: null }, { op: 'move', item: 'a', in: 'main', before: 'b' },
  ], main('c', 'd', 'a', 'b')],
  ['an id written as a number', { sections: [{ id: 1, items: rows(1, '2') }] }, [
    { op: 'move', item: 2, in: '1', before: '1' },
  ], { sections: [{ id: 1, items: rows('2', 1) }] }],
  ['a section that goes while its row moves out', { sections: [{ id: 's', items: rows('a', 'b') }, { id: 't', items: [] }] }, [
    { op: 'move', item: 'b', in: 't', before: null }, { op: 'remove', section: 's' },
  ], { sections: [{ id: 't', items: rows('b') }] }],
  ['a section that comes with rows', main('a'), [
    { op: 'insert', section: { id: 'n', content: 1, items: rows('x') }, before: 'main' },
    { op: 'move', item: 'a', in: 'n', before: 'x' },
  ], { sections: [{ id: 'n', content: 1, items: rows('a', 'x') }, { id: 'main', items: [] }] }],
  ['a section that moves', { sections: [{ id: 's', items: [] }, { id: 't', items: [] }] }, [
    { op: 'move', section: 't', before: 's' },
  ], { sections: [{ id: 't', items: [] }, { id: 's', items: [] }] }],
  ['a section that changes keeps its rows', main('a'), [{ op: 'update', section: { id: 'main', content: 'x' }, as: 'reconfigure' }],
    { sections: [{ id: 'main', content: 'x', items: rows('a') }] }],
  ['an update says everything anew', { sections: [{ id: 'm', items: [{ id: 'a', kind: 'k', content: 1, level: 1, parent: 'p' }] }] },
    [{ op: 'update', items: [{ id: 'a', level: 0, parent: null }], as: 'reload' }], { sections: [{ id: 'm', items: rows('a') }] }],
  ['a patch', { sections: [{ id: 'm', items: [{ id: 'a', content: { x: { y: 1, z: 2 }, w: [1] } }] }] },
    [{ op: 'update', items: [{ id: 'a', patch: { x: { z: null, q: 3 } } }], as: 'reconfigure' }],
    { sections: [{ id: 'm', items: [{ id: 'a', content: { x: { y: 1, q: 3 }, w: [1] } }] }] }],
  ['a patch of a section', { sections: [{ id: 'm', content: { a: 1, b: 2 }, items: [] }] },
    [{ op: 'update', section: { id: 'm', patch: { b: 3 } }, as: 'reconfigure' }], { sections: [{ id: 'm', content: { a: 1, b: 3 }, items: [] }] }],
  ['a text that grew', { sections: [{ id: 'm', items: [{ id: 'a', content: { x: { 'y/~': 'é', z: null }, w: [1] } }] }] },
    [{ op: 'update', items: [{ id: 'a', append: { '/x/y~1~0': '😀' } }], as: 'reconfigure' }],
    { sections: [{ id: 'm', items: [{ id: 'a', content: { x: { 'y/~': 'é😀', z: null }, w: [1] } }] }] }],
  ['a patch, then texts, also where there were none', { sections: [{ id: 'm', items: [{ id: 'a', kind: 'k', content: { x: 'a', n: 1 } }] }] },
    [{ op: 'update', items: [{ id: 'a', patch: { x: 'b', n: null }, append: { '/x': 'c', '/y/z': 'd' } }], as: 'reload' }],
    { sections: [{ id: 'm', items: [{ id: 'a', content: { x: 'bc', y: { z: 'd' } } }] }] }],
  ['a text of a section', { sections: [{ id: 'm', content: 'a', items: [] }] },
    [{ op: 'update', section: { id: 'm', append: { '': 'b' } }, as: 'reconfigure' }], { sections: [{ id: 'm', content: 'ab', items: [] }] }],
];

for (const [name, old, changes, expected] of table) {
  test(`apply: ${name}`, () => {
    const copy = structuredClone(old);
    assert.deepEqual(apply(old, changes), expected);
    assert.deepEqual(old, copy, 'the state before is not touched');
  });
}

test('apply: a member __proto__ is patched like any other', () => {
  const old = JSON.parse('{"sections":[{"id":"m","items":[{"id":"a","content":{"__proto__":{"x":1},"y":1}}]}]}');
  const changes = JSON.parse('[{"op":"update","items":[{"id":"a","patch":{"__proto__":{"x":2}}}],"as":"reconfigure"}]');
  assert.equal(JSON.stringify(apply(old, changes).sections[0].items[0].content), '{"__proto__":{"x":2},"y":1}');
  assert.equal({}.x, undefined);
});

test('apply: the list has a content of its own', () => {
  const old = { content: { title: 'a', n: 1 }, sections: [] };
  for (const [list, content] of [
    [{ content: 1 }, 1], [{ patch: { n: 2 } }, { title: 'a', n: 2 }], [{ append: { '/title': 'b' } }, { title: 'ab', n: 1 }],
    [{ patch: { n: null }, append: { '/title': 'b' } }, { title: 'ab' }], [undefined, old.content],
  ]) assert.deepEqual(apply(old, [], list), { content, sections: [] });
  assert.deepEqual(apply(old, [], {}), { sections: [] });
});

test('apply: a member __proto__ grows like any other', () => {
  const old = JSON.parse('{"sections":[{"id":"m","items":[{"id":"a","content":{"__proto__":{"x":"a"}}}]}]}');
  const changes = [{ op: 'update', items: [{ id: 'a', append: { '/__proto__/x': 'b' } }], as: 'reconfigure' }];
  assert.equal(JSON.stringify(apply(old, changes).sections[0].items[0].content), '{"__proto__":{"x":"ab"}}');
  assert.equal({}.x, undefined);
});

test('apply: what did not change stays the same object', () => {
  const old = { sections: [{ id: 's', items: rows('a') }, { id: 't', items: rows('b', 'c') }] };
  const next = apply(old, [{ op: 'move', item: 'c', in: 't', before: 'b' }]);
  assert.equal(next.sections[0], old.sections[0]);
  assert.equal(next.sections[1].items[0], old.sections[1].items[1]);
});

for (const change of [
  { op: 'remove', items: ['q'] }, { op: 'move', item: 'a', in: 'main', before: 'q' }, { op: 'move', item: 'a', in: 'q', before: null },
  { op: 'insert', items: [{ id: 'a' }], in: 'main', before: null }, { op: 'update', items: [{ id: 'q' }], as: 'reload' },
  { op: 'insert', section: { id: 'main' }, before: null }, { op: 'remove', section: 'q' },
  { op: 'update', section: { id: 'main', patch: { n: 1 }, append: { '/n': 'x' } }, as: 'reconfigure' },
]) {
  test(`apply: refuses what does not fit: ${JSON.stringify(change)}`, () => assert.throws(() => apply(main('a', 'b'), [change])));
}

test('apply: 20,000 rows that all move are quick', () => {
  const ids = Array.from({ length: 20_000 }, (_, at) => at);
  const changes = ids.slice(1).map((id) => ({ op: 'move', item: id, in: 'main', before: id - 1 }));
  const begin = performance.now();
  assert.deepEqual(apply(main(...ids), changes).sections[0].items[0], { id: 19_999 });
  assert.ok(performance.now() - begin < 1_000);
});

let server;
before(async () => { server = await start(await freePort()); });
after(() => server.stop());

for (const content of ['full', 'patch']) {
  test(`apply: 150 random states of the server, content=${content}`, async () => {
    const pick = chance(content.length);
    const path = `${server.url}/v1/sessions/random-${content}/changes`;
    let shown = null;
    let revision = '';
    for (let round = 0; round < 150; round += 1) {
      const { status, body } = await call('POST', `${path}?since=${revision}&content=${content}`, { state: randomState(pick) });
      assert.ok(status < 300, JSON.stringify(body));
      shown = body.reset ? body.state : apply(shown, body.changes);
      revision = body.to;
      const whole = await call('GET', `${path}`);
      assert.deepEqual(shown, whole.body.state, `round ${round}: ${JSON.stringify(body.changes)}`);
    }
  });
}

for (const content of ['full', 'patch']) {
  test(`apply: random histories with everything switched on, content=${content}`, async () => {
    const pick = chance(7 + content.length);
    const session = `${server.url}/v1/sessions/all-${content}`;
    const parts = (state) => state.sections.flatMap((section) => [section, ...below(section)]);
    const below = (parent) => (parent.items ?? []).flatMap((item) => [item, ...below(item)]);
    const state = () => {
      const made = randomState(pick);
      if (pick(2)) made.content = { page: pick(3), title: 'a title that stays as it is', more: { a: pick(2) } };
      return made;
    };
    const deeds = {
      state: () => call('POST', `${session}/changes`, state()),
      reload: () => call('POST', `${session}/changes?reload=true`, state()),
      replace: () => call('PUT', session, { state: state(), keep: pick(2) ? ['expanded'] : [] }),
      settings: () => call('PUT', session, { ttl: 600 + pick(100), keep: pick(2) ? ['expanded'] : [] }),
      own: () => call('POST', `${session}/changes?itemsAt=/rows&idAt=/key&kindAt=/type&rest=true&duplicates=first`,
        { rows: Array.from({ length: pick(9) }, () => ({ key: `k${pick(9)}`, type: pick(2) ? 'ad' : null, n: pick(3) })), next: pick(4) }),
      async edits() {
        const { body } = await call('GET', session);
        const ids = body.state.sections.flatMap(below).map((item) => item.id);
        const edits = [{ op: 'insert', sections: [{ id: `new-${pick(1e9)}`, items: ['a new one'].filter((id) => !ids.includes(id)) }] }];
        if (ids.length) {
          const some = ids[pick(ids.length)];
          edits.push({ op: ['reload', 'reconfigure', 'expand', 'collapse'][pick(4)], items: [some] }, { op: 'move', items: [some], at: 'end' });
        }
        const [first] = parts(body.state);
        if (first) edits.unshift({ op: ['reload', 'reconfigure', 'expand', 'collapse'][pick(4)], sections: [first.id] });
        return call('POST', `${session}/changes`, { edits });
      },
    };
    let shown = null;
    let revision = '';
    await deeds.state();
    for (let round = 0; round < 120; round += 1) {
      const deed = Object.keys(deeds)[pick(6)];
      const { status, body: written } = await deeds[deed]();
      assert.ok(status < 300, `${deed}: ${JSON.stringify(written)}`);
      const more = ['', '&smallest=true', '&maxChanges=4'][pick(3)];
      const { body } = await call('GET', `${session}/changes?since=${revision}&content=${content}${more}`);
      shown = body.reset ? body.state : apply(shown, body.changes, body.list);
      revision = body.to;
      const whole = await call('GET', `${session}/changes`);
      assert.deepEqual(shown, whole.body.state, `round ${round}, ${deed}: ${JSON.stringify(body)}`);
    }
  });
}
