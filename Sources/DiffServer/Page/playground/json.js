// JSON as text: written in few lines, and places in it.

export const bytesOf = (text) => new TextEncoder().encode(text).length;

/**
 * Contents are kept as written, white space included; text that is not JSON is sent unchanged, so that the server says
 * where it is wrong.
 */
export function compact(text) {
  try { JSON.parse(text); } catch { return text; }
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}

/**
 * JSON in few lines: members are filled into lines, and long arrays take a line for each element. `start` is the column
 * of its first character.
 */
export function pretty(value, width = 84, indent = '', start = indent.length) {
  const line = shortest(value);
  const isNested = (part) => typeof part === 'object' && part !== null;
  const isList = Array.isArray(value) && value.length > 1
    && value.every((part) => isNested(part) && !Array.isArray(part));
  if (!isNested(value) || !isList && !line.includes('}, {') && start + line.length <= width) return line;
  if (Array.isArray(value)) {
    if (!value.length) return '[]';
    const parts = value.map((part) => `${indent}  ${pretty(part, width, `${indent}  `)}`);
    return `[\n${parts.join(',\n')}\n${indent}]`;
  }
  let [text, column] = ['{', start + 1];
  const members = Object.entries(value);
  if ('id' in value) members.sort(([, one], [, other]) => isNested(one) - isNested(other));
  for (const [name, part] of members) {
    const label = `${JSON.stringify(name)}: `;
    const inner = Array.isArray(part) ? indent : `${indent}  `;
    const member = label + pretty(part, width, inner, indent.length + 1 + label.length);
    if (text !== '{') text += column + member.split('\n')[0].length > width ? `,\n${indent} ` : ', ';
    text += member;
    column = text.length - text.lastIndexOf('\n') + (text.includes('\n') ? 0 : start);
  }
  return `${text}}`;
}

function shortest(value) {
  if (Array.isArray(value)) return `[${value.map(shortest).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${shortest(part)}`).join(', ')}}`;
}

/** The same value with the ends of long arrays left out, for display. */
export function cut(value, most = 200) {
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, cut(part, most)]));
  }
  const first = value.slice(0, most).map((part) => cut(part, most));
  return value.length > most ? [...first, `… and ${(value.length - most).toLocaleString('en')} more`] : first;
}

/** The place of each value of a JSON text: a map from pointers to `[start, end]`. */
export function places(text) {
  const found = new Map();
  const token = /"(?:[^"\\]|\\.)*"|[^\s,:[\]{}"]+|[[\]{},:]/g;
  const tokens = [...text.matchAll(token)];
  let at = 0;
  const escaped = (name) => String(name).replaceAll('~', '~0').replaceAll('/', '~1');
  function read(pointer) {
    const { 0: first, index } = tokens[at];
    at += 1;
    if (first === '{' || first === '[') {
      const end = first === '{' ? '}' : ']';
      for (let count = 0; tokens[at][0] !== end; count += 1) {
        let name = count;
        if (first === '{') {
          name = JSON.parse(tokens[at][0]);
          at += 2;
        }
        read(`${pointer}/${escaped(name)}`);
        if (tokens[at][0] === ',') at += 1;
      }
      at += 1;
    }
    const last = tokens[at - 1];
    found.set(pointer, [index, last.index + last[0].length]);
  }
  try { read(''); } catch { /* not JSON from here on: what was read is there */ }
  return found;
}

/** The index of the character at a byte offset in UTF-8. */
export function characterAt(text, offset) {
  let bytes = 0;
  let at = 0;
  for (const character of text) {
    bytes += bytesOf(character);
    if (bytes > offset) break;
    at += character.length;
  }
  return Math.min(at, text.length);
}

/** Line and column, from 1, of a character. */
export function lineOf(text, at) {
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: [...before.at(-1)].length + 1 };
}
