// Where a list stands in somebody's JSON. The server guesses; a guess is shown, and can be corrected.

import { ask } from './server.js';

export const parameters = ['itemsAt', 'idAt', 'kindAt', 'childrenAt', 'expandedAt', 'sectionsAt', 'sectionIdAt', 'map',
  'rest', 'duplicates'];

/** The likeliest shape of a document, as the texts of parameters; `null` where none is needed, or none is found. */
export async function guess(text) {
  const { json } = await ask('POST', '/v1/shape', text);
  const members = Object.entries(json?.shapes[0]?.shape ?? {});
  return members.length ? Object.fromEntries(members.map(([name, value]) => [name, [value].flat().join(' ')])) : null;
}

/** A shape as the end of a query; several ids and members stand in one field, with spaces between. */
export function query(shape) {
  if (!shape) return '';
  const isMap = shape.map === 'true';
  return parameters.flatMap((name) => {
    const text = (shape[name] ?? '').trim();
    if (name === 'itemsAt' && isMap && !text) return ['itemsAt='];
    if (!text || name === 'idAt' && isMap) return [];
    return (name === 'idAt' ? text.split(/\s+/) : [text])
      .map((part) => `${name}=${encodeURIComponent(part).replaceAll('%2F', '/')}`);
  }).map((part) => `&${part}`).join('');
}
