// Where a list is in somebody's JSON. The server guesses; a guess is shown, and can be corrected.

import { plural } from './dom.js';
import { ask } from './server.js';

export const parameters = ['itemsAt', 'idAt', 'kindAt', 'childrenAt', 'expandedAt', 'sectionsAt', 'sectionIdAt', 'map',
  'rest', 'duplicates'];

/**
 * The likeliest shape of a document, as the texts of parameters, and what was guessed in words; `null` where none is
 * needed, or none is found.
 */
export async function guess(text) {
  const { json } = await ask('POST', '/v1/shape', text);
  const { shape = {}, rows, sections } = json?.shapes[0] ?? {};
  const members = Object.entries(shape).map(([name, value]) => [name, [value].flat().join(' ')]);
  if (!members.length) return null;
  const { itemsAt, idAt, childrenAt, sectionsAt, map } = Object.fromEntries(members);
  const place = sectionsAt === undefined ? `at ${itemsAt || 'the top'}`
    : `in ${plural(sections, 'section')} at ${sectionsAt || 'the top'}`;
  const words = `Guessed: ${plural(rows, 'row')} ${place}, told apart by ${idAt ?? (map ? 'their names' : '/id')}`
    + `${childrenAt ? `, with children at ${childrenAt}` : ''}.`;
  return { fields: Object.fromEntries(members), words };
}

/** A shape as the end of a query; several ids and members share one field, separated by spaces. */
export function query(shape) {
  if (!shape) return '';
  const isMap = shape.map === 'true';
  return parameters.flatMap((name) => {
    const text = (shape[name] ?? '').trim();
    if (!text) return isMap && (name === 'itemsAt' || name === 'sectionsAt' && shape.idAt) ? [`${name}=`] : [];
    return (name === 'idAt' ? text.split(/\s+/) : [text])
      .map((part) => `${name}=${encodeURIComponent(part).replaceAll('%2F', '/')}`);
  }).map((part) => `&${part}`).join('');
}
