// The client of diffserver: `connect` follows a session; changes are done by `apply` to rows, by `bind` to elements.
// There is no diff code: the server says what changed. Types: client.d.ts.

const key = String; // `1` and `"1"` are the same id; beyond 2^53 only strings are safe

export function connect(url, { ...options }) {
  const { session, token, since = null, state = null, view, dialect = 'keyed', content = 'full' } = options;
  const address = `${String(url).replace(/\/+$/, '')}/v1/sessions/${encodeURIComponent(session)}/changes?`;
  const self = { state, revision: since, status: 'connecting', show, edit, close };
  let { window } = options;
  let polls = options.transport === 'poll' ? Infinity : 0; // until a stream is tried again
  let failures = 0;
  let retry = 1_000;
  let isClosed = false;
  let request, timer;
  run();
  return self;

  /** The next request leads from what is shown to this window. */
  function show(next = window) {
    window = { ...next };
    request?.abort();
  }

  async function edit(...edits) {
    return (await import('./edits.js')).edit(self, options, ask, receive, ...edits);
  }

  function close() {
    isClosed = true;
    self.status = 'closed';
    request?.abort();
    clearTimeout(timer);
  }

  async function run() {
    await null; // no callback before `connect` has returned
    while (!isClosed) {
      request = new AbortController();
      const asked = window;
      const error = await (polls > 0 ? poll() : stream()).catch((error) => error);
      clearTimeout(timer);
      request.abort();
      if (!error || isClosed || asked !== window) continue;
      const problem = error.problem ?? { title: 'No connection', detail: error.message };
      if (error.isFinal) return tell('stopped', { problem });
      const delay = error.isStale && !failures ? 0 : pause(error.retryAfter);
      failures += 1;
      tell('waiting', { problem, delay });
      await sleep(delay);
    }
  }

  /** Partly chance, so that not all readers return as one. Timers end at 2^31 ms. */
  function pause(least) {
    const chance = 0.5 + Math.random() / 2;
    if (least == null) return chance * Math.min(retry * 2 ** failures, 30_000);
    return Math.min(least + chance * retry, 2 ** 31 - 1);
  }

  function sleep(delay) {
    clearTimeout(timer);
    return new Promise((resolve) => { timer = setTimeout(resolve, delay); });
  }

  function tell(status, detail) {
    if (!isClosed) self.status = status;
    call(options.onStatus, { status, ...detail });
  }

  /** A callback that throws must not end the connection. */
  function call(callback, ...values) {
    try { if (!isClosed) callback?.(...values); } catch (error) { queueMicrotask(() => { throw error; }); }
  }

  /** Gives the request up if nothing arrives in time. */
  function expect(seconds) {
    clearTimeout(timer);
    timer = setTimeout(() => request.abort(failure({ title: 'The server fell silent' })), seconds * 1_000);
  }

  async function ask(headers, seconds, more, init) {
    const query = { dialect, content, view: view && JSON.stringify(view), ...window, since: self.revision, ...more };
    const secret = typeof token === 'function' ? await token() : token;
    if (secret) headers.Authorization = `Bearer ${secret}`;
    if (seconds) expect(seconds);
    const pairs = Object.entries(query).filter(([, value]) => value != null).map((pair) => pair.map(encodeURIComponent).join('='));
    init = { headers, cache: 'no-store', signal: request.signal, ...init };
    const answer = await fetch(address + pairs.join('&'), init);
    if (answer.ok) return answer;
    const { status } = answer;
    const problem = { title: answer.statusText, status, ...await answer.json().catch(() => null) };
    const isFinal = status < 500 && ![404, 408, 425, 429, typeof token === 'function' && 401].includes(status);
    throw failure(problem, { isFinal, retryAfter: delayOf(answer.headers.get('Retry-After')) });
  }

  async function stream() {
    let hasBegun = false;
    try {
      // A stream says `retry` at once, and a word every 15 s.
      const answer = await ask({ Accept: 'text/event-stream' }, 5);
      const type = answer.headers.get('Content-Type');
      if (!answer.body || !type?.startsWith('text/event-stream')) throw failure({ status: 406 });
      const parse = eventParser(take);
      const decoder = new TextDecoder();
      const reader = answer.body.getReader();
      for (let piece; !(piece = await reader.read()).done;) {
        if (!hasBegun) tell('live', { transport: 'stream' });
        hasBegun = true;
        request.signal.throwIfAborted();
        expect(45);
        parse(decoder.decode(piece.value, { stream: true }));
      }
      throw failure({ title: 'The stream broke off' });
    } catch (error) {
      // No streams here, or something on the way holds them back: poll for a while.
      if ((hasBegun || !request.signal.reason?.problem) && error.problem?.status !== 406) throw error;
      polls = 5;
    }
  }

  function take(event, data) {
    if (event === 'retry') retry = Number(data) || 1_000;
    if (event === 'id') self.revision = data; // nothing shown has changed
    if (event === 'changes') receive(JSON.parse(data));
    if (event === 'end') throw failure(JSON.parse(data));
  }

  async function poll() {
    const start = Date.now();
    const answer = await (await ask({ Accept: 'application/json' }, 45, dialect !== 'counts' && { wait: 25 })).json();
    polls -= 1;
    tell('live', { transport: 'poll' });
    const isNews = receive(answer);
    // Where nobody holds it, it must not go in a circle.
    if (!isNews && Date.now() - start < 1_000) await sleep(pause());
  }

  /** The client's rule. */
  function receive(answer) {
    const { reset, from, to, changes, list, window } = answer;
    if (!reset && from !== self.revision && to !== self.revision) {
      throw failure({ title: 'An answer was lost' }, { isStale: true });
    }
    failures = 0;
    if (dialect === 'counts') return call(options.onChange, state, answer); // nothing is adopted
    if (!reset && to === self.revision) return false;
    if (dialect === 'keyed') {
      try {
        if (reset) self.state = answer.state;
        else if (self.state) self.state = apply(self.state, changes, list);
      } catch (error) {
        self.revision = null; // begin anew
        throw failure({ title: 'A changeset did not fit', detail: error.message });
      }
    }
    Object.assign(self, { revision: to, window });
    call(options.onChange, self.state, answer);
    return true;
  }
}

const failure = (problem, more) => Object.assign(new Error(problem.title), { problem }, more);

/** `Retry-After` in milliseconds: seconds or a date. */
function delayOf(text) {
  const delay = /^\d+$/.test(text) ? text * 1_000 : Date.parse(text) - Date.now();
  return delay >= 0 ? delay : null;
}

/** Reads server-sent events from pieces that may break anywhere. */
export function eventParser(emit) {
  let held = '';
  let event = {};
  const take = (line) => {
    const [, name, value] = /^([^:]*):? ?([^]*)$/.exec(line);
    if (name === 'retry' && /^\d+$/.test(value)) emit(name, value);
    if (name === 'data' && name in event) event.data += `\n${value}`;
    else if (line) event[name] = value;
    else {
      const { event: type, data, id } = event;
      event = {};
      if (data != null) emit(type || 'message', data);
      else if (id) emit('id', id);
    }
  };
  return (text) => {
    const lines = text.split('\n');
    lines[0] = held + lines[0];
    held = lines.pop();
    for (const line of lines) take(line.replace(/\r$/, ''));
  };
}

/** Does `keyed` operations to what `host` keeps; `sections` and `rows` hold its nodes by id. */
function perform(changes, sections, rows, host) {
  const find = (nodes, id) => {
    if (!nodes.has(key(id))) throw new Error(`nothing here has the id "${id}"`);
    return nodes.get(key(id));
  };
  const insert = (nodes, value, home, before) => {
    if (nodes.has(key(value.id))) throw new Error(`the id "${value.id}" is here already`);
    const node = host.make(undefined, value, nodes);
    nodes.set(key(value.id), node);
    host.place(node, home, before);
    return node;
  };
  for (const { op, section, item, items, in: home, before = null } of changes) {
    const nodes = section === undefined ? rows : sections;
    const place = () => [nodes === rows ? find(sections, home) : null, before === null ? null : find(nodes, before)];
    for (const value of items ?? [section ?? item]) {
      const id = value.id ?? value;
      if (op === 'insert') {
        const node = insert(nodes, value, ...place());
        for (const row of section?.items ?? []) insert(rows, row, node, null);
      } else {
        host[op](find(nodes, id), ...(op === 'move' ? place() : [value, nodes]));
        if (op === 'remove') nodes.delete(key(id));
      }
    }
  }
}

/** Rows are linked while it works: an operation costs the same in any list. */
export function apply(state, changes, list) {
  const [sections, rows, order] = [new Map(), new Map(), ring()];
  const host = {
    make: (_, value) => ({ value, rows: ring(), isChanged: true }),
    place(node, home, before) {
      if (home) home.isChanged = true;
      const next = before ?? home?.rows ?? order;
      Object.assign(node, { home, next, previous: next.previous });
      next.previous = next.previous.next = node;
    },
    move(node, home, before) {
      host.remove(node);
      host.place(node, home, before);
    },
    remove(node) {
      if (node.home) node.home.isChanged = true;
      node.next.previous = node.previous;
      node.previous.next = node.next;
    },
    update(node, { patch, ...value }) {
      if (patch !== undefined) value.content = merge(node.value.content, patch);
      if (value.level === 0) delete value.level;
      if (value.parent === null) delete value.parent;
      node.value = value;
      (node.home ?? node).isChanged = true;
    },
  };
  perform(state.sections.map((section) => ({ op: 'insert', section })), sections, rows, host);
  for (const node of sections.values()) node.isChanged = false;
  perform(changes, sections, rows, host);
  const { content, ...rest } = state;
  if (list?.patch !== undefined) list = { content: merge(content, list.patch) };
  return {
    ...list ? rest : state,
    ...list,
    sections: each(order).map(({ value, rows, isChanged }) => (
      isChanged ? { ...value, items: each(rows).map((row) => row.value) } : value)),
  };
}

/** Stands behind its last node and before the first. */
function ring() {
  const end = {};
  end.next = end.previous = end;
  return end;
}

function each(end) {
  const nodes = [];
  for (let node = end.next; node !== end; node = node.next) nodes.push(node);
  return nodes;
}

/** RFC 7396; by entries, so that `__proto__` is a member like any other. */
function merge(value, patch) {
  const isObject = (it) => it && typeof it === 'object' && !Array.isArray(it);
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(value) ? Object.entries(value) : []);
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) members.delete(name);
    else members.set(name, merge(members.get(name), change));
  }
  return Object.fromEntries(members);
}

const plain = (_, element) => element ?? document.createElement('div');

export function bind(container, { render, renderSection = plain, duration = 250, limit = 1_000 }) {
  const [sections, rows] = [new Map(), new Map()];
  let gone, moved;

  const host = {
    make: draw,
    place(element, home, before) {
      const parent = home ? home.querySelector('[data-rows]') ?? home : container;
      if (element.parentNode === parent && element.nextSibling === before) return;
      // `moveBefore`, where there is one, keeps focus and scroll.
      if (parent.moveBefore && element.isConnected && parent.isConnected) parent.moveBefore(element, before);
      else parent.insertBefore(element, before);
    },
    move(element, ...place) {
      moved.add(element);
      host.place(element, ...place);
    },
    remove: (element) => gone.push(element),
    update: draw,
  };

  /** Makes an element, or renews it: one that differs takes its place. */
  function draw(old, value, nodes) {
    const id = key(value.id);
    // Contents are the state's: an update may carry a patch.
    const element = (nodes === rows ? render : renderSection)(nodes.now.get(id), old) ?? old;
    element.dataset.id = id;
    if (old && old !== element) old.replaceWith(element);
    nodes.set(id, element);
    return element;
  }

  /** Shows a state with the elements that are there. */
  function replace(state) {
    const renew = (value, nodes, home, before) => {
      const element = draw(nodes.get(key(value.id)), value, nodes);
      host.place(element, home, before);
      return element;
    };
    state.sections.reduceRight((next, section) => {
      const element = renew(section, sections, null, next);
      section.items.reduceRight((next, row) => renew(row, rows, element, next), null);
      return element;
    }, null);
    for (const nodes of [sections, rows]) for (const [id, element] of nodes) if (!nodes.now.has(id)) gone.push(element);
  }

  /** Gives the focus back to what had it, or to a neighbour. */
  function focusKeeper() {
    const root = container.getRootNode();
    const active = root.activeElement;
    const order = [...container.querySelectorAll('[data-id]')];
    const at = order.indexOf(active?.closest('[data-id]'));
    const isThere = (element) => element.isConnected && !gone.some((other) => other.contains(element));
    return () => {
      if (at < 0) return;
      const heir = [active, ...order.slice(at), ...order.slice(0, at).reverse()].find(isThere);
      if (heir !== root.activeElement) heir?.focus({ preventScroll: true });
    };
  }

  const isStill = () => rows.size > limit || document.hidden || matchMedia('(prefers-reduced-motion: reduce)').matches;
  const measure = () => new Map([...sections.values(), ...rows.values()].map((it) => [it, it.getBoundingClientRect()]));
  const animate = (element, from, to) => (
    element.animate([from, to], { duration, easing: 'cubic-bezier(0.2, 0, 0, 1)', id: 'glide' }));

  /** What goes leaves the flow at once, and fades where it was. */
  function fade(before) {
    for (const element of gone) {
      const box = before?.get(element);
      if (!box?.height) {
        element.remove();
        continue;
      }
      delete element.dataset.id;
      element.inert = true;
      const style = `position:absolute;margin:0;box-sizing:border-box;width:${box.width}px;height:${box.height}px;`;
      element.style.cssText += `${style}top:0;left:0`;
      const now = element.getBoundingClientRect();
      element.style.cssText += `top:${box.top - now.top}px;left:${box.left - now.left}px`;
      const end = () => element.remove();
      animate(element, {}, { opacity: 0 }).finished.then(end, end);
    }
  }

  /** First, last, invert, play: all glides from where it was seen last, in the middle of a glide too. */
  function play(before) {
    const shifts = new Map();
    for (const [element, now] of measure()) {
      const was = before.get(element);
      // A row is carried by its section.
      const carried = shifts.get(element.parentNode.closest('[data-id]')) ?? { x: 0, y: 0 };
      if (was) {
        const [x, y] = [was.left - now.left, was.top - now.top];
        const zIndex = moved.has(element) ? 1 : 0;
        const transform = `translate(${x - carried.x}px, ${y - carried.y}px)`;
        if (Math.hypot(x - carried.x, y - carried.y) > 0.5) animate(element, { transform, zIndex }, { zIndex });
        shifts.set(element, { x, y });
      } else animate(element, { opacity: 0, transform: 'scale(0.97)' }, {});
    }
  }

  function show(state, changes) {
    [gone, moved] = [[], new Set()];
    const byID = (list) => new Map(list.map((value) => [key(value.id), value]));
    sections.now = byID(state.sections);
    rows.now = byID(state.sections.flatMap(({ items }) => items));
    const before = isStill() ? null : measure();
    const giveFocusBack = focusKeeper();
    try {
      if (changes) perform(changes, sections, rows, host);
      else replace(state);
    } catch {
      replace(state); // it was not what the changes refer to
    }
    for (const nodes of [sections, rows]) for (const id of nodes.keys()) if (!nodes.now.has(id)) nodes.delete(id);
    giveFocusBack();
    for (const animation of container.getAnimations({ subtree: true })) {
      if (animation.id === 'glide' && !animation.effect.target.inert) animation.cancel();
    }
    fade(before);
    if (before) play(before);
  }

  return { show };
}
