// Rows as elements: each is made once, and glides to its place.

import { key, perform } from './apply.js';

const hasOneList = ({ sections: [only, other] }) => (
  !other && key(only?.id) === 'main' && only.content === undefined);

const plain = (_, element) => element ?? document.createElement('div');

export function bind(container, { render, renderSection = plain, duration = 250, limit = 1_000, ...others }) {
  for (const name in others) throw new TypeError(`bind takes no "${name}"`);
  if (!container) throw new TypeError('bind needs an element for the rows');
  if (!render) throw new TypeError('bind needs render');
  const [sections, rows] = [new Map(), new Map()];
  let gone, moved;
  let isFlat = false; // without sections of its own: the rows are in the container itself

  const host = {
    make: draw,
    place(element, home, before) {
      if (element === container) return;
      const parent = home && home !== container ? home.querySelector('[data-rows]') ?? home : container;
      if (element.parentNode === parent && element.nextSibling === before) return;
      if (parent.moveBefore && element.isConnected && parent.isConnected) parent.moveBefore(element, before);
      else parent.insertBefore(element, before);
    },
    move(element, ...place) {
      moved.add(element);
      host.place(element, ...place);
    },
    remove: (element) => element !== container && gone.push(element),
    update: draw,
  };

  function draw(old, value, nodes) {
    const id = key(value.id);
    if (isFlat && nodes === sections) {
      nodes.set(id, container);
      return container;
    }
    const element = (nodes === rows ? render : renderSection)(nodes.now.get(id), old) ?? old;
    element.dataset.id = id;
    if (old && old !== element) old.replaceWith(element);
    nodes.set(id, element);
    return element;
  }

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

  /** What is seen stays, as no browser sees to while rows glide. */
  function scrollKeeper(before) {
    let box = container;
    while (box && !box.scrollTop) box = box.parentElement;
    if (!before || !box || getComputedStyle(box).overflowAnchor === 'none') return;
    const edge = Math.max(0, box.getBoundingClientRect().top);
    const seen = [...rows.values()].filter((row) => before.get(row).bottom > edge);
    const top = (row) => row.offsetTop - box.scrollTop;
    const tops = new Map(seen.map((row) => [row, top(row)]));
    return () => {
      const stays = [...rows.now.keys()].map((id) => rows.get(id)).find((row) => tops.has(row) && !moved.has(row));
      if (stays) box.scrollTop += top(stays) - tops.get(stays);
    };
  }

  const isMany = (gone = 0) => sections.size + rows.size + gone > limit;
  const isStill = () => isMany() || document.hidden || matchMedia('(prefers-reduced-motion: reduce)').matches;
  const measure = () => new Map([...isFlat ? [] : sections.values(), ...rows.values()]
    .map((it) => [it, it.getBoundingClientRect()]));
  const animate = (element, from, to) => (
    element.animate([from, to], { duration, easing: 'cubic-bezier(0.2, 0, 0, 1)', id: 'glide' }));

  function fade(before) {
    for (const element of gone) {
      const box = before?.get(element);
      const end = () => element.remove();
      if (!box?.height) {
        end();
        continue;
      }
      delete element.dataset.id;
      element.inert = true;
      const size = `width:${box.width}px;height:${box.height}px`;
      element.style.cssText += `position:absolute;margin:0;box-sizing:border-box;top:0;left:0;${size}`;
      const now = element.getBoundingClientRect();
      element.style.cssText += `top:${box.top - now.top}px;left:${box.left - now.left}px`;
      animate(element, {}, { opacity: 0 }).finished.then(end, end);
    }
  }

  /** First, last, invert, play: all glide from where they were seen, also amid a glide. */
  function play(before) {
    const shifts = new Map();
    for (const [element, now] of measure()) {
      const was = before.get(element);
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

  function regroup() {
    if (!isFlat) gone.push(...sections.values());
    sections.clear();
    isFlat = !isFlat;
  }

  function show(state, changes) {
    [gone, moved] = [[], new Set()];
    const byID = (list) => new Map(list.map((value) => [key(value.id), value]));
    sections.now = byID(state.sections);
    rows.now = byID(state.sections.flatMap(({ items }) => items));
    let before = isStill() ? null : measure();
    const giveFocusBack = focusKeeper();
    const scrollBack = scrollKeeper(changes && before);
    if (isFlat !== hasOneList(state)) changes = regroup();
    try {
      if (changes) perform(changes, sections, rows, host);
      else replace(state);
    } catch {
      replace(state); // the changes do not fit it
    }
    for (const nodes of [sections, rows]) for (const id of nodes.keys()) if (!nodes.now.has(id)) nodes.delete(id);
    if (isMany(gone.length)) before = null; // all of these may glide or fade
    for (const animation of container.getAnimations({ subtree: true })) {
      if (animation.id === 'glide' && !animation.effect.target.inert) animation.cancel();
    }
    fade(before);
    giveFocusBack();
    scrollBack?.();
    if (before) play(before);
  }

  return { show };
}
