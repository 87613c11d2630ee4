// `keyed` changes, applied to rows.

export const key = String; // `1` and `"1"` are the same id

/** Applies operations to the nodes of a `host`, by id. */
export function perform(changes, sections, rows, host) {
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

/** Rows are linked meanwhile, so an operation costs the same in any list. */
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
    update(node, told) {
      const value = renewed(told, node.value);
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
  return {
    ...list ? { ...rest, ...renewed(list, state) } : state,
    sections: each(order).map(({ value, rows, isChanged }) => (
      isChanged ? { ...value, items: each(rows).map((row) => row.value) } : value)),
  };
}

/** The end of a ring: after its last node and before the first. */
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

/** As told: `patch`, then `append`, change the old content. */
function renewed({ patch, append, ...value }, { content }) {
  if (patch !== undefined) content = merge(content, patch);
  for (const pointer in append) content = merge(content, behind(content, pathOf(pointer), append[pointer]));
  return patch === undefined && !append ? value : { ...value, content };
}

/** A patch that puts a text behind the string at a path. */
const behind = (value = '', [name, ...path], text) => (
  name === undefined ? value.concat(text) : { [name]: behind(value[name], path, text) });

/** The names in a JSON Pointer. */
export const pathOf = (pointer) => pointer.split('/').slice(1).map((name) => name.replace(/~[01]/g, (it) => '~/'[it[1]]));

/** RFC 7396; `__proto__` is a member like any other. */
export function merge(value, patch) {
  const isObject = (it) => it && typeof it === 'object' && !Array.isArray(it);
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(value) ? Object.entries(value) : []);
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) members.delete(name);
    else members.set(name, merge(members.get(name), change));
  }
  return Object.fromEntries(members);
}
