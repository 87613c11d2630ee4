// Which rows the parts of a changeset refer to, so that pointing at one lights the other.

/** Rows as shown, from a state as the server keeps it: visible ones, flat. */
export function flat({ sections = [], ...more }) {
  const rows = [];
  const walk = (list, level, parent) => {
    for (const { items, ...item } of list) {
      rows.push({ ...item, ...level && { level, parent }, ...items?.length && { children: items.length } });
      if (items && item.expanded !== false) walk(items, level + 1, item.id);
    }
  };
  return { ...more, sections: sections.map(({ items, ...section }) => {
    rows.length = 0;
    if (section.expanded !== false) walk(items, 0);
    return { ...section, items: [...rows] };
  }) };
}

/** `{ pointer, ids, sections }` for each part of an answer's `changes`; `before()` and `after()` are flat states. */
export function marks({ dialect, changes: all }, before, after) {
  // The part cut off is a string.
  const changes = Array.isArray(all) ? all.filter((each) => typeof each === 'object') : all;
  const found = [];
  const put = (pointer, ids, sections = []) => (
    found.push({ pointer, ids: ids.filter((id) => id !== undefined), sections }));
  const idAt = (state, [section, row]) => state?.sections[section]?.items[row]?.id;
  const lists = (pointer, { items = {}, sections = {} }) => {
    for (const [list, entries] of Object.entries(items)) {
      entries.forEach?.((entry, at) => typeof entry === 'object' && put(`${pointer}/items/${list}/${at}`,
        [entry.item?.id ?? (list === 'moved' ? idAt(after(), entry.to) : undefined)]));
    }
    for (const [list, entries] of Object.entries(sections)) {
      entries.forEach?.((entry, at) => {
        if (typeof entry !== 'object' && list !== 'deleted') return;
        const id = entry.section?.id ?? (list === 'moved' ? after().sections[entry.to]?.id : undefined);
        const rows = (entry.section?.items ?? []).map((row) => row.id);
        put(`${pointer}/sections/${list}/${at}`, rows, id === undefined ? [] : [id]);
      });
    }
  };
  if (dialect === 'keyed') {
    changes.forEach(({ section, item, items }, at) => {
      const rows = section === undefined ? items ?? [item] : section.items ?? [];
      put(`/${at}`, rows.map((row) => row.id ?? row), section === undefined ? [] : [section.id ?? section]);
    });
  } else if (dialect === 'indexed') lists('', changes);
  else if (dialect === 'staged') changes.forEach((stage, at) => lists(`/${at}`, stage));
  else if (dialect === 'sequential') splices(changes, before(), put);
  else if (dialect === 'diffable') {
    for (const name of ['reload', 'reconfigure']) (changes[name] ?? [])
      .forEach((id, at) => put(`/${name}/${at}`, [id]));
    (changes.sections ?? [])
      .forEach(({ items }, section) => items.forEach((id, at) => put(`/sections/${section}/items/${at}`, [id])));
    (changes.items ?? []).forEach(({ id }, at) => put(`/items/${at}`, [id]));
  } else if (dialect === 'json-patch') {
    changes.forEach(({ value }, at) => { if (value?.id !== undefined) put(`/${at}`, [value.id]); });
  }
  return found;
}

/** Splices refer to positions at their moment, so they are applied to the ids. */
function splices(changes, before, put) {
  if (!before) return;
  const list = before.sections.flatMap((section) => [...section.content === undefined ? [] : [null],
    ...section.items.map(({ id }) => id)]);
  changes.forEach(({ op, at, from, to, count, rows }, index) => {
    const ids = (rows ?? []).map((row) => row.item?.id ?? null);
    if (op === 'remove') list.splice(at, count);
    if (op === 'insert') list.splice(at, 0, ...ids);
    if (op === 'move') {
      ids.push(...list.splice(from, 1));
      list.splice(to, 0, ...ids);
    }
    put(`/${index}`, ids.filter((id) => id !== null));
  });
}
