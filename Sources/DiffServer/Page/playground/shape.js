// Guesses where a list stands in somebody's JSON: the parameters of the API that read it as it is. A guess is shown,
// and can be corrected; it is never more than a start.

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isID = (value) => typeof value === 'string' && value !== '' && value.length < 500 || Number.isSafeInteger(value);
const isList = (value) => Array.isArray(value) && value.length > 0 && value.every(isObject);
const pointer = (name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
const members = new Set(['id', 'content', 'kind', 'expanded', 'items']);

export const parameters = ['itemsAt', 'idAt', 'kindAt', 'childrenAt', 'expandedAt', 'sectionsAt', 'sectionIdAt', 'map',
  'rest', 'duplicates'];

/** Whether the server reads it without being told how. */
export function isNative(value) {
  const isItem = (item) => isID(item) || isObject(item) && isID(item.id)
    && Object.keys(item).every((name) => members.has(name))
    && (item.items === undefined || Array.isArray(item.items) && item.items.every(isItem));
  if (Array.isArray(value)) return value.every(isItem);
  if (!isObject(value)) return true; // an error, which the server is to tell
  if (Array.isArray(value.edits) || value.state !== undefined) return true;
  const isSection = (section) => isObject(section) && Array.isArray(section.items) && section.items.every(isItem);
  return Array.isArray(value.sections) ? value.sections.every(isSection) : isSection(value);
}

/** How good a name is for an id. */
function rank(name) {
  if (/^_?id$/i.test(name)) return 4;
  if (/^(uuid|guid|key|slug|sku|isbn)$/i.test(name)) return 3;
  if (/(id|Id|ID|_key|uuid)$/.test(name)) return 2;
  return /^(url|href|code|name|title)$/i.test(name) ? 1 : 0;
}

/** The name of what tells elements apart, if there is one. */
function idOf(list) {
  const names = Object.keys(list[0]).filter((name) => list.every((element) => isID(element[name])));
  if (isPaired(list)) return null;
  const unique = names.filter((name) => new Set(list.map((element) => String(element[name]))).size === list.length);
  return unique.sort((one, other) => rank(other) - rank(one))[0] ?? null;
}

/** Whether it takes a type and an id together to tell elements apart, as in JSON:API. */
function isPaired(list) {
  const different = (valueOf) => new Set(list.map(valueOf)).size;
  return list.every(({ type, id }) => isID(type) && isID(id))
    && different(({ id }) => String(id)) < list.length && different(({ type, id }) => `${type}/${id}`) === list.length;
}

/** A member in which each element may have elements like itself. */
function childrenOf(list, id) {
  const shares = (keys, element) => keys.filter((each) => each in element).length * 2 >= keys.length;
  const alike = (element, name) => isList(element[name]) && element[name].every((child) => isID(child[id]))
    && shares(Object.keys(element[name][0]), element);
  const names = new Set(list.flatMap((element) => Object.keys(element).filter((name) => alike(element, name))));
  const isThroughout = (name) => list.every((element) => element[name] === undefined || Array.isArray(element[name]));
  return [...names].find(isThroughout) ?? null;
}

function kindOf(list, id) {
  const isKind = (name) => name !== id && list.every((element) => typeof element[name] === 'string');
  return ['kind', 'type', '__typename', '$type'].find((name) => isKind(name)) ?? null;
}

/** A shape for a document, as parameters, or `null` where none is needed or found. */
export function guess(value) {
  if (isNative(value)) return null;
  const found = [];
  const walk = (part, at, depth) => {
    if (isList(part)) found.push({ list: part, at });
    else if (isObject(part) && depth < 5) {
      for (const [name, child] of Object.entries(part)) walk(child, at + pointer(name), depth + 1);
    }
  };
  walk(value, '', 0);
  found.sort((one, other) => other.list.length - one.list.length);
  const [best] = found;
  if (!best) return mapped(value);
  const shape = read(best.list);
  if (!shape.inner) return { itemsAt: best.at, ...shape.parameters };
  return { sectionsAt: best.at, ...shape.parameters };
}

/** What an array of objects is: items, or sections of items. */
function read(list) {
  const id = idOf(list);
  const isInner = (value) => Array.isArray(value) && (!value.length || isList(value));
  const inner = Object.keys(list[0]).find((name) => list.every((element) => isInner(element[name])));
  const all = inner ? list.flatMap((element) => element[inner]) : [];
  const children = id && childrenOf(list, id);
  if (inner && !children && all.length) {
    const innerID = idOf(all);
    return { inner, parameters: { sectionIdAt: pointer(id ?? 'id'), itemsAt: pointer(inner),
      ...itemsOf(all, innerID) } };
  }
  return { parameters: itemsOf(list, id) };
}

function itemsOf(list, id) {
  const isPair = isPaired(list);
  const name = id ?? Object.keys(list[0]).filter((each) => list.every((element) => isID(element[each])))
    .sort((a, b) => rank(b) - rank(a))[0] ?? 'id';
  const children = id && childrenOf(list, id);
  const kind = kindOf(list, name);
  return {
    idAt: isPair ? '/type /id' : pointer(name),
    ...kind && !isPair && { kindAt: pointer(kind) },
    ...children && { childrenAt: pointer(children) },
    ...!id && !isPair && { duplicates: 'first' },
  };
}

/** An object whose members are the elements. */
function mapped(value, at = '') {
  if (!isObject(value)) return null;
  const parts = Object.values(value);
  if (parts.length > 1 && parts.every(isObject)) return { itemsAt: at, map: 'true' };
  for (const [name, part] of Object.entries(value)) {
    const inner = mapped(part, at + pointer(name));
    if (inner) return inner;
  }
  return null;
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
