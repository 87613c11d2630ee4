// Shared by the adapters for React, Vue and Svelte: a list that is followed while somebody listens. A listener that
// returns continues from the existing rows. `get` gives the same object until something changes.

import { connect } from './client.js';

const nothing = { count: 0, has: () => false };

export function listStore(url, options) {
  for (const name in options) {
    if (name.startsWith('on')) throw new TypeError(`a followed list calls no "${name}": it says itself what changes`);
  }
  const listeners = new Set();
  let { window, state = null, since } = options;
  let connection;
  const connected = () => {
    if (!connection) throw new Error('nothing shows the list, so it is not followed');
    return connection;
  };
  let current = {
    ...shown(state), status: 'connecting', problem: null, stale: undefined, pending: nothing, window: undefined, show,
    edit: async (...values) => connected().edit(...values),
    post: async (...values) => connected().post(...values),
    reconnect: () => connection?.reconnect(),
  };

  function set(news) {
    current = { ...current, ...news };
    for (const listen of [...listeners]) listen();
  }

  function show(next = null) {
    if (JSON.stringify(next) === JSON.stringify(window ?? null)) return;
    window = next;
    connection?.show(window);
  }

  function open() {
    if (current.status !== 'connecting') current = { ...current, status: 'connecting', problem: null, stale: undefined };
    const open = url.connect ?? ((options) => connect(url, options));
    connection = open({
      ...options, dialect: 'keyed', window, since, state,
      onChange: (state, { window }) => set({ ...shown(state), window }),
      onStatus: ({ status, problem = null, stale }) => set({ status, problem, stale }),
      onPending: (pending) => set({ pending }),
    });
  }

  function close() {
    ({ state, revision: since } = connection);
    connection.close();
    connection = undefined;
    // Pending edits are sent, but nobody would take them back here.
    if (state === current.state && !current.pending.count) return;
    current = { ...current, ...shown(state), pending: nothing };
  }

  function subscribe(listener) {
    const listen = () => listener(); // a function that listens twice is called twice
    listeners.add(listen);
    if (!connection) open();
    return () => {
      if (listeners.delete(listen) && !listeners.size) close();
    };
  }

  return { subscribe, get: () => current };
}

const shown = (state) => ({ state, rows: state ? state.sections.flatMap(({ items }) => items) : [] });
