// What must hold, and what must not, with and without the types of the DOM. An expected error that is none is an error.

import {
  apply, connect, eventParser, ProblemError, type Answer, type ID, type NewSettings, type Settings, type State,
} from 'diffserver-client';
import { share } from 'diffserver-client/share';
import { list } from 'diffserver-client/svelte';
import { useGlide, useList } from 'diffserver-client/react';

interface Fire { name: string; acres: number; note?: string }
interface Day { date: string }
const url = 'http://127.0.0.1:8080';

// MARK: Keyed

const fires = connect<Fire, Day, { total: number }>(url, {
  session: 'fires', view: { where: [{ at: '/content/acres', above: 10 }] }, window: { at: 'start', after: 100 },
  onChange(state, answer) {
    const name: string | undefined = state.sections[0].items[0].content?.name;
    const date: string | undefined = state.sections[0].content?.date;
    const total: number | undefined = state.content?.total;
    // @ts-expect-error: not a member of the content
    state.sections[0].items[0].content?.size;
    // @ts-expect-error: there may be no content
    state.sections[0].items[0].content.name;
    for (const change of answer.changes ?? []) {
      const { op, section, item, items = [], in: home, before, as } = change;
      switch (change.op) {
        case 'insert':
          change.items?.[0].content?.acres.toFixed();
          if (change.section === undefined) change.items.length + change.in.toString().length;
          else change.section.content?.date.padEnd(change.section.items?.length ?? 0);
          // @ts-expect-error: only updates say how
          change.as.length;
          break;
        case 'move':
          if (change.item !== undefined) { const where: ID = change.in; void where; }
          const moved: ID = change.item ?? change.section, anchor: ID | null = change.before;
          // @ts-expect-error: it may be a section
          change.item.toString();
          void [moved, anchor];
          break;
        case 'remove':
          change.items?.includes(1);
          // @ts-expect-error: what goes has no place
          change.before.toString();
          break;
        case 'update':
          const manner: 'reload' | 'reconfigure' = change.as;
          for (const row of change.items ?? []) row.content?.name.padEnd(manner.length);
          break;
        default:
          const none: never = change;
          void none;
      }
      void [op, section, item, items.length, home, before, as];
    }
    if (answer.reset) {
      answer.state.sections;
      // @ts-expect-error: a reset has no changes
      answer.changes.length;
    } else {
      answer.from.length;
      // @ts-expect-error: changes have no state
      answer.state.sections;
    }
    return [name, date, total];
  },
  onStatus(status) {
    if (status.status === 'waiting') status.delay.toFixed();
    // @ts-expect-error: what is live has no problem
    if (status.status === 'live') status.problem.title;
    const { problem, delay = 0, transport = 'stream' } = status;
    const words: string = problem?.title ?? `${status.status} ${delay.toFixed()} ${transport}`;
    void words;
  },
});
// @ts-expect-error: null before the first answer
fires.state.sections;
const acres: number | undefined = fires.state?.sections[0].items[0].content?.acres;

fires.edit([{ op: 'update', items: [{ id: 1, patch: { note: null }, add: { '/acres': -0.5 }, append: { '/name': '!' } }] }, { op: 'move', items: [1], before: ['2', 3, null] }]);
fires.edit([{ op: 'insert', items: ['a', { id: 2, content: { name: 'Oak', acres: 1 }, items: [{ id: 3 }] }], into: 's' }]);
fires.edit([{ op: 'update', sections: [{ id: 's', patch: { date: '1 May' } }] }, { op: 'insert', sections: [{ id: 't', content: { date: '' }, items: [] }] }]);
// @ts-expect-error: a content of fires
fires.edit([{ op: 'insert', items: [{ id: 2, content: { name: 'Oak', size: 1 } }] }]);
// @ts-expect-error: below it, too
fires.edit([{ op: 'insert', items: [{ id: 2, items: [{ id: 3, content: 'Oak' }] }] }]);
// @ts-expect-error: a number
fires.edit([{ op: 'update', items: [{ id: 1, patch: { acres: '13' } }] }]);
// @ts-expect-error: it cannot be taken away
fires.edit([{ op: 'update', items: [{ id: 1, patch: { name: null } }] }]);
// @ts-expect-error: it has other members
fires.edit([{ op: 'update', sections: [{ id: 's', patch: { name: 'Oak' } }] }]);
fires.post(['a', { id: 1, content: { name: 'Ash', acres: 2 } }]);
fires.post({ content: { total: 1 }, sections: [{ id: 's', content: { date: '1 May' }, items: [{ id: 1 }] }, { id: 't' }] });
fires.post({ anything: [] }, { itemsAt: '/anything' });
// @ts-expect-error: a content of fires
fires.post([{ id: 1, content: { name: 'Ash' } }]);
// @ts-expect-error: a content of days
fires.post({ sections: [{ id: 's', content: { name: 'Ash' } }] });
// @ts-expect-error: it says nothing of where a list is
fires.post({ anything: [] }, { duplicates: 'first' });
// @ts-expect-error: a content is replaced, or changed
fires.edit([{ op: 'update', items: [{ id: 1, content: 1, add: { '/acres': 1 } }] }]);
// @ts-expect-error: only numbers are added
fires.edit([{ op: 'update', items: [{ id: 1, add: { '/acres': '1' } }] }]);
// @ts-expect-error: only texts are appended
fires.edit([{ op: 'update', items: [{ id: 1, append: { '/name': 1 } }] }]);
connect(url, { session: 'a', poll: 2, content: 'delta' });
// @ts-expect-error: a number of seconds
connect(url, { session: 'a', poll: '2' });
// @ts-expect-error: null can only be the last anchor
fires.edit([{ op: 'move', items: [1], after: [null, 2] }]);

connect(url, { session: 'any', onChange: (state, answer) => [state.sections[0].items[0].content.whatever, answer.reset] });
connect({ href: url }, { session: 'a' });
const untyped = connect(url, { session: 'any' });
untyped.post({ its: ['own', 'shape'] });
untyped.edit([{ op: 'update', items: [{ id: 1, patch: { any: { thing: null } } }] }, { op: 'insert', items: [{ id: 2, content: 3 }] }]);
connect(url, { session: 'b', token: async () => 'secret' });
// @ts-expect-error: which session
connect(url, {});
// @ts-expect-error: no such dialect
connect(url, { session: 'a', dialect: 'binary' });
// @ts-expect-error: an anchor or a place
connect(url, { session: 'a', window: { before: 3 } });
// @ts-expect-error: misspelt
connect(url, { session: 'a', onchange() {} });

// MARK: Other dialects

connect(url, { session: 'a', dialect: 'staged', onChange(state, answer) {
  const none: null = state;
  // @ts-expect-error: no state is kept
  state.sections;
  for (const stage of answer.changes ?? []) stage.items?.deleted?.map(([section, row]) => section + row);
  // @ts-expect-error: stages are not operations
  answer.changes?.[0].op;
  if (answer.reset) answer.state.sections[0].items;
  return none;
} });
connect<Fire>(url, { session: 'a', dialect: 'indexed', onChange(_, { changes }) {
  changes?.items?.inserted?.map(({ at: [section, row], item }) => item.content?.name.padEnd(section + row));
  // @ts-expect-error: not a list
  changes?.length;
} });
connect<Fire>(url, { session: 'a', dialect: 'sequential', onChange(_, { changes = [] }) {
  for (const splice of changes) {
    if (splice.op === 'remove') splice.count.toFixed();
    if (splice.op === 'insert') for (const row of splice.rows) 'item' in row ? row.item.content?.name : row.section.content;
    // @ts-expect-error: only some have it
    splice.count;
  }
} });
connect<Fire>(url, { session: 'a', dialect: 'diffable', onChange(_, { changes }) {
  changes?.sections[0].items.includes('a');
  changes?.items[0].content?.name;
} });
connect(url, { session: 'a', dialect: 'counts', since: '1-a', onChange(state, answer) {
  answer.changes?.items?.inserted?.toFixed();
  if (answer.reset) answer.rows.toFixed();
  // @ts-expect-error: only how many
  if (answer.reset) answer.state.sections;
  return state;
} });
connect(url, { session: 'a', dialect: 'json-patch', onChange(_, { changes = [] }) {
  for (const change of changes) if (change.op === 'move') change.from.length;
} });

// MARK: Loops, writes, errors

export async function all(signal: { aborted: boolean; addEventListener(name: 'abort', does: () => void): void; removeEventListener(name: 'abort', does: () => void): void }) {
  for await (const { state, answer } of connect<Fire>(url, { session: 'a', signal })) {
    state.sections[0].items[0].content?.acres;
    answer.to.length;
    // @ts-expect-error: not a member of the content
    state.sections[0].items[0].content?.size;
  }
  for await (const { state } of connect(url, { session: 'a', dialect: 'staged' })) {
    const none: null = state;
    void none;
  }
  try {
    const revision: string = await fires.post([{ key: 1, name: 'Ash' }], { ifMatch: fires.revision ?? undefined, idAt: '/key', timeout: 5_000, signal });
    await fires.edit([{ op: 'move', items: [1], before: 2 }, { op: 'insert', items: ['a', { id: 2 }], into: { section: 's' } }]);
    // @ts-expect-error: no such edit
    await fires.edit([{ op: 'shuffle', items: [1] }]);
    // @ts-expect-error: an insert has items
    await fires.edit([{ op: 'insert', before: 1 }]);
    // @ts-expect-error: misspelt
    await fires.post([], { ifmatch: revision });
  } catch (error) {
    // @ts-expect-error: it may be any
    error.problem;
    if (error instanceof ProblemError) return error.problem.current ?? error.problem.errors?.[0].pointer;
  }
  fires.reconnect();
  fires.show({ around: 7, before: 50, after: 50 });
  // @ts-expect-error: it is told by the connection
  fires.revision = null;
  return acres;
}

const state: State<Fire> = { sections: [] };
const next: State<Fire> = apply(state, [{ op: 'remove', items: [1] }], {});
// @ts-expect-error: keyed operations only
apply(state, [{ op: 'remove', at: 1, count: 1 }]);
const answers = [] as Answer<'keyed' | 'staged'>[];
for (const answer of answers) if (answer.dialect === 'staged') answer.changes?.[0].counts;
eventParser((name, data) => name + data)('data: 1\n\n');
void next;

// MARK: Settings

const told: Settings = {
  ttl: 60, ignore: ['/seen'], keep: ['expanded'], public: true,
  shape: { itemsAt: '/data', idAt: ['/type', '/id'], rest: ['/meta', '/links'] },
};
const parts: string | string[] | undefined = told.shape?.idAt;
const settings: NewSettings[] = [
  told, { ttl: null, ignore: null, keep: null, public: null, shape: null },
  { shape: { idAt: '/id', rest: true } }, { shape: { idBy: 'match', rest: '/meta' } },
];
// @ts-expect-error: what is told has no null
const nothing: Settings = { ...told, ttl: null };
// @ts-expect-error: null is no shape's member
settings.push({ shape: { idAt: '/id', rest: null } });
// @ts-expect-error: a section's id has one part
settings.push({ shape: { sectionsAt: '', sectionIdAt: ['/a', '/b'] } });
// @ts-expect-error: a query has one value for each
fires.post({ anything: [] }, { idAt: ['/type', '/id'] });
void [parts, nothing];

// MARK: Shared lines

const lists = share(url, { token: async () => 'secret' });
const shared = lists.connect<Fire>({ session: 'a', onChange: (state) => [state.sections[0].items[0].content?.acres] });
shared.state?.sections[0].items[0].content?.name;
shared.show({ at: 'end' });
lists.connect({ session: 'b', dialect: 'staged', onChange: (none: null, { changes }) => [none, changes?.[0].counts] });
// @ts-expect-error: which session
lists.connect({});
// @ts-expect-error: it is for all of them
lists.connect({ session: 'a', token: 'x' });
// @ts-expect-error: it is for all of them
lists.connect({ session: 'a', transport: 'poll' });
// @ts-expect-error: it is for all of them
lists.connect({ session: 'a', poll: 2 });
// @ts-expect-error: it is for one of them
share(url, { session: 'a' });
// @ts-expect-error: where the server is
share();
useList<Fire>(lists, { session: 'a' }).rows[0].content?.acres;
list<Fire>(lists, { session: 'a' });

// MARK: Adapters

const seen = useList<Fire>(url, { session: 'a', window: { at: 'end' } });
seen.rows.map((row) => row.content?.name);
seen.edit([{ op: 'update', items: [{ id: 1, content: { name: 'Ash', acres: 1 } }] }]);
seen.post(seen.rows);
// @ts-expect-error: a content of fires
seen.post([{ id: 1, content: 'Ash' }]);
// @ts-expect-error: they are only shown
seen.rows.push({ id: 1 });
// @ts-expect-error: null before the first answer
seen.state.sections;
const silence: number | undefined = seen.stale;
const waits: boolean = seen.pending.has(1, 'items') || seen.pending.has(1) || fires.pending.has('s', 'sections');
// @ts-expect-error: rows or sections
seen.pending.has(1, 'rows');
// @ts-expect-error: it says itself what changes
useList(url, { session: 'a', onChange() {} });
useGlide(seen.rows, { duration: 100 }).current;
// @ts-expect-error: the rows themselves
useGlide(seen);
void [silence, waits];
// @ts-expect-error: one dialect only
useList(url, { session: 'a', dialect: 'staged' });
list<Fire>(url, { session: 'a' }).subscribe(({ rows, status }) => `${status} ${rows[0].content?.acres}`)();
