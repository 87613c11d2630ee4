// Writes: edits, which are shown before the server has answered, and states.
//
// What is shown is the head, as the server told it, with all pending edits applied again: one minimal step leads there.
// A batch is pending until the head holds it; the event with its changes may come before the POST's answer or after. If
// none comes in time, the answer is taken by the client's rule, and if it does not fit, the list is requested again.
//
// Rejected: taking each answer at once. The stream would not fit when others write.

import { merge, pathOf } from './apply.js';

const key = String;
const editors = new WeakMap();

/** `value` is `edits` or a `state`, as `kind` says. */
export function write(connection, options, tools, kind, value, more) {
  if (!editors.has(options)) editors.set(options, writer(connection, options, tools));
  return editors.get(options)(kind, value, more);
}

const sequence = (revision) => Number.parseInt(revision, 10);
const sleep = (delay) => new Promise((resolve) => { setTimeout(resolve, delay); });

function writer(connection, options, { ask, receive, failure, problemOf }) {
  const { session } = options;
  const pending = []; // in the order in which they were made
  let [head, shown] = [connection.state, connection.state];
  let turn = Promise.resolve();

  options.shown = () => shown;
  options.onHead = (state, answer) => {
    const before = head;
    head = state;
    for (const batch of pending) if (isIn(batch)) batch.settle?.();
    const next = overlaid();
    // With nothing pending, before and after, the server's own changes are the step.
    if (shown !== before || next !== head) return hand(next, answer, redrawn(before, head, answer.changes));
    shown = head;
    options.onChange?.(state, answer);
  };

  const isIn = ({ to }) => sequence(connection.revision) >= sequence(to);

  /** The head with the pending batches; one that does not fit is left out. */
  function overlaid() {
    return pending.reduce((state, batch) => {
      try { return state && batch.edits && !isIn(batch) ? edited(state, batch.edits) : state; } catch { return state; }
    }, head);
  }

  function hand(next, answer, marks) {
    const changes = answer.reset ? [] : difference(shown, next, marks);
    const told = answer.changes;
    shown = next;
    if (!answer.reset && !told && !changes.length) return;
    options.onChange?.(next, answer.reset ? { ...answer, state: next } : { ...answer, ...told && { told }, changes });
  }

  function show() {
    const next = overlaid();
    if (next === shown || connection.status === 'closed') return;
    const { revision, window } = connection;
    const answer = { session, from: revision, to: revision, dialect: 'keyed', ...window && { window } };
    try { hand(next, answer); } catch (error) { queueMicrotask(() => { throw error; }); }
  }

  function tell() {
    const all = { items: new Set(), sections: new Set() };
    for (const { edits = [] } of pending) for (const edit of edits) mention(edit, all);
    const has = (id, kind) => Object.keys(all).some((name) => name === (kind ?? name) && all[name].has(key(id)));
    connection.pending = { count: pending.length, has };
    if (connection.status === 'closed') return;
    try { options.onPending?.(connection.pending); } catch (error) { queueMicrotask(() => { throw error; }); }
  }

  /** Asks until there is an answer or a refusal; all tries of a POST carry one key. */
  async function insist(end, headers, init, query) {
    for (let failures = 0; ; failures += 1) {
      try {
        const signal = AbortSignal.any([end, AbortSignal.timeout(10_000)]);
        const answer = await ask({ ...headers }, query, { ...init, signal });
        return await answer.json();
      } catch (error) {
        const { isFinal, retryAfter } = error;
        const problem = problemOf(error);
        if (end.aborted || isFinal || [404, !options.token && 401].includes(problem.status)) throw failure(problem);
        const delay = retryAfter ?? Math.min(250 * 2 ** failures, 4_000);
        await Promise.race([sleep(delay + Math.random() * 250), aborted(end)]);
        if (end.aborted) throw failure(problem);
      }
    }
  }

  async function send(batch, end) {
    const { key, body, ifMatch, query } = batch;
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
    if (ifMatch) headers['If-Match'] = `"${ifMatch}"`;
    let answer = await insist(end, headers, { method: 'POST', body }, query);
    const { to } = answer;
    for (; answer; answer = await insist(end).catch(() => null)) {
      batch.to = answer.to;
      // Events come at most every 50 ms.
      const settled = new Promise((resolve) => { batch.settle = resolve; });
      if (!isIn(batch)) await Promise.race([settled, sleep(250), aborted(end)]);
      if (isIn(batch)) break;
      try {
        receive(answer);
      } catch {
        continue; // a read that begins now sees the edit
      }
      connection.show();
      break;
    }
    return to;
  }

  return (kind, value, { signal, timeout = 60_000, ifMatch, ...query } = {}) => {
    const body = JSON.stringify(kind === 'edits' ? { edits: value } : value);
    const batch = { key: crypto.getRandomValues(new Uint32Array(4)).join('-'), body, ifMatch, query };
    if (kind === 'edits') batch.edits = JSON.parse(body).edits; // as they are now
    const control = new AbortController();
    const end = control.signal;
    const timer = setTimeout(() => control.abort(), timeout);
    const give = () => control.abort();
    signal?.addEventListener('abort', give);
    if (signal?.aborted) give();

    const settle = async () => {
      try {
        if (!end.aborted) return await send(batch, end);
        throw failure({ title: 'Not sent', detail: 'its time was over' });
      } catch (error) {
        throw signal?.aborted ? signal.reason : error;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', give);
        pending.splice(pending.indexOf(batch), 1);
        show();
        tell();
      }
    };
    pending.push(batch);
    show();
    tell();
    const done = Promise.race([turn, aborted(end)]).then(settle);
    turn = Promise.allSettled([turn, done]);
    return done;
  };
}

function mention(edit, all) {
  for (const kind in all) {
    for (const one of [edit[kind] ?? []].flat()) {
      if (one == null) continue; // refused by the server
      all[kind].add(key(one.id ?? one));
      mention(one, all);
    }
  }
}

const aborted = (end) => new Promise((resolve) => {
  if (end.aborted) resolve();
  end.addEventListener('abort', resolve, { once: true });
});

// MARK: Edits

// The form of an edit. The server refuses all else, whatever the state.
const encoder = new TextEncoder();
const isObject = (value) => Boolean(value) && typeof value === 'object' && !Array.isArray(value);
const isID = (value) => (
  typeof value === 'string' ? /^[^\0-\x1f\x7f]+$/.test(value) && encoder.encode(value).length <= 2_048 : Number.isInteger(value));
const isEnd = (value) => value === 'start' || value === 'end';
const isAnchor = (value) => {
  const anchors = [value].flat();
  return anchors.length > 0 && anchors.every((id, at) => isID(id) || id === null && at === anchors.length - 1);
};
const isParent = (value) => (
  isID(value) || isObject(value) && Object.keys(value).length === 1 && has(value, { item: isID, section: isID }));
const has = (value, form) => Object.entries(value).every(([name, it]) => Object.hasOwn(form, name) && form[name](it));
const one = (form) => (value) => isObject(value) && 'id' in value && has(value, form);
const each = (isOne) => (value) => Array.isArray(value) && value.every(isOne);

const values = { id: isID, content: () => true, expanded: (value) => typeof value === 'boolean' };
const kind = { kind: (value) => typeof value === 'string' };
const items = { items: (value) => value === null || each((item) => isID(item) || isItem(item))(value) };
const isItem = one({ ...values, ...kind, ...items });
const intents = { patch: () => true, add: isObject, append: isObject };
const isUpdate = (form) => (value) => (
  one({ ...values, ...form, ...!('content' in Object(value)) && intents })(value));
const named = [isID, isID];
/** The elements of `items` and of `sections`, by operation. */
const elements = {
  insert: [(item) => isID(item) || isItem(item), one({ ...values, ...items })], update: [isUpdate(kind), isUpdate()],
  delete: named, move: named, reload: named, reconfigure: named, expand: named, collapse: named, clear: named,
};

function check(edit) {
  const { op } = edit;
  const isOf = (name) => name in edit;
  if (!Object.hasOwn(elements, op)) throw new Error(`no edit "${op}"`);
  const [isOfItems, isOfSections] = elements[op];
  const places = op === 'insert' || op === 'move' ? { before: isAnchor, after: isAnchor, at: isEnd } : {};
  if (places.at && isOf('items')) places.into = isParent;
  const isPlacedOnce = ['before', 'after', 'into', 'at'].filter(isOf).length < (isOf('into') && isOf('at') ? 3 : 2);
  const parts = ['items', 'sections'].filter(isOf).length;
  if (!isPlacedOnce || parts !== 1 && (op !== 'clear' || parts)
    || !has(edit, { op: () => true, items: each(isOfItems), sections: each(isOfSections), ...places })) {
    throw new Error('refused form');
  }
}

/** The state after edits, as far as rows tell; throws what the server refuses. */
export function edited(state, edits) {
  for (const edit of edits) check(edit);
  const root = { nodes: [] };
  const [sections, items] = [new Map(), new Map()];
  for (const given of state.sections) {
    const { items: rows, ...value } = given;
    const section = enter(sections, root, { value, old: { given, value } });
    for (const row of rows) {
      const parent = row.parent === undefined ? section : items.get(key(row.parent));
      // Outside the window; the row itself says what it is below.
      enter(items, parent ?? section, { value: row, isStray: !parent, hidden: row.children ?? 0 });
      if (parent) parent.hidden -= 1;
    }
  }

  function enter(map, home, node, at = home.nodes.length) {
    const id = key(node.value.id);
    if (map.has(id)) throw new Error(`"${id}" is here already`);
    map.set(id, Object.assign(node, { home, nodes: [] }));
    home.nodes.splice(at, 0, node);
    return node;
  }

  const find = (map, id) => {
    if (!map.has(key(id))) throw new Error(`nothing has the id "${id}"`);
    return map.get(key(id));
  };

  const take = (node) => node.home.nodes.splice(node.home.nodes.indexOf(node), 1);

  function forget(map, node) {
    map.delete(key(node.value.id));
    for (const child of node.nodes) forget(items, child);
  }

  function empty(node) {
    for (const child of node.nodes.splice(0)) forget(items, child);
    node.hidden = 0;
  }

  /** Where an edit puts things: the parent, and a function of the index in it once they are taken out. */
  function place({ before, after = before, into, at }, map, moved = new Set()) {
    if (after !== undefined) {
      const anchors = [after].flat();
      const id = anchors.find((id) => id !== null && map.has(key(id)) && !moved.has(map.get(key(id)))) ?? anchors.at(-1);
      if (id !== null) {
        const sibling = find(map, id);
        if (moved.has(sibling)) throw new Error('placed by itself');
        const { home } = sibling;
        return { home, index: () => home.nodes.indexOf(sibling) + (before === undefined ? 1 : 0) };
      }
      at = before === undefined ? 'start' : 'end';
    }
    let home = map === sections ? root : root.nodes.at(at === 'start' ? 0 : -1);
    if (into !== undefined) {
      const { section, item } = typeof into === 'object' ? into : {};
      const found = section !== undefined ? [find(sections, section)] : item !== undefined ? [find(items, item)]
        : [sections, items].map((map) => map.get(key(into))).filter(Boolean);
      if (found.length !== 1) throw new Error(`not one "${into}"`);
      [home] = found;
    }
    if (!home) throw new Error('no section');
    return { home, index: () => (at === 'start' ? 0 : home.nodes.length) };
  }

  function bring(map, home, given, index) {
    const { items: children = [], ...value } = typeof given === 'object' ? given : { id: given };
    if (value.expanded) delete value.expanded;
    // The server writes it as a string.
    if (typeof value.id === 'number' && !Number.isSafeInteger(value.id)) value.id = key(value.id);
    const node = enter(map, home, { value, hidden: 0 }, index);
    for (const child of children ?? []) bring(items, node, child);
  }

  for (const edit of edits) {
    const map = edit.sections ? sections : items;
    const named = edit.sections ?? edit.items ?? [];
    const { op } = edit;
    if (op === 'insert') {
      const { home, index } = place(edit, map);
      const first = index();
      named.forEach((value, at) => bring(map, home, value, first + at));
    } else if (op === 'move') {
      const nodes = named.map((id) => find(map, id));
      const moved = new Set(nodes);
      if (moved.size < nodes.length) throw new Error('moved twice');
      const { home, index } = place(edit, map, moved);
      for (let node = home; node; node = node.home) if (moved.has(node)) throw new Error('into itself');
      for (const node of nodes) take(node);
      const first = index();
      home.nodes.splice(first, 0, ...nodes);
      for (const node of nodes) Object.assign(node, { home, isStray: false });
    } else if (op === 'delete') {
      for (const id of named) {
        const node = map.get(key(id));
        if (!node) continue; // gone already
        take(node);
        forget(map, node);
      }
    } else if (op === 'clear') {
      for (const node of edit.items ?? edit.sections ? named.map((id) => find(map, id)) : root.nodes) empty(node);
    } else if (op === 'update') {
      for (const { ...value } of named) renew(find(map, value.id), value);
    } else if (op === 'expand' || op === 'collapse') {
      for (const id of named) renew(find(map, id), { expanded: op === 'expand' });
    } else for (const id of named) find(map, id); // the answer says how to redraw these
  }

  function renew(node, { id, patch, add = {}, append = {}, ...said }) {
    node.value = { ...node.value, ...said };
    if (patch !== undefined) node.value.content = merge(node.value.content, patch);
    for (const [values, none] of [[add, 0], [append, '']]) {
      for (const [pointer, more] of Object.entries(values)) {
        if (typeof more !== typeof none || !/^(\/|$)/.test(pointer)) throw new Error(`nothing to add at "${pointer}"`);
        node.value.content = added(node.value.content, pathOf(pointer), more, none);
      }
    }
    if (node.value.expanded) delete node.value.expanded;
  }

  // Written as rows again; unchanged ones stay the same objects.
  function write(nodes, level, parent, rows = []) {
    for (const node of nodes) {
      const { value } = node;
      const row = node.isStray ? { ...value } : { ...value, level, parent };
      row.children = node.hidden + node.nodes.length;
      for (const name of ['level', 'children']) if (!row[name]) delete row[name];
      if (row.parent === undefined) delete row.parent;
      rows.push(equal(row, value) ? value : row);
      if (value.expanded !== false) write(node.nodes, (row.level ?? 0) + 1, value.id, rows);
    }
    return rows;
  }
  const isSame = (rows, old) => rows.length === old.length && rows.every((row, at) => row === old[at]);
  const written = root.nodes.map(({ value, nodes, old }) => {
    const rows = value.expanded === false ? [] : write(nodes);
    return value === old?.value && isSame(rows, old.given.items) ? old.given : { ...value, items: rows };
  });
  return isSame(written, state.sections) ? state : { ...state, sections: written };
}

/** A content with more added to what is at a path, or else to `none`. */
function added(value, [name, ...rest], more, none) {
  if (name === undefined) {
    const old = value === undefined ? none : value;
    if (typeof old !== typeof none) throw new Error('nothing to add to');
    const sum = old + more;
    if (none === '') return sum;
    // As the server's exact sum is read: 0.1 + 0.2 is 0.3.
    const short = Number(sum.toPrecision(15));
    return Math.abs(short - sum) <= Number.EPSILON * Math.abs(sum) ? short : sum;
  }
  if (Array.isArray(value)) {
    if (!(name in value) || key(Number(name)) !== name) throw new Error(`no element ${name}`);
    return Object.assign([...value], { [name]: added(value[name], rest, more, none) });
  }
  if (value === null || typeof (value ?? {}) !== 'object') throw new Error('below a scalar');
  const members = new Map(Object.entries(value ?? {}));
  return Object.fromEntries(members.set(name, added(members.get(name), rest, more, none)));
}

// MARK: Changes

/** How rows are redrawn: as the answer says, if they are unchanged or need a new cell. */
function redrawn(before, after, changes) {
  const marks = { items: new Map(), sections: new Map() };
  if (!before || !Array.isArray(changes)) return marks;
  const [old, now] = [byID(before), byID(after)];
  for (const { op, section, items = [], as } of changes) {
    if (op !== 'update') continue;
    for (const { id } of section ? [section] : items) {
      const part = section ? 'sections' : 'items';
      const [was, is] = [old, now].map((all) => all[part].get(key(id))?.value);
      if (as === 'reload' || equal(was, is)) marks[part].set(key(id), as);
    }
  }
  return marks;
}

/** Sections, without their rows, and rows by id: with their list and their place in it. */
function byID(state) {
  const [sections, items] = [new Map(), new Map()];
  state.sections.forEach(({ items: rows, ...value }, at) => {
    sections.set(key(value.id), { value, at });
    rows.forEach((row, at) => items.set(key(row.id), { value: row, home: value.id, at }));
  });
  return { sections, items };
}

/** The fewest `keyed` operations from one state to another; `marks` are redrawn besides. */
export function difference(old, next, marks) {
  const [was, is] = [byID(old), byID(next)];
  const changes = [];
  arrange([...is.sections.values()].map(({ value }) => value), (id) => was.sections.get(key(id))?.at,
    (section, before) => changes.push({ op: 'insert', section, before }),
    ({ id }, before) => changes.push({ op: 'move', section: id, before }));

  const stay = old.sections.filter(({ id }) => is.sections.has(key(id)));
  const gone = stay.flatMap(({ items }) => items.map(({ id }) => id).filter((id) => !is.items.has(key(id))));
  if (gone.length) changes.push({ op: 'remove', items: gone });
  for (const { id: home, items } of next.sections) {
    const place = (id) => {
      const row = was.items.get(key(id));
      return row && (key(row.home) === key(home) ? row.at : null); // null: it comes from another section
    };
    arrange(items, place,
      (row, before) => changes.push({ op: 'insert', items: [row], in: home, before }),
      ({ id }, before) => changes.push({ op: 'move', item: id, in: home, before }));
  }
  for (const { id } of old.sections) if (!is.sections.has(key(id))) changes.push({ op: 'remove', section: id });

  const drawn = { reconfigure: [], reload: [] };
  const updates = (part, add) => {
    for (const [id, { value }] of is[part]) {
      const before = was[part].get(id)?.value;
      const mark = marks?.[part].get(id);
      if (!before || !mark && equal(before, value)) continue;
      add(value, before.kind === value.kind ? mark ?? 'reconfigure' : 'reload');
    }
  };
  updates('sections', (section, as) => changes.push({ op: 'update', section, as }));
  updates('items', (row, as) => drawn[as].push(row));
  for (const [as, items] of Object.entries(drawn)) if (items.length) changes.push({ op: 'update', items, as });
  return changes;
}

/**
 * Puts values in order, with the fewest moves. From the end: what `before` names is in its place by then. `placeOf` says
 * where a value was in this list: null in another, undefined nowhere.
 */
function arrange(values, placeOf, insert, move) {
  const places = values.map(({ id }) => placeOf(id));
  const stays = longestRun(places);
  values.reduceRight((before, value, at) => {
    if (places[at] === undefined) insert(value, before);
    else if (!stays.has(at)) move(value, before);
    return value.id;
  }, null);
}

/** The places of a longest increasing subsequence among numbers and holes (Fredman 1975). O(n log n). */
function longestRun(numbers) {
  const [ends, previous] = [[], []]; // the smallest end of a run of each length, and predecessors
  numbers.forEach((number, at) => {
    if (number == null) return;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[ends[middle]] < number) low = middle + 1; else high = middle;
    }
    previous[at] = ends[low - 1];
    ends[low] = at;
  });
  const run = new Set();
  for (let at = ends.at(-1); at !== undefined; at = previous[at]) run.add(at);
  return run;
}

function equal(one, other) {
  if (one === other) return true;
  const isObject = (value) => value && typeof value === 'object';
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length
    && names.every((name) => Object.hasOwn(other, name) && equal(one[name], other[name]));
}
