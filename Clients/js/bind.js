// Rows as elements: each is made once, and glides to its place.

import { key, perform } from './apply.js';

const plain = (_, element) => element ?? document.createElement('div');

export function bind(container, { render, renderSection = plain, duration = 250, limit = 1_000 }) {
  if (!container) throw new TypeError('bind needs the element that is to hold the rows');
  const [sections, rows] = [new Map(), new Map()];
  let gone, moved;

  const host = {
    make: draw,
    place(element, home, before) {
      const parent = home ? home.querySelector('[data-rows]') ?? home : container;
      if (element.parentNode === parent && element.nextSibling === before) return;
      // `moveBefore`, where available, keeps focus and scroll.
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

  /** Makes an element, or renews it; a different one replaces it. */
  function draw(old, value, nodes) {
    const id = key(value.id);
    // Contents come from the state: an update may carry a patch.
    const element = (nodes === rows ? render : renderSection)(nodes.now.get(id), old) ?? old;
    element.dataset.id = id;
    if (old && old !== element) old.replaceWith(element);
    nodes.set(id, element);
    return element;
  }

  /** Shows a state with the existing elements. */
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

  /** Returns the focus to the element that had it, or to a neighbour. */
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

  const isMany = (gone = 0) => sections.size + rows.size + gone > limit;
  const isStill = () => isMany() || document.hidden || matchMedia('(prefers-reduced-motion: reduce)').matches;
  const measure = () => new Map([...sections.values(), ...rows.values()].map((it) => [it, it.getBoundingClientRect()]));
  const animate = (element, from, to) => (
    element.animate([from, to], { duration, easing: 'cubic-bezier(0.2, 0, 0, 1)', id: 'glide' }));

  /** Removed elements leave the flow at once, and fade where they were. */
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

  /** First, last, invert, play: everything glides from where it was last seen, even in the middle of a glide. */
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
    let before = isStill() ? null : measure();
    const giveFocusBack = focusKeeper();
    try {
      if (changes) perform(changes, sections, rows, host);
      else replace(state);
    } catch {
      replace(state); // the changes do not fit it
    }
    for (const nodes of [sections, rows]) for (const id of nodes.keys()) if (!nodes.now.has(id)) nodes.delete(id);
    giveFocusBack();
    if (isMany(gone.length)) before = null; // these may glide, and removed ones may fade
    for (const animation of container.getAnimations({ subtree: true })) {
      if (animation.id === 'glide' && !animation.effect.target.inert) animation.cancel();
    }
    fade(before);
    if (before) play(before);
  }

  return { show };
}
