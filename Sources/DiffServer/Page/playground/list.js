// The list of a thin client: it draws what is visible, and animates moves.
//
// Rows and headers have boxes, which are computed for the whole list from its state: all rows of a list have the same
// height. Only boxes near the visible part have elements. So an update costs a pass over the rows in plain values and
// the work of one screen in the document, and a row from far away glides in from there, because its old box is known.
// Rejected: `bind` of client.js, which gives each row an element and measures all of them.

import { difference } from '../edits.js';
import { isStill, make, pick, plural, scalars, shuffled, titleOf, words } from './dom.js';
import { people, titles } from './samples.js';

const key = (id) => `r${id}`;
const sectionKey = (id) => `s${id}`;
const headHeight = 40;
const margin = 1_200; // pixels drawn above and below

/** What a changeset of `keyed` operations does to each row and section, by key. */
function deeds(changes) {
  const done = new Map();
  const put = (at, op) => { if (op !== 'update' || !done.has(at)) done.set(at, op); };
  for (const { op, section, item, items } of changes) {
    if (section !== undefined) put(sectionKey(section.id ?? section), op);
    else for (const value of items ?? [item]) put(key(value.id ?? value), op);
    if (op === 'insert') for (const row of section?.items ?? []) put(key(row.id), op);
  }
  return done;
}

/** Boxes of all rows and visible headers, in order. */
function laidOut(state, width, isTouched) {
  const { sections } = state;
  const boxes = [];
  const isTall = sections.some(({ items }) => items.slice(0, 40).some((row) => words(row)[1]));
  const isBoard = sections.length > 1 && width / sections.length >= 110
    && sections.every(({ content }) => content?.layout === 'column');
  const rowHeight = isBoard ? 88 : isTall ? 54 : isTouched ? 46 : 38;
  const gap = isBoard ? 8 : 0;
  const columnWidth = isBoard ? (width - 20 - 10 * (sections.length - 1)) / sections.length : width - 12;
  // Several sections without any content, such as those that a view groups rows into, are labelled with their ids.
  const areBare = sections.length > 1 && sections.every(({ content }) => content === undefined);
  let [x, y, height] = [isBoard ? 10 : 6, 4, 0];
  for (const section of sections) {
    const hasHead = section.content !== undefined || areBare;
    if (hasHead) {
      boxes.push({ key: sectionKey(section.id), model: section, section, isHead: true, x, y, w: columnWidth,
        h: headHeight, level: 1 });
      y += headHeight;
    }
    const families = new Map();
    for (const row of section.items) {
      const family = families.get(row.parent) ?? { size: 0 };
      families.set(row.parent, family);
      family.size += 1;
      boxes.push({ key: key(row.id), model: row, section, family, at: family.size, x, y, w: columnWidth, h: rowHeight,
        level: (row.level ?? 0) + (hasHead ? 2 : 1) });
      y += rowHeight + gap;
    }
    height = Math.max(height, y);
    if (isBoard) [x, y] = [x + columnWidth + 10, 4];
  }
  return { boxes, height: height + 28, isBoard,
    byKey: new Map(boxes.map((box, index) => [box.key, Object.assign(box, { index })])) };
}

const hueOf = (text) => [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7);

function draw({ model, isHead, section, level, family, at }, element, isOutline) {
  if (isHead) {
    element ??= make('div', 'head');
    element.replaceChildren(make('span', 'twist'), make('span', 'name', words(model)[0]),
      make('span', 'count', model.expanded === false ? '' : section.items.length.toLocaleString('en')));
    element.dataset.section = model.id;
    element.ariaExpanded = String(model.expanded !== false);
  } else {
    element ??= make('div', 'row');
    const [name, more] = words(model);
    const parts = [make('div', 'words', make('div', 'name', name), ...more ? [make('div', 'more', more)] : [])];
    if (typeof model.content?.by === 'string') {
      const face = make('span', 'face', model.content.by.slice(0, 1));
      face.style.setProperty('--hue', hueOf(model.content.by));
      face.ariaHidden = 'true';
      parts.unshift(face);
    }
    if (model.kind === 'song') parts.unshift(make('span', 'rank', String(at)));
    if (model.children) parts.unshift(make('span', 'twist'));
    else if (isOutline) parts.unshift(make('span', 'twist none'));
    if (model.kind && !['post', 'song'].includes(model.kind)) parts.push(make('span', 'badge', model.kind));
    parts.push(make('span', 'grip'));
    parts.at(-1).ariaHidden = 'true';
    element.replaceChildren(...parts);
    element.dataset.id = model.id;
    element.dataset.kind = model.kind ?? '';
    element.style.setProperty('--level', model.level ?? 0);
    element.ariaExpanded = model.children ? String(model.expanded !== false) : null;
    element.ariaSetSize = String(family.size);
    element.ariaPosInSet = String(at);
  }
  element.role = 'treeitem';
  element.ariaLevel = String(level);
  return element;
}

/**
 * A list that shows states, with a toolbar, a pointer and keys to change them by edits; `lit` is told which row is
 * pointed at.
 */
export function makeList(view, edit, lit = () => {}) {
  const tree = view.querySelector('.list');
  const canvas = Object.assign(make('div', 'canvas'), { role: 'none' });
  const empty = make('p', 'empty', 'This list is empty.');
  tree.append(canvas, empty);
  empty.hidden = true;

  let state = { sections: [] };
  let layout = laidOut(state, 0);
  let selected = null; // the key of a row or section
  let hovered = new Set(); // keys named by an operation
  let isOutline = false;
  const drawn = new Map(); // elements by key; each knows its `box`
  let written = null; // the element whose title is being edited, which is not drawn again until that ends

  const isTouched = () => matchMedia('(max-width: 820px), (pointer: coarse)').matches;
  const boxOf = (element) => element?.closest('.row, .head')?.box;
  const row = (at) => { const box = layout.byKey.get(at); return box && !box.isHead ? box.model : undefined; };
  const sectionAt = (at) => layout.byKey.get(at)?.section;

  /** Gives elements to the boxes near the visible part, in the order of the list. */
  function render(leaving = new Set()) {
    const { scrollTop, clientHeight } = tree;
    const [top, bottom] = [scrollTop - margin, scrollTop + (clientHeight || 800) + margin];
    const entry = layout.byKey.has(selected) ? selected : layout.boxes[0]?.key;
    const focused = boxOf(document.activeElement)?.key;
    const kept = new Set([entry, focused, drag?.key]);
    const wanted = layout.boxes.filter((box) => box.y < bottom && box.y + box.h > top || kept.has(box.key));
    const keys = new Set(wanted.map((box) => box.key));
    for (const [at, element] of drawn) {
      if (keys.has(at) || leaving.has(at)) continue;
      element.remove();
      drawn.delete(at);
    }
    let next = canvas.firstChild;
    for (const box of wanted) {
      let element = drawn.get(box.key);
      const old = element?.box;
      const isSame = old && old.model === box.model && old.at === box.at && old.level === box.level
        && old.family?.size === box.family?.size
        && old.section.items.length === box.section.items.length && element.isOutline === isOutline;
      if (!isSame && element !== written) {
        element = draw(box, element, isOutline);
        element.isOutline = isOutline;
      }
      drawn.set(box.key, element);
      if (!old || old.x !== box.x || old.y !== box.y || old.w !== box.w || old.h !== box.h) {
        const [left, top, width, height] = [box.x, box.y, box.w, box.h].map((length) => `${length}px`);
        Object.assign(element.style, { left, top, width, height });
      }
      element.box = box;
      element.tabIndex = box.key === entry ? 0 : -1;
      element.ariaSelected = String(box.key === selected);
      element.classList.toggle('lit', hovered.has(box.key));
      if (element === next) next = next.nextSibling;
      // `moveBefore`, where available, keeps the focus.
      else if (canvas.moveBefore && element.isConnected) canvas.moveBefore(element, next);
      else canvas.insertBefore(element, next);
    }
  }

  /** Where everything is seen now, even in the middle of a glide. */
  function seen() {
    const { left, top } = canvas.getBoundingClientRect();
    return new Map([...drawn].map(([at, element]) => {
      const box = element.getBoundingClientRect();
      return [at, { x: box.left - left, y: box.top - top }];
    }));
  }

  const glide = (element, from, to = {}, duration = 280) => (
    element.animate([from, to], { duration, easing: 'cubic-bezier(0.2, 0, 0, 1)', id: 'glide' }));
  const shift = ({ x, y }) => ({ transform: `translate(${x}px, ${y}px)` });

  /**
   * Shows a state, or `null` if there is none yet. Without the changes that lead to it, it finds them itself; `null`
   * means that nothing should move.
   */
  function show(next, changes) {
    const isBlank = next === null;
    next ??= { sections: [] };
    const old = layout;
    const isFirst = !old.boxes.length;
    if (changes === undefined) try { changes = difference(state, next); } catch { changes = null; }
    const done = changes ? deeds(changes) : new Map();
    const before = isFirst || !changes || isStill() || document.hidden ? null : seen();
    const focused = tree.contains(document.activeElement) ? boxOf(document.activeElement) : null;
    state = next;
    isOutline = state.sections.some(({ items }) => items.some(({ children }) => children));
    layout = laidOut(state, tree.clientWidth, isTouched());
    tree.classList.toggle('columns', layout.isBoard);
    if (!layout.byKey.has(selected)) selected = null;
    for (const animation of canvas.getAnimations({ subtree: true })) {
      if (animation.id === 'glide' && !animation.effect.target.inert) animation.cancel();
    }

    // The rows being read stay in place when others come or go above them.
    const { scrollTop } = tree;
    const stays = (box) => box.y + box.h > scrollTop && !done.has(box.key) && layout.byKey.has(box.key);
    const anchor = scrollTop > 0 ? old.boxes.find(stays) : null;
    const moved = anchor && !layout.isBoard ? layout.byKey.get(anchor.key).y - anchor.y : 0;
    canvas.style.height = `${layout.height}px`;
    empty.hidden = isBlank || layout.boxes.length > 0;
    if (moved) tree.scrollTop += moved;

    const gone = [...drawn].filter(([at]) => !layout.byKey.has(at));
    for (const [at, element] of gone) {
      drawn.delete(at);
      if (before) fade(element, moved);
      else element.remove();
    }
    const leaving = new Set();
    render(leaving);
    if (before) play(before, old, done, moved);
    mark(done, changes && !isFirst);
    if (focused && !drawn.get(focused.key)?.contains(document.activeElement)) focusHeir(old, focused);
  }

  /** Moves the focus of a removed row to its neighbour. */
  function focusHeir(old, { index }) {
    const heir = [...old.boxes.slice(index), ...old.boxes.slice(0, index).reverse()]
      .find((box) => layout.byKey.has(box.key));
    if (heir) select(heir.key, true);
    else tree.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  function fade(element, moved) {
    delete element.dataset.id;
    delete element.dataset.section;
    element.inert = true;
    element.dataset.did = 'remove';
    if (moved) element.style.top = `${element.box.y + moved}px`;
    const end = () => element.remove();
    glide(element, {}, { opacity: 0 }, 420).finished.then(end, end);
  }

  /** First, last, invert, play; rows from outside the visible part come from its edge. */
  function play(before, old, done, moved) {
    const [top, bottom] = [tree.scrollTop - 80, tree.scrollTop + tree.clientHeight + 80];
    for (const [at, element] of drawn) {
      const { box } = element;
      const far = old.byKey.get(at);
      const was = before.get(at) ?? (far && { x: far.x, y: Math.min(Math.max(far.y + moved, top), bottom) - moved });
      if (was) {
        const [x, y] = [was.x - box.x, was.y + moved - box.y];
        const zIndex = done.get(at) === 'move' ? 1 : 0;
        if (Math.hypot(x, y) > 0.5) glide(element, { ...shift({ x, y }), zIndex }, { zIndex }, 420);
      } else glide(element, { opacity: 0, transform: 'scale(0.97)' }, {}, 420);
    }
  }

  /** Each row keeps the colour of what last happened to it, and lights up in it. */
  function mark(done, isNews) {
    if (isNews && !done.size) return;
    // An edit that is shown at once, and what the server adds to it, count as one.
    const isMore = performance.now() - markedAt < 600;
    const all = isMore ? new Map([...news, ...done]) : done;
    markedAt = performance.now();
    for (const [at, element] of drawn) {
      const op = isNews ? all.get(at) : undefined;
      if (op && op !== 'remove') element.dataset.did = op;
      else delete element.dataset.did;
      if (!done.has(at) || isStill() || document.hidden) continue;
      element.animate([{ backgroundColor: `var(--${op}-tint)` }, {}],
        { duration: 1600, easing: 'ease-out', id: 'flash' });
    }
    news = isNews ? all : new Map();
  }
  let [news, markedAt] = [new Map(), -Infinity];

  function select(at, takesFocus = false) {
    selected = at ?? null;
    if (at) reveal(layout.byKey.get(at));
    render();
    if (takesFocus) drawn.get(at)?.focus({ preventScroll: true });
  }

  function reveal(box) {
    if (box && box.y < tree.scrollTop) tree.scrollTop = box.y - 4;
    else if (box && box.y + box.h > tree.scrollTop + tree.clientHeight) {
      tree.scrollTop = box.y + box.h - tree.clientHeight + 8;
    }
  }

  /** Lights rows, by the ids that an operation names; scrolls to the first. */
  function light(ids, sections = []) {
    hovered = new Set([...ids.map(key), ...sections.map(sectionKey)].filter((at) => layout.byKey.has(at)));
    for (const [at, element] of drawn) element.classList.toggle('lit', hovered.has(at));
    const first = [...hovered][0];
    if (first && ![...hovered].some((at) => drawn.has(at))) {
      reveal(layout.byKey.get(first));
      render();
    }
  }

  let frame = null;
  tree.addEventListener('scroll', () => {
    frame ??= requestAnimationFrame(() => {
      frame = null;
      render();
      for (const [at, element] of drawn) if (!element.dataset.did && news.has(at)) element.dataset.did = news.get(at);
    });
  });
  new ResizeObserver(() => {
    layout = laidOut(state, tree.clientWidth, isTouched());
    canvas.style.height = `${layout.height}px`;
    tree.classList.toggle('columns', layout.isBoard);
    render();
  }).observe(tree);

  // Each action is one or more edits of the contract, on the selected row or else on any row.
  const everyRow = () => layout.boxes.filter((box) => !box.isHead).map((box) => box.model);
  function seenRows() {
    const { scrollTop: top, clientHeight } = tree; // read once: each time may cost a layout
    return layout.boxes.filter((box) => !box.isHead && box.y + box.h > top && box.y < top + clientHeight)
      .map((box) => box.model);
  }
  function target() {
    const near = row(selected) ? [row(selected)] : seenRows();
    return pick(near.length ? near : everyRow());
  }
  const home = (id) => layout.byKey.get(key(id))?.section;
  const isInside = (inner, outer) => {
    for (let at = inner; at?.parent !== undefined; at = row(key(at.parent))) if (at.parent === outer.id) return true;
    return false;
  };
  const actions = {
    Shuffle: () => state.sections.filter(({ items }) => items.length).map(({ id, items }) => ({
      op: 'move', items: shuffled(items.filter(({ level }) => !level).map((each) => each.id)),
      into: { section: id }, at: 'start',
    })),
    Insert() {
      const near = target();
      const id = `n${Math.random().toString(36).slice(2, 7)}`;
      const content = { title: pick(titles) };
      for (const [name, value] of typeof near?.content === 'object' && near.content ? scalars(near.content) : []) {
        if (typeof value === 'number') content[name] = Math.ceil(Math.random() * value) + 1;
        else content[name] = name === 'by' ? pick(people) : value;
      }
      const item = { id, ...near?.kind && near.kind !== 'ad' ? { kind: near.kind } : {}, content };
      if (near) return [{ op: 'insert', items: [item], after: near.id }];
      if (!state.sections.length) return [{ op: 'insert', sections: [{ id: 'main' }] },
        { op: 'insert', items: [item] }];
      const section = sectionAt(selected) ?? pick(state.sections);
      return [...section.expanded === false ? [{ op: 'expand', sections: [section.id] }] : [],
        { op: 'insert', items: [item], into: { section: section.id } }];
    },
    Delete() {
      const victim = target();
      return victim && [{ op: 'delete', items: [victim.id] }];
    },
    Move() {
      const mover = target();
      if (!mover) return null;
      const others = state.sections.filter((section) => section !== home(mover.id) && section.expanded !== false);
      if (others.length) return [{ op: 'move', items: [mover.id], into: { section: pick(others).id },
        at: pick(['start', 'end']) }];
      const fits = (other) => other.id !== mover.id && !other.level && !isInside(other, mover);
      const near = seenRows().filter(fits);
      const anchors = near.length ? near : everyRow().filter(fits);
      return anchors.length ? [{ op: 'move', items: [mover.id], [pick(['before', 'after'])]: pick(anchors).id }] : null;
    },
    Collapse() {
      const parents = everyRow().filter(({ children }) => children);
      const isHead = layout.byKey.get(selected)?.isHead;
      const parent = row(selected)?.children ? row(selected) : isHead ? null : pick(parents);
      if (parent) return [{ op: parent.expanded === false ? 'expand' : 'collapse', items: [parent.id] }];
      const section = sectionAt(selected) ?? pick(state.sections);
      return section && [{ op: section.expanded === false ? 'expand' : 'collapse', sections: [section.id] }];
    },
    Edit() {
      const subject = target();
      return subject && retitled(subject, pick(titles.filter((title) => title !== words(subject)[0])));
    },
  };
  let isFixed = false; // takes no edits
  const act = (name) => isFixed ? null : name === 'Edit' && row(selected) ? write() : edit(actions[name]);

  function retitled({ id, content }, title) {
    const isObject = typeof content === 'object' && content !== null && !Array.isArray(content);
    const name = isObject && titleOf(content) || 'title';
    // A patch, so that what others change meanwhile stays.
    if (isObject || content === undefined) return [{ op: 'update', items: [{ id, patch: { [name]: title } }] }];
    return [{ op: 'update', items: [{ id, content: title }] }];
  }

  /** Edits the selected row's title in place. Enter, or going elsewhere, keeps it; Escape does not. */
  function write() {
    const [at, subject] = [selected, row(selected)];
    const element = written = drawn.get(at);
    const name = element.querySelector('.name');
    const before = name.textContent;
    Object.assign(name, { contentEditable: 'plaintext-only', role: 'textbox', ariaLabel: 'Title' });
    name.focus();
    getSelection().selectAllChildren(name);
    const end = (isKept) => {
      name.onblur = name.onkeydown = written = null;
      element.isOutline = undefined; // draws it again
      const title = name.textContent.trim();
      Object.assign(name, { contentEditable: 'inherit', role: null, ariaLabel: null, textContent: before });
      if (isKept && title && title !== before) edit(() => retitled(subject, title));
      else requestAnimationFrame(() => render());
    };
    name.onblur = () => end(true);
    name.onkeydown = (event) => {
      event.stopPropagation();
      if (!['Enter', 'Escape'].includes(event.key)) return;
      event.preventDefault();
      end(event.key === 'Enter');
      drawn.get(at)?.focus({ preventScroll: true });
    };
  }

  const tools = view.querySelector('.tools');
  const describe = { Move: 'To another section, or another place', Collapse: 'Or expand again',
    Edit: "The selected row's title, or any" };
  for (const name of Object.keys(actions)) {
    const button = make('button', '', name);
    Object.assign(button, { type: 'button', title: describe[name] ?? '', onclick: () => act(name) });
    tools.append(button);
  }
  let player = null;
  const playing = Object.assign(make('button', '', 'Play'),
    { type: 'button', ariaPressed: 'false', title: 'A change every second' });
  playing.onclick = () => {
    player = player ? clearInterval(player) : setInterval(() => {
      select(null);
      act(pick(['Shuffle', 'Insert', 'Delete', 'Move', 'Move', 'Move', 'Edit', 'Edit', 'Collapse']));
    }, 1100);
    playing.ariaPressed = String(Boolean(player));
  };
  tools.append(playing);

  tree.onclick = (event) => {
    const box = boxOf(event.target);
    if (!box || event.target.isContentEditable) return;
    select(box.key, true);
    if (event.target.closest('.twist')) act('Collapse');
  };
  const tell = (event) => {
    const box = boxOf(event.target);
    lit(box && !box.isHead ? box.model.id : null, box?.isHead ? box.model.id : null);
  };
  tree.onpointerover = tell;
  tree.addEventListener('focusin', tell);
  tree.onpointerleave = () => lit(null);
  tree.addEventListener('focusout', () => lit(null));

  // For the list, a dragged row is in the middle of a glide: from where it is dropped, it glides to where it then
  // belongs, even if that is back. A mouse takes a row anywhere; a finger, which scrolls, takes it by its grip.
  let drag = null;

  /** Where the dragged row would go: beside the row under the pointer or, below all rows, to the section's end. */
  function goal({ clientX, clientY }) {
    const mover = row(drag.key);
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [clientX - left, clientY - top];
    const area = tree.getBoundingClientRect();
    if (!mover || x < 0 || x > area.width || clientY < area.top || clientY > area.bottom) return null;
    const move = { op: 'move', items: [mover.id] };
    const column = layout.boxes.filter((box) => !layout.isBoard || x >= box.x - 5 && x < box.x + box.w + 5);
    const over = column.find((box) => box.key !== drag.key && !box.isHead && y >= box.y && y < box.y + box.h);
    if (over) {
      const side = y < over.y + over.h / 2 ? 'before' : 'after';
      return isInside(over.model, mover) ? null : { over: over.key, side, move: { ...move, [side]: over.model.id } };
    }
    const above = column.findLast((box) => box.y <= y);
    if (!above || above.key === drag.key) return null;
    const below = layout.boxes.find((box) => box.section === above.section && !box.isHead && box.key !== drag.key
      && box.y > y);
    return below ? null : { over: null, move: { ...move, into: { section: above.section.id }, at: 'end' } };
  }

  function point(place) {
    for (const element of canvas.querySelectorAll('[data-drop]')) delete element.dataset.drop;
    if (place?.over) drawn.get(place.over).dataset.drop = place.side;
  }

  tree.onpointerdown = (event) => {
    const element = event.target.closest('.row');
    const isTouch = event.pointerType === 'touch';
    if (event.button || isFixed || !element || event.target.closest('.twist, [role=textbox]')
      || isTouch && !event.target.closest('.grip')) return;
    drag = { element, key: element.box.key, x: event.clientX, y: event.clientY };
  };
  tree.onpointermove = (event) => {
    if (!drag) return;
    const { element } = drag;
    const isFar = Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 5;
    if (!event.buttons || !element.isConnected || element.inert) return drop(null);
    if (!drag.glide && !isFar) return;
    if (!drag.glide) {
      tree.setPointerCapture(event.pointerId);
      element.classList.add('held');
      const { left, top } = element.getBoundingClientRect();
      drag.grip = { x: drag.x - left, y: drag.y - top };
    }
    drag.glide?.cancel();
    const { left, top } = element.getBoundingClientRect();
    drag.at = { x: event.clientX - drag.grip.x - left, y: event.clientY - drag.grip.y - top };
    drag.glide = element.animate([shift(drag.at), shift(drag.at)], { duration: 1, fill: 'both', id: 'glide' });
    point(goal(event));
  };
  tree.onpointerup = (event) => drop(drag?.glide ? goal(event) : null);
  tree.onpointercancel = () => drop(null);

  async function drop(place) {
    const released = drag;
    drag = null;
    point(null);
    if (!released?.glide) return;
    const { element, glide: held, at } = released;
    element.classList.remove('held');
    try { if (place) await edit(() => [place.move]); } finally {
      if (held.playState !== 'idle') {
        held.cancel();
        if (!isStill()) glide(element, shift(at));
      }
    }
  }

  function stop(at) {
    const box = layout.boxes[Math.min(Math.max(at, 0), layout.boxes.length - 1)];
    if (box) select(box.key, true);
  }
  const keys = {
    ArrowDown: (at) => stop(at + 1), ArrowUp: (at) => stop(at - 1), Home: () => stop(0), End: () => stop(Infinity),
    PageDown: (at) => stop(at + 10), PageUp: (at) => stop(at - 10),
    ArrowRight(at, isOpen) {
      if (isOpen === 'false') return act('Collapse');
      if (isOpen) stop(at + 1);
    },
    ArrowLeft(at, isOpen) {
      if (isOpen === 'true') return act('Collapse');
      const parent = layout.boxes.slice(0, at).findLast((box) => box.level < layout.boxes[at].level);
      if (parent) select(parent.key, true);
    },
    Enter: () => act('Edit'), F2: () => act('Edit'), Insert: () => act('Insert'),
    Delete: () => row(selected) && act('Delete'),
  };
  tree.onkeydown = (event) => {
    const box = boxOf(document.activeElement);
    if (!box || event.ctrlKey || event.metaKey) return;
    const { index } = layout.byKey.get(box.key);
    if (selected !== box.key) select(box.key);
    if (event.altKey && !isFixed) {
      const mover = row(selected);
      const list = sectionAt(selected)?.items.filter(({ parent }) => String(parent) === String(mover?.parent)) ?? [];
      const place = list.indexOf(mover);
      const before = event.key === 'ArrowUp' && list[place - 1];
      const after = event.key === 'ArrowDown' && list[place + 1];
      if (!mover || !before && !after) return;
      event.preventDefault();
      edit(() => [{ op: 'move', items: [mover.id], ...before ? { before: before.id } : { after: after.id } }]);
    } else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key](index, document.activeElement.ariaExpanded);
    }
  };

  return {
    show, light,
    fix(is) {
      isFixed = tools.hidden = is;
      tree.classList.toggle('fixed', is);
    },
    get state() { return state; },
    summary: () => plural(everyRow().length, 'row'),
    stop: () => { if (player) playing.click(); },
  };
}
