// What UIKit makes of changes passed to it without preparation: all indexes of `indexed` in one batch, with a reload of
// an `updated` row at its new index, or each by itself. The rules are those of docs/diff.md, and the texts are the
// exceptions that UIKit raises.

const path = ([section, row]) => `<NSIndexPath: {length = 2, path = ${section} - ${row}}>`;
const same = (one, other) => one[0] === other[0] && one[1] === other[1];
const count = (list) => list?.length ?? 0;

/** Lines of Swift that put a changeset of `indexed` into one batch. */
export function batch({ sections = {}, items = {} }) {
  const paths = (list) =>
    `[${list.slice(0, 6).map(([section, row]) => `[${section}, ${row}]`).join(', ')}${list.length > 6 ? ', …' : ''}]`;
  const numbers = (list) => `[${list.join(', ')}]`;
  return [
    ...count(sections.deleted) ? [`tableView.deleteSections(${numbers(sections.deleted)}, with: .automatic)`] : [],
    ...count(sections.inserted)
      ? [`tableView.insertSections(${numbers(sections.inserted.map(({ at }) => at))}, with: .automatic)`] : [],
    ...(sections.moved ?? []).slice(0, 3).map(({ from, to }) => `tableView.moveSection(${from}, toSection: ${to})`),
    ...count(items.deleted) ? [`tableView.deleteRows(at: ${paths(items.deleted)}, with: .automatic)`] : [],
    ...count(items.inserted)
      ? [`tableView.insertRows(at: ${paths(items.inserted.map(({ at }) => at))}, with: .automatic)`] : [],
    ...(items.moved ?? []).slice(0, 3)
      .map(({ from, to }) => `tableView.moveRow(at: [${from.join(', ')}], to: [${to.join(', ')}])`),
    ...count(items.moved) > 3 ? [`// … and ${items.moved.length - 3} more moves`] : [],
    ...count(items.updated)
      ? [`tableView.reloadRows(at: ${paths(items.updated.map(({ at }) => at))}, with: .automatic)`] : [],
  ];
}

/**
 * The result of that batch: `{ fault, text }`; the fault is `crash`, `wrong` or none. `counts` are rows per section
 * before it.
 */
export function verdict({ sections = {}, items = {} }, counts) {
  const { deleted = [], inserted = [], moved = [], updated = [] } = items;
  const reloads = updated.filter((update) => update.as !== undefined || update.item);
  for (const { at: place } of reloads) {
    if (deleted.some((other) => same(place, other))) {
      return { fault: 'crash', text: `attempt to delete and reload the same index path (${path(place)})` };
    }
    const mover = moved.find(({ from }) => same(place, from));
    if (mover) return { fault: 'crash',
      text: `attempt to perform a delete and a move from the same index path (${path(place)})` };
    if (place[0] < counts.length && place[1] >= counts[place[0]]) {
      const rows = counts[place[0]];
      return { fault: 'crash', text: `attempt to delete row ${place[1]} from section ${place[0]} `
        + `which only contains ${rows} rows before the update` };
    }
  }
  const busy = new Set([...sections.moved ?? []].flatMap(({ from, to }) => [from, to])
    .concat(sections.deleted ?? [], (sections.inserted ?? []).map(({ at }) => at)));
  const touches = [...deleted, ...inserted.map(({ at }) => at), ...moved.flatMap(({ from, to }) => [from, to])];
  if (busy.size && touches.some(([section]) => busy.has(section))) {
    return { fault: 'wrong', text: 'Rows change in a section that itself moves, comes or goes in the same batch: '
      + 'known to corrupt the view or to crash it.' };
  }
  const wrong = reloads.find(({ from, at }) => !same(from, at));
  if (wrong) {
    return { fault: 'wrong', text: 'No exception, but a reload is read in indexes from before the batch: '
      + `it draws the row at [${wrong.at.join(', ')}] again, and the one that changed, at [${wrong.from.join(', ')}], `
      + 'keeps showing what it was.' };
  }
  return { fault: null, text: 'This one is harmless: one batch does it.' };
}

/** Where one operation after the other fails, while the model already holds all of them. */
export function alone({ sections = {}, items = {} }, before, after) {
  const { deleted = [], inserted = [], moved = [] } = items;
  if (count(sections.deleted) || count(sections.inserted)) {
    if (before.length === after.length && !count(sections.deleted)) return null;
    const isDelete = count(sections.deleted) > 0;
    if (before.length + (isDelete ? -1 : 1) === after.length) return null;
    return 'Invalid update: invalid number of sections. The number of sections contained in the table view '
      + `after the update (${after.length}) must be equal to the number of sections contained in the table view `
      + `before the update (${before.length}), plus or minus the number of sections inserted or deleted `
      + `(${isDelete ? 0 : 1} inserted, ${isDelete ? 1 : 0} deleted).`;
  }
  if (count(sections.moved)) return null;
  const steps = [...deleted.map(([section]) => ['deleted', section]),
    ...inserted.map(({ at: [section] }) => ['inserted', section]),
    ...moved.map(({ from: [section], to: [other] }) => ['moved', section, other])];
  const known = [...before];
  for (const [what, from, to] of steps) {
    for (const section of known.keys()) {
      const isMove = what === 'moved' && from !== to;
      const added = Number(what === 'inserted' && from === section);
      const taken = Number(what === 'deleted' && from === section);
      const [into, out] = [Number(isMove && to === section), Number(isMove && from === section)];
      const rows = known[section];
      known[section] += added - taken + into - out;
      if (known[section] === after[section]) continue;
      return `Invalid update: invalid number of rows in section ${section}. The number of rows contained in an `
        + `existing section after the update (${after[section]}) must be equal to the number of rows contained in `
        + `that section before the update (${rows}), plus or minus the number of rows inserted or deleted from that `
        + `section (${added} inserted, ${taken} deleted) and plus or minus the number of rows moved into or out of `
        + `that section (${into} moved in, ${out} moved out).`;
    }
  }
  return null;
}
