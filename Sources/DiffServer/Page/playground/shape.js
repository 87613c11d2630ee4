// Where a list is in somebody's JSON: the server guesses, and the visitor corrects.

import { plural } from './dom.js';
import { ask } from './server.js';

export const parameters = ['itemsAt', 'idAt', 'idBy', 'kindAt', 'childrenAt', 'expandedAt', 'sectionsAt', 'sectionIdAt',
  'sectionExpandedAt', 'groupAt', 'idScope', 'map', 'rest', 'duplicates'];

const texts = (shape) => Object.fromEntries(Object.entries(shape)
  .map(([name, value]) => [name, [value].flat().join(' ')]));

/** The likeliest shape, as texts of parameters, and all of them in words; `null` if none is needed or found. */
export async function guess(text) {
  const { json } = await ask('POST', '/v1/shape', text);
  const [{ shape, rows, sections } = {}, ...others] = json?.shapes ?? [];
  const fields = texts(shape ?? {});
  const { itemsAt, idAt, idBy, childrenAt, sectionsAt } = fields;
  if (itemsAt === undefined) return null;
  const place = sectionsAt === undefined ? `at ${itemsAt || 'the top'}`
    : `in ${plural(sections, 'section')} at ${sectionsAt || 'the top'}`;
  const words = `Guessed: ${plural(rows, 'row')} ${place}, told apart by ${idAt ?? `their ${idBy ? 'content' : 'name'}s`}`
    + `${childrenAt ? `, with children at ${childrenAt}` : ''}.`
    + others.map((other) => ` Or ${query(texts(other.shape)).slice(1)}.`).join('');
  return { fields, words };
}

/** A shape as the end of a query; several ids and members share one field, separated by spaces. */
export function query(shape) {
  if (!shape) return '';
  const isMap = shape.map === 'true';
  return parameters.flatMap((name) => {
    const text = (shape[name] ?? '').trim();
    if (!text) {
      return isMap && name === 'itemsAt' || name === 'sectionsAt' && (shape.sectionIdAt || isMap && shape.idAt)
        ? [`${name}=`] : [];
    }
    return (name === 'idAt' ? text.split(/\s+/) : [text])
      .map((part) => `${name}=${encodeURIComponent(part).replaceAll('%2F', '/')}`);
  }).map((part) => `&${part}`).join('');
}
