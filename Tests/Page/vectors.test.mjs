import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { connect } from '../../Clients/js/client.js';
import { fake, watch } from './support/fake.mjs';

const { vectors } = JSON.parse(readFileSync(new URL('../../docs/vectors.json', import.meta.url)));
const keyed = vectors.filter(({ dialect }) => dialect === 'keyed');

for (const { name, content, before, answer, after } of keyed) {
  test(`vectors: ${name}, ${content}`, async () => {
    const server = await fake((talk) => talk.stream(answer));
    const { options, seen, until } = watch();
    const connection = connect(server.url, { ...options, content, since: answer.from, state: before });
    const copy = structuredClone(before);
    try {
      await until(() => connection.revision === answer.to && seen.statuses.length);
      // If nothing changed, nothing is passed on.
      if (answer.from !== answer.to) await until(({ answers }) => answers.length);
    } finally {
      connection.close();
      server.close();
    }
    assert.deepEqual(connection.state, after);
    assert.deepEqual(before, copy, 'the state before is not touched');
  });
}

test('vectors: there are full ones, patches, resets, views and windows', () => {
  assert.ok(keyed.length > 40);
  const all = {
    patch: ({ content }) => content === 'patch', reset: ({ answer }) => answer.reset, changes: ({ answer }) => answer.changes?.length,
    list: ({ answer }) => answer.list, view: ({ view }) => view, window: ({ window }) => window,
  };
  for (const [name, isOne] of Object.entries(all)) assert.ok(keyed.some(isOne), name);
});
