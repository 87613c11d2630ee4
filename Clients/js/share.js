// Many lists over one stream: lists connected by `share` are requested together, by `GET /v1/changes`.
//
// Each list is as `connect` makes it, with its own state, revision, edits and status; only its line is shared. Lists of
// one dialect and form of contents are a bundle, whose request is made anew when lists come and go: it names the
// revision that each has, so nothing is sent twice. What concerns one list alone does not hold the others up. A list
// whose answer does not fit has a line of its own until it is well again, and so has each that has not been read yet
// where the shared request is refused: a refusal names nobody. A list with a view or a window, which that request does
// not know, always has its own.

import { connect } from './client.js';

const most = 64; // sessions in one request
const longest = 6_000; // their bytes in an address; proxies take 8 KiB

export function share(url, { token, transport, poll: every, ...others } = {}) {
  for (const name in others) throw new TypeError(`share takes no "${name}": give it to connect, for each list`);
  const address = `${String(url).replace(/\/+$/, '')}/v1/changes?`;
  const bundles = new Set();
  let isOff = false; // the server does not answer for several lists
  return {
    connect(options) {
      for (const name of ['token', 'transport', 'poll']) {
        if (options[name] !== undefined) throw new TypeError(`"${name}" is for all lists: give it to share`);
      }
      return connect(url, { ...options, token, transport, poll: every, carry });
    },
  };

  /** Gives a list its line: in a bundle, or on its own. */
  function carry(list, tools) {
    const seat = { list, alone, isProven: false, problem: null };
    let place;
    let isOpen = true;
    let isAlone = false; // until it is well
    const isShared = () => !isOff && !isAlone && !list.isPart();
    list.told = told;
    move();
    return { heard, renew, reconnect, close };

    function move(error) {
      place?.close();
      place = isShared() ? join(seat, tools) : tools.link(list, error);
    }

    function alone(error) {
      isAlone = true;
      move(error);
    }

    function told({ problem }) {
      seat.problem = problem?.status;
      if (seat.problem === 404) back(); // the stream of all waits for it as well
    }

    function heard() {
      seat.isProven = true;
      place.heard();
      back();
    }

    function back() {
      if (!isAlone) return;
      isAlone = false;
      seat.isProven = true;
      setTimeout(() => { if (isOpen && isShared() && !place.isShared) move(); });
    }

    function renew() {
      if (isShared() === Boolean(place.isShared)) place.renew();
      else move();
    }

    function reconnect() {
      isAlone = false;
      if (isShared() === Boolean(place.isShared)) place.reconnect();
      else move();
    }

    function close() {
      isOpen = false;
      place.close();
    }
  }

  function join(seat, tools) {
    const { dialect, content } = seat.list.options;
    for (const bundle of bundles) if (bundle.takes(seat, dialect, content)) return bundle.add(seat);
    return makeBundle(dialect, content, tools).add(seat);
  }

  function makeBundle(dialect, content, { link, send, failure }) {
    const seats = new Set();
    const heard = new Set(); // on the open stream
    let waits = null; // what all of them wait for
    let due = Infinity;
    let line, timer, signal;
    const list = { options: { transport, poll: every, token, dialect, content }, polls: 30, period: 2_000, ask, start, take, look, poll, tell };
    const bundle = { takes, add };
    bundles.add(bundle);
    return bundle;

    function takes({ list: { self, options: { session } } }, ...form) {
      const names = [...seats].map(({ list }) => list.options.session);
      const size = [...names, session].reduce((sum, name) => sum + encodeURIComponent(name).length + 70, 0);
      return form.join() === [dialect, content].join() && seats.size < most && size <= longest
        && of(session).every(({ list }) => list.self.revision === self.revision);
    }

    function of(session) {
      return [...seats].filter(({ list }) => list.options.session === session);
    }

    function add(seat) {
      seats.add(seat);
      plan(line ? 50 : 0);
      queueMicrotask(() => {
        if (!waits || !seats.has(seat)) return;
        seat.list.tell('waiting', { problem: waits.problem, delay: Math.max(0, waits.end - performance.now()) });
      });
      const reconnect = () => {
        if (line) line.reconnect();
        else plan(0);
      };
      return { isShared: true, heard: () => line?.heard(), renew: () => plan(0), reconnect, close: () => leave(seat) };
    }

    function leave(seat) {
      if (!seats.delete(seat)) return;
      heard.delete(seat);
      if (seats.size) return plan(3_000); // by then, one that has a line of its own for a while is back
      line?.close();
      clearTimeout(timer);
      bundles.delete(bundle);
    }

    /** Asks again for the lists that then exist; those that come and go together are requested together. */
    function plan(delay) {
      const at = performance.now() + delay;
      if (at >= due) return;
      due = at;
      clearTimeout(timer);
      timer = setTimeout(() => {
        due = Infinity;
        if (line) line.renew();
        else line = link(list);
      }, delay);
    }

    // MARK: For the line

    async function ask(headers, some, init) {
      const names = new Map();
      for (const { list: { self, options } } of some ?? seats) names.set(options.session, self.revision);
      const sessions = [...names].map(([name, revision]) => ['session', revision ? `${name}@${revision}` : name]);
      try {
        return await send(address, sessions, list.options, headers, init);
      } catch (error) {
        // This server has no such route; or a list is not public, or missing, and it does not say which.
        if ([404, !token && 401].includes(error.problem?.status)) error.isFinal = true;
        throw error;
      }
    }

    function start(newest) {
      signal = newest;
      waits = null;
      heard.clear();
      // Where two show one session, the request can name one revision.
      for (const seat of [...seats]) {
        const [{ list }] = of(seat.list.options.session);
        if (list.self.revision !== seat.list.self.revision) seat.alone();
      }
    }

    function take(event, data) {
      if (event === 'id') look(signal, true); // some have new names by now
      if (event !== 'changes' && event !== 'end') return;
      const value = JSON.parse(data);
      if (event === 'changes') return deliver(value, 'stream');
      if (value.session === undefined) throw failure(value);
      for (const seat of of(value.session)) {
        heard.add(seat);
        seat.list.tell('waiting', { problem: value, delay: 0 });
      }
    }

    function hear(seat, transport, answer) {
      heard.add(seat);
      seat.list.live(transport, answer);
    }

    function deliver(answer, transport) {
      let isNews = false;
      for (const seat of of(answer.session)) {
        hear(seat, transport, answer);
        try {
          isNews = seat.list.receive(answer) || isNews;
        } catch (error) {
          seat.alone(error);
        }
      }
      return isNews;
    }

    /** A stream is silent about lists that are up to date, and about missing ones: ask for them. */
    async function look(signal, isOfAll) {
      const some = [...seats].filter((seat) => isOfAll || !heard.has(seat));
      if (!some.length) return;
      try {
        const { answers } = await (await ask({}, some, { signal })).json();
        if (signal.aborted) return;
        line?.heard();
        for (const answer of answers) {
          for (const seat of of(answer.session)) if (some.includes(seat)) note(seat, answer);
        }
      } catch {
        // The stream will tell what there is.
      }
    }

    /** The stream tells the news, but not that there is none. */
    function note(seat, answer) {
      const { problem, from, to, changes } = answer;
      const { self } = seat.list;
      if (problem?.status === 404 && !heard.has(seat)) miss(seat, problem);
      if (from !== self.revision || to !== from && changes?.length !== 0) return;
      self.revision = to;
      seat.isProven = true;
      hear(seat, 'stream', answer);
    }

    function miss(seat, problem) {
      seat.isProven = true;
      if (seat.problem !== problem.status) seat.list.tell('waiting', { problem, delay: 0 });
    }

    async function poll(init) {
      const { answers } = await (await ask({}, null, init)).json();
      let isNews = false;
      waits = null;
      line?.heard();
      for (const answer of answers) {
        if (answer.later) isNews = true;
        else if (answer.problem) for (const seat of of(answer.session)) miss(seat, answer.problem);
        else isNews = deliver(answer, 'poll') || isNews;
      }
      return isNews;
    }

    function tell(status, { problem, delay }) {
      if (status === 'stopped') return refused(problem);
      waits = { problem, end: performance.now() + delay };
      for (const { list } of [...seats]) list.tell(status, { problem, delay });
    }

    function refused(problem) {
      line = undefined;
      const all = [...seats];
      if (problem.status === 401 && token) {
        for (const seat of all) leave(seat);
        for (const { list } of all) list.tell('stopped', { problem });
        return;
      }
      const doubtful = all.filter(({ isProven }) => [401, 403].includes(problem.status) && !isProven);
      if (!doubtful.length && problem.status !== 401) isOff = true;
      for (const seat of doubtful.length ? doubtful : all) seat.alone();
      if (seats.size) plan(0);
    }
  }
}
