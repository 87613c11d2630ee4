// What a changeset of `keyed` operations does, in sentences that need no knowledge of it.

import { make, plural, titleOf, words } from './dom.js';

const most = 40;
const verbs = { insert: 'Added', remove: 'Removed', move: 'Moved', update: 'Changed' };
const shown = (value) => value === undefined ? 'nothing'
  : typeof value === 'string' ? `“${value}”` : JSON.stringify(value);

/** What an update changed: "likes 94 → 95". */
function difference(old, value) {
  const isObject = (it) => typeof it === 'object' && it !== null && !Array.isArray(it);
  if (!isObject(old?.content) || !isObject(value?.content)) return '';
  const names = [...new Set([...Object.keys(old.content), ...Object.keys(value.content)])]
    .filter((name) => JSON.stringify(old.content[name]) !== JSON.stringify(value.content[name]));
  if (!names.length || names.length > 3) return names.length ? `: ${names.length} members` : '';
  return `: ${names.map((name) => name === titleOf(old.content) ? `now ${shown(value.content[name])}`
    : `${name} ${shown(old.content[name])} → ${shown(value.content[name])}`).join(', ')}`;
}

/** Elements of a list, one for each row or section that changed, with the ids that it names. */
export function sentences(changes, before, after) {
  const index = ({ sections }) => ({
    sections: new Map(sections.map((section) => [String(section.id), section])),
    items: new Map(sections.flatMap(({ items }) => items).map((item) => [String(item.id), item])) });
  const [old, now] = [before, after].map((state) => index(state ?? { sections: [] }));
  const parts = [];
  const put = (op, kind, value, anchor, home) => {
    const id = String(value?.id ?? value);
    const find = (list, at) => list[kind].get(String(at));
    const [was, is] = [find(old, id), find(now, id)];
    const name = (it, at) => `“${it ? words(it)[0] : at}”`;
    const more = op === 'update' ? difference(was, is) : op === 'remove' || anchor === undefined ? ''
      : anchor !== null ? `, before ${name(find(now, anchor) ?? find(old, anchor), anchor)}`
      : home === undefined || now.sections.size < 2 ? ', to the end'
      : `, to the end of ${name(now.sections.get(String(home)), home)}`;
    const text = `${kind === 'sections' ? ' the section' : ''} ${name(was ?? is, id)}${more}`;
    const element = make('li', 'op', make('span', op, verbs[op]), text);
    element.names = { ids: kind === 'items' ? [id] : [], sections: kind === 'sections' ? [id] : [] };
    parts.push(element);
  };
  for (const { op, section, item, items, in: home, before: anchor } of changes) {
    if (section !== undefined) put(op, 'sections', section, anchor);
    else for (const value of items ?? [item]) put(op, 'items', value, op === 'update' ? undefined : anchor, home);
    if (parts.length > most) break;
  }
  const all = changes.reduce((sum, { items }) => sum + (items?.length ?? 1), 0);
  return all > most ? [...parts.slice(0, most), make('li', 'quiet', `and ${plural(all - most, 'other')}`)] : parts;
}
