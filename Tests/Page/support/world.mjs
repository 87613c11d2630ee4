// A server of one session in this process, with a network that loses, delays and reorders; and a naive model of edits:
// nested lists that are copied, searched and spliced. Everything that happens is chosen by `pick`.

import { difference } from '../../../Clients/js/edits.js';
import { pause } from './clock.mjs';

const same = (one, other) => String(one) === String(other);

/** Calls `visit` for each list of items in a document, with its parent. */
function walk(doc, visit) {
  const go = (items, home) => { visit(items, home); for (const item of items) go(item.items ??= [], item); };
  for (const section of doc.sections) go(section.items, section);
}

function listWith(doc, id) {
  let found;
  walk(doc, (items) => { if (items.some((item) => same(item.id, id))) found = items; });
  if (!found) throw new Error(`unknown ${id}`);
  return found;
}

const idsOf = (doc) => {
  const ids = [];
  walk(doc, (items) => { for (const { id } of items) ids.push(id); });
  return ids;
};

/** The document after edits; throws if one does not fit. */
export function naive(doc, edits) {
  const next = structuredClone(doc);
  const at = (items, id) => items.findIndex((item) => same(item.id, id));
  for (const { op, items = [], before, after, into, at: end } of edits) {
    const take = (id) => { const list = listWith(next, id); return list.splice(at(list, id), 1)[0]; };
    const put = (things) => {
      if (before !== undefined || after !== undefined) {
        const list = listWith(next, before ?? after);
        return list.splice(at(list, before ?? after) + (before === undefined ? 1 : 0), 0, ...things);
      }
      let list = (end === 'start' ? next.sections[0] : next.sections.at(-1)).items;
      if (into?.section) list = next.sections.find(({ id }) => same(id, into.section)).items;
      if (into?.item) list = listWith(next, into.item).find(({ id }) => same(id, into.item)).items;
      return end === 'start' ? list.unshift(...things) : list.push(...things);
    };
    if (op === 'insert') {
      for (const { id } of items) if (idsOf(next).some((other) => same(id, other))) throw new Error('duplicate');
      put(items.map((item) => ({ ...item, items: [] })));
    }
    if (op === 'move') {
      if (items.includes(before ?? after)) throw new Error('anchor in batch');
      put(items.map(take));
    }
    if (op === 'delete') for (const id of items) if (idsOf(next).some((other) => same(id, other))) take(id);
    if (op === 'update') for (const { id, ...said } of items) Object.assign(listWith(next, id).find((item) => same(item.id, id)), said);
  }
  return next;
}

/** The document as rows. */
export function rowsOf(doc) {
  const sections = doc.sections.map(({ items, ...section }) => {
    const rows = [];
    const go = (list, level, parent) => {
      for (const { items = [], ...item } of list) {
        const row = { ...item, ...level && { level, parent }, ...items.length && { children: items.length } };
        rows.push(row);
        go(items, level + 1, item.id);
      }
    };
    go(items, 0);
    return { ...section, items: rows };
  });
  return { sections };
}

export class World {
  constructor(pick, doc, faults = {}) {
    Object.assign(this, { pick, faults, docs: new Map(), keys: new Map(), streams: new Set(), fates: new Map(), asked: 0 });
    this.history = 0;
    this.sequence = 0;
    this.commit(doc);
  }

  get doc() { return this.docs.get(this.revision).doc; }

  commit(doc) {
    this.sequence += 1;
    this.revision = `${this.sequence}-${this.history.toString(16).padStart(16, '0')}`;
    this.docs.set(this.revision, { doc, history: this.history });
    for (const stream of this.streams) stream();
  }

  /** Another writer. */
  write(edits) { try { this.commit(naive(this.doc, edits)); } catch { /* not any more */ } }

  /** The session is deleted and made again: sequences restart, and answered keys are gone. */
  recreate(doc) {
    this.history += 1;
    this.sequence = 0;
    this.keys.clear();
    this.commit(doc);
  }

  /** The fate of the edits sent, in order: `at` which revision they were done, and whether they were refused. */
  fate(number) { return [...this.fates.values()][number] ?? {}; }

  chance(name) { return this.pick(100) < (this.faults[name] ?? 0); }

  answer(since) {
    const base = this.docs.get(since);
    const head = { session: 's', from: since ?? null, to: this.revision, dialect: 'keyed' };
    if (!base || base.history !== this.history || this.chance('expiry')) {
      return { ...head, reset: base ? 'expired' : since ? 'unknown' : 'initial', state: rowsOf(this.doc) };
    }
    return { ...head, changes: difference(rowsOf(base.doc), rowsOf(this.doc)) };
  }

  /** Stands in for `fetch`. */
  fetch = async (url, { method = 'GET', headers, body, signal }) => {
    const lost = new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    lost.catch(() => {});
    const since = new URL(url).searchParams.get('since') ?? undefined;
    this.asked += 1;
    // Edits are sent in the order in which they were made.
    if (method === 'POST' && !this.fates.has(headers['Idempotency-Key'])) this.fates.set(headers['Idempotency-Key'], {});
    await Promise.race([pause(this.pick(this.faults.latency ?? 8), 'the network'), lost]);
    const answer = method === 'POST' ? this.post(headers['Idempotency-Key'], JSON.parse(body).edits, since)
      : headers.Accept === 'text/event-stream' ? this.stream(since, signal) : this.json(this.answer(since));
    await Promise.race([pause(this.pick(this.faults.latency ?? 8), 'the network'), lost]);
    if (answer instanceof Error) throw answer;
    return answer;
  };

  json(value, status = 200, headers = {}) {
    return new Response(JSON.stringify(value), { status, headers: { 'Content-Type': 'application/json', ...headers } });
  }

  post(key, edits, since) {
    if (this.chance('requestLost')) return new TypeError('fetch failed');
    if (this.chance('busy')) return this.json({ title: 'No hook', status: 503 }, 503, { 'Retry-After': '0' });
    const fate = this.fates.get(key);
    const refuse = (code) => {
      Object.assign(fate, { isRefused: true });
      return this.json({ type: `/problems/${code}`, title: 'Refused', status: 422, detail: 'no' }, 422);
    };
    let base = since ?? this.revision;
    if (!this.keys.has(key)) {
      if (this.chance('refusal')) return refuse('edit-refused');
      try {
        const next = naive(this.doc, edits);
        base = since ?? this.revision;
        if (JSON.stringify(next) !== JSON.stringify(this.doc)) this.commit(next);
      } catch { return refuse('invalid-edit'); }
      this.keys.set(key, this.revision);
      Object.assign(fate, { at: this.revision, times: (fate.times ?? 0) + 1 });
    }
    return this.chance('answerLost') ? new TypeError('fetch failed') : this.json(this.answer(base));
  }

  stream(since, signal) {
    this.opened = (this.opened ?? 0) + 1;
    const encoder = new TextEncoder();
    let sent = since;
    let isClosed = false;
    const body = new ReadableStream({
      start: (controller) => {
        const write = (text) => { if (!isClosed) controller.enqueue(encoder.encode(text)); };
        const close = (how) => { if (!isClosed) how(); isClosed = true; this.streams.delete(send); };
        signal.addEventListener('abort', () => close(() => controller.error(signal.reason)));
        let isSending = false;
        const send = async () => {
          if (isSending) return;
          isSending = true;
          while (sent !== this.revision && !isClosed) {
            await pause(this.pick(this.faults.lag ?? 8), 'a server that gathers changes');
            if (this.chance('drop')) return close(() => controller.close());
            if (sent === this.revision) break;
            const answer = this.answer(sent);
            const event = `event: changes\nid: ${answer.to}\ndata: ${JSON.stringify(answer)}\n\n`;
            sent = answer.to;
            const wait = this.pick(this.faults.lag ?? 8);
            // Messages under way stay in order.
            await pause(wait, 'the network');
            write(event);
            if (this.chance('twice')) write(event);
          }
          isSending = false;
        };
        write('retry: 5\n\n');
        if (sent) write(`id: ${sent}\n\n`);
        this.streams.add(send);
        send();
      },
      cancel: () => { isClosed = true; },
    });
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
  }
}
