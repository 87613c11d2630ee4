// For React 18 and later: `useList`, a list that is followed while a component shows it, and `useGlide`, for its rows.

import { useEffect, useLayoutEffect, useMemo, useRef, useSyncExternalStore } from 'react';
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

// A server has no layout, and React warns of this hook there.
const useLayout = typeof document === 'undefined' ? useEffect : useLayoutEffect;

/**
 * A ref for the element whose children are the rows. When `rows` are others than before, each child that moved glides
 * from where it was, also in the middle of a glide, and new ones fade in. While a component renders, the page still
 * shows the former rows: they are measured then.
 */
export function useGlide(rows, { duration = 250, limit = 1_000, ...others } = {}) {
  for (const name in others) throw new TypeError(`useGlide takes no "${name}"`);
  const box = useRef(null);
  const drawn = useRef(rows);
  const before = box.current && drawn.current !== rows && isMoving(box.current, limit) ? measure(box.current) : null;
  useLayout(() => {
    drawn.current = rows;
    if (!before?.size || !isMoving(box.current, limit)) return;
    const running = [...box.current.children].flatMap((child) => child.getAnimations());
    for (const each of running) if (each.id === id) each.cancel();
    for (const [child, now] of measure(box.current)) {
      const was = before.get(child);
      const [x, y] = was ? [was.left - now.left, was.top - now.top] : [0, 0];
      const options = { duration, easing: 'cubic-bezier(0.2, 0, 0, 1)', id };
      if (!was) child.animate([{ opacity: 0, transform: 'scale(0.97)' }, {}], options);
      else if (Math.hypot(x, y) > 0.5) child.animate([{ transform: `translate(${x}px, ${y}px)` }, {}], options);
    }
  }, [rows]);
  return box;
}

const id = 'glide';
const measure = (box) => new Map([...box.children].map((child) => [child, child.getBoundingClientRect()]));
const isMoving = (box, limit) => (
  box && box.children.length <= limit && !document.hidden && !matchMedia('(prefers-reduced-motion: reduce)').matches);
