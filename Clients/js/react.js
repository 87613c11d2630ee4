// `useList` for React 18 and later: a list that is followed while a component shows it.

import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { listStore } from './store.js';

export function useList(url, { window, ...options }) {
  // Options are written anew at each render; another list is followed when their values change.
  const newest = useRef(options);
  const store = useMemo(() => {
    const renewed = typeof options.token === 'function' && { token: () => newest.current.token() };
    return listStore(url, { ...options, window, ...renewed });
  }, [url.connect ? url : String(url), JSON.stringify(options)]);
  const list = useSyncExternalStore(store.subscribe, store.get, store.get);
  useEffect(() => { newest.current = options; });
  useEffect(() => list.show(window), [store, JSON.stringify(window)]);
  return list;
}
