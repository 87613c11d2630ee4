// diffserver-client 0.2.0. On first use edits.js and updates.js are loaded.

import { apply } from './apply.js';

export { apply };
export { bind } from './bind.js';

let writer;

export function connect(url, { ...options } = {}) {
  const { session, since = null, state = null, view, dialect = 'keyed', signal, poll: every } = options;
  check(url, session, options);
  const address = `${String(url).replace(/\/+$/, '')}/v1/sessions/${encodeURIComponent(session)}/changes?`;
  const write = (kind) => async (...values) => {
    writer ??= await import('./edits.js');
    return writer.write(self, options, { ask, receive, failure, problemOf }, kind, ...values);
  };
  const self = {
    state, revision: since, status: 'connecting', pending: { count: 0, has: () => false }, show, edit: write('edits'), post: write('state'), reconnect, close,
    [Symbol.asyncIterator]: updates,
  };
  const list = { options, self, isPart, ask, start, take, look, poll, live, receive, tell };
  let { window } = options;
  let isClosed = false;
  let isKnown; // by this transport
  let isMissing; // and told so
  let line, loop;
  begin();
  return self;

  async function begin() {
    if (signal?.aborted) return close();
    self.status = 'connecting';
    signal?.addEventListener('abort', close);
    await null; // no callback before `connect` has returned
    await Promise.allSettled([loop]); // or it would miss the first answers
    if (!isClosed) line = options.carry?.(list, { link, send, failure }) ?? link(list);
  }

  /** The next request leads from what is shown to this window. */
  function show(next = window) {
    window = { ...next };
    line?.renew();
  }

  function reconnect() {
    if (self.status === 'stopped') begin();
    else line?.reconnect();
  }

  async function* updates() {
    loop = import('./updates.js');
    yield* (await loop).updates(self, options, failure);
  }

  function close() {
    isClosed = true;
    self.status = 'closed';
    signal?.removeEventListener('abort', close);
    line?.close();
    options.onClose?.();
  }

  function tell(status, detail) {
    if (!isClosed) self.status = status;
    isKnown = detail.transport;
    isMissing = detail.problem?.status === 404;
    list.told?.(detail);
    call(options.onStatus, { status, ...detail });
  }

  /** Throwing must not end the connection. */
  function call(callback, ...values) {
    try { if (!isClosed) callback?.(...values); } catch (error) { queueMicrotask(() => { throw error; }); }
  }

  function isPart() {
    return view || Object.values(window ?? {}).some((value) => value != null);
  }

  function ask(headers, more, init) {
    const query = { view: view && JSON.stringify(view), ...window, since: self.revision, ...more };
    return send(address, Object.entries(query), options, headers, init);
  }

  function start() {
    isKnown = false;
    self.stale = undefined; // it is told again
  }

  function take(event, data) {
    if (event === 'end') throw failure(JSON.parse(data));
    if (event !== 'id' && event !== 'changes') return;
    const answer = event === 'changes' ? JSON.parse(data) : self;
    live('stream', answer);
    if (answer !== self) return receive(answer);
    self.revision = data; // nothing shown has changed
    line?.heard();
  }

  /** A stream waits silently for a missing session. */
  async function look(signal) {
    if (isKnown || isMissing) return;
    const { body, problem } = await ask({}, null, { signal }).catch((error) => error);
    body?.cancel(); // it exists
    if (problem?.status === 404 && !isKnown && !signal.aborted) tell('waiting', { problem, delay: 0 });
  }

  async function poll(init) {
    // Without a base, only a missing session would be held.
    const wait = !every && dialect !== 'counts' && (self.revision || isMissing) && { wait: 25 };
    const answer = await (await ask({}, wait, init)).json();
    live('poll', answer);
    return receive(answer);
  }

  function live(transport, { stale }) {
    if (isKnown === transport && self.stale === stale) return;
    self.stale = stale;
    tell('live', { transport, ...stale && { stale } });
  }

  /** The client's rule. */
  function receive(answer) {
    const { reset, from, to, changes, list, window } = answer;
    if (!reset && from !== self.revision && to !== self.revision) {
      throw failure({ title: 'An answer was lost' }, { isStale: true });
    }
    line?.heard();
    if (dialect === 'counts') return call(options.onChange, state, answer); // nothing is adopted
    if (!reset && to === self.revision) return false;
    if (dialect === 'keyed') {
      try {
        if (reset) self.state = answer.state;
        else if (self.state) self.state = apply(self.state, changes, list);
      } catch (error) {
        self.revision = null; // start again
        throw failure({ title: 'A changeset could not be applied', detail: error.message });
      }
    }
    Object.assign(self, { revision: to, window });
    call(options.onHead ?? options.onChange, self.state, answer);
    return true;
  }
}

function check(url, session, options) {
  for (const name in options) {
    if (/^on(?!(Change|Close|Head|Pending|Status)$)/.test(name)) throw new TypeError(`connect calls no "${name}"`);
  }
  if ((session ?? '') === '') throw new TypeError('connect needs the name of a session');
  const poll = options.poll ?? 1;
  if (!(poll > 0 && poll < 1e5)) throw new TypeError(`connect needs poll in seconds, not "${poll}"`);
  const [isRoot, host] = /^(https?:\/\/[^/?#]+)?(\/([^?#]*\/)?)?$/i.exec(url) ?? [];
  if (isRoot != null && (host || globalThis.location)) return;
  throw new TypeError('connect needs the address of a server, such as http://127.0.0.1:8080, '
    + `or http://127.0.0.1/path/ where a proxy has it below a path, not "${url}"`);
}

/** Sends a list's requests: a stream, or polls where streams do not get through. */
function link(list, error) {
  const { transport, poll: every } = list.options;
  let polls = transport === 'poll' || every ? Infinity : 0; // until a stream is tried again
  let failures = 0;
  let retry = every > 1 ? every * 1_000 : 1_000;
  let [isOpen, isRenewed] = [true, false];
  let request, timer, wake, holds;
  const listen = (how) => {
    for (const name of ['online', 'visibilitychange']) globalThis[how]?.(name, nudge);
  };
  listen('addEventListener');
  run();
  return { heard, renew, reconnect, close };

  function heard() {
    failures = 0;
  }

  function renew() {
    isRenewed = true;
    request?.abort();
  }

  function reconnect() {
    failures = 0;
    renew();
    wake?.();
  }

  /** Back online or visible, it asks at once, unless the server named a time. */
  function nudge({ type }) {
    if (holds || globalThis.document?.hidden) return;
    if (type === 'online') reconnect(); // the old connection may be dead
    else wake?.();
  }

  function close() {
    isOpen = false;
    listen('removeEventListener');
    request?.abort();
    clearTimeout(timer);
  }

  async function run() {
    await null;
    while (isOpen) {
      if (error && !isRenewed) {
        const problem = problemOf(error);
        if (error.isFinal) {
          close();
          return list.tell('stopped', { problem });
        }
        const delay = error.isStale && !failures ? 0 : pause(error.retryAfter);
        failures += 1;
        list.tell('waiting', { problem, delay });
        if (!isOpen) return;
        holds = error.retryAfter != null;
        await sleep(delay);
        holds = false;
      }
      isRenewed = false;
      request = new AbortController();
      error = await (polls > 0 ? poll() : stream()).catch((error) => error);
      clearTimeout(timer);
      request.abort();
    }
  }

  /** Partly random, for many return at once. */
  function pause(least) {
    const chance = 0.5 + Math.random() / 2;
    if (least == null) return chance * Math.min(retry * 2 ** failures, 30_000);
    return Math.min(least + chance * retry, 2 ** 31 - 1);
  }

  function sleep(delay) {
    clearTimeout(timer);
    return new Promise((resolve) => {
      timer = setTimeout(wake = resolve, delay);
      if (request) request.signal.onabort = resolve;
    });
  }

  function expect(seconds) {
    clearTimeout(timer);
    timer = setTimeout(() => request.abort(failure({ title: 'The server fell silent' })), seconds * 1_000);
  }

  async function stream() {
    const { signal } = request;
    let [hasBegun, hasLooked, end, rest] = [false, false, ''];
    const look = () => {
      hasLooked = true;
      list.look(signal);
    };
    list.start(signal);
    try {
      // A stream says something at once, and every 15 s.
      const answer = await list.ask({ Accept: 'text/event-stream' }, null, { signal, begin: () => expect(5) });
      const type = answer.headers.get('Content-Type');
      if (!answer.body || !type?.startsWith('text/event-stream')) throw failure({ status: 406 });
      const parse = eventParser((event, data) => {
        if (event === 'retry') retry = Number(data) || 1_000;
        else list.take(event, data);
      });
      const decoder = new TextDecoder();
      const reader = answer.body.getReader();
      for (let piece; !(piece = await reader.read()).done;) {
        hasBegun = true;
        signal.throwIfAborted();
        expect(45);
        const text = decoder.decode(piece.value, { stream: true });
        parse(text);
        // Not within an event, which may take its time.
        end = (end + text).slice(-4);
        clearTimeout(rest);
        if (!hasLooked && /\n\r?\n$/.test(end)) rest = setTimeout(look, 300);
      }
      throw failure({ title: 'The stream broke off' });
    } catch (error) {
      // No streams get through: poll for a while.
      if ((hasBegun || !signal.reason?.problem) && error.problem?.status !== 406) throw error;
      polls = list.polls ?? 5;
    } finally {
      clearTimeout(rest);
    }
  }

  async function poll() {
    const start = Date.now();
    // By `no-store` no cache would answer.
    const isNews = await list.poll({ signal: request.signal, begin: () => expect(45), ...every && { cache: 'default' } });
    polls -= 1;
    if (every) await sleep(every * (900 + Math.random() * 200));
    // It must not spin.
    else if (!isNews && Date.now() - start < 1_000) await sleep(pause(list.period));
  }
}

/** Parameters have one order, for caches. */
async function send(address, query, options, headers, { begin, ...init } = {}) {
  const { token, dialect = 'keyed', form = dialect === 'keyed' ? 'delta' : 'full', content = form } = options;
  const secret = typeof token === 'function' ? await token() : token;
  if (secret) headers.Authorization = `Bearer ${secret}`;
  begin?.();
  const pairs = [['dialect', dialect], ['content', content], ...query].filter(([, value]) => value != null)
    .map((pair) => pair.map(encodeURIComponent).join('=')).sort();
  const { origin } = globalThis.location ?? {};
  const answer = await fetch(address + pairs.join('&'), { headers, cache: 'no-store', ...init }).catch((error) => {
    if (origin && new URL(address, location).origin !== origin) {
      error.cause ??= { code: /^http/.test(origin) ? `if the server runs, it needs --origin ${origin}` : 'serve this page over HTTP' };
    }
    throw error;
  });
  if (answer.ok) return answer;
  const { status } = answer;
  const problem = { title: answer.statusText, status, ...await answer.json().catch(() => null) };
  if (status === 400 && content === 'delta' && !options.content) {
    options.form = 'patch'; // an older server
    return send(address, query, options, headers, { begin, ...init });
  }
  // Sessions come and go, routes do not. Without a token, missing ones are 401.
  const isFinal = problem.type === '/problems/route-not-found'
    || status < 500 && ![404, 408, 425, 429, typeof token !== 'string' && 401].includes(status);
  throw failure(problem, { isFinal, retryAfter: delayOf(answer.headers.get('Retry-After')) });
}

export class ProblemError extends Error {
  constructor(problem, more) {
    super(problem.title);
    Object.assign(this, { name: 'ProblemError', problem }, more);
  }
}
const failure = (...values) => new ProblemError(...values);

/** Node keeps the reason in the cause. */
function problemOf({ problem, message, cause }) {
  const reason = cause?.message || cause?.code;
  return problem ?? { title: 'No connection', detail: reason ? `${message}: ${reason}` : message };
}

/** In milliseconds, of seconds or a date. */
function delayOf(text) {
  const delay = /^\d+$/.test(text) ? text * 1_000 : Date.parse(text) - Date.now();
  return delay >= 0 ? delay : null;
}

/** Reads events from pieces that may break anywhere. */
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
