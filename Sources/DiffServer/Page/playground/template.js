// From rows to the template of <live-list> that a person would write for them: a title, two lines, a picture, a number
// at the right. What a member is for is guessed from its name and its values, over all rows at once: what is the same
// in each row says nothing, and neither do ids and addresses.

const names = {
  title: ['title', 'headline', 'subject', 'name', 'label', 'destination', 'city', 'place', 'player', 'question',
    'product', 'message', 'text', 'username', 'login', 'symbol', 'email'],
  summary: ['description', 'summary', 'subtitle', 'excerpt', 'abstract', 'tagline', 'snippet'],
  text: ['author', 'by', 'artist', 'login', 'customer', 'name', 'line', 'status', 'state', 'condition', 'category',
    'platform', 'track', 'type', 'kind', 'title'],
  number: ['price', 'total', 'amount', 'temperature', 'temp', 'minutes', 'score', 'points', 'magnitude', 'votes',
    'stars', 'likes', 'comments', 'plays', 'count', 'value', 'quantity', 'rank'],
  date: ['date', 'time', 'departure', 'start', 'published', 'created', 'at', 'updated', 'timestamp', 'day'],
  picture: ['picture', 'image', 'photo', 'thumbnail', 'thumb', 'cover', 'poster', 'avatar', 'logo', 'icon', 'img'],
  link: ['html', 'link', 'permalink', 'web', 'website', 'href', 'url'],
};
const identities = new RegExp('^(id|ids|uuid|guid|sha|hash|token|etag|key|number|no|nr|index|version|year|'
  + 'lat|latitude|lon|lng|longitude|width|height)$');
const containers = /^(attributes|data|fields|main|node|properties|stats|values)$/; // their names say nothing
const image = /\.(avif|gif|jpe?g|png|svg|webp)$/i;
const isDate = (value) => /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(value);
const isMoment = (value) => value > 9e8 && value < 5e9 || value > 9e11 && value < 5e12; // in seconds or milliseconds
const isNumber = (value) => typeof value === 'number' || /^-?\d+\.\d+$|^-?(0|[1-9]\d{0,8})$/.test(value);
const isCode = (value) => /^\S{20,}$/.test(value) && /\d/.test(value);

const escaped = (text) => text.replace(/[&<>"]/g, (it) => `&#${it.charCodeAt(0)};`);
const hole = (path) => `{{${escaped(path)}}}`;
const wordsOf = (path) => path.replace(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase().split(/[^\p{L}\p{N}]+/u)
  .filter((word) => word && !/^\d+$/.test(word));
const last = (path) => path.replace(/(\.\d+)+$/, '').split('.').at(-1);

/** The scalars in rows' contents, by path, as a template names them; of an array, the first three. */
function fieldsOf(contents, ids) {
  const found = new Map();
  const walk = (value, path, depth, row) => {
    if (value === null || value === undefined) return;
    if (typeof value !== 'object') {
      if (!found.has(path)) found.set(path, { path, depth, values: [], rows: new Set() });
      found.get(path).values.push(value);
      found.get(path).rows.add(row);
    } else if (depth < 4) {
      for (const [name, it] of Object.entries(value).slice(0, Array.isArray(value) ? 3 : 200)) {
        if (/[.{}]|^\s|\s$|^$/.test(name)) continue; // a template could not name it
        walk(it, path ? `${path}.${name}` : name, depth + (containers.test(name) ? 0 : 1), row);
      }
    }
  };
  contents.forEach((content, row) => walk(content, '', 0, row));
  found.delete(''); // a content that is a text or a number itself
  return [...found.values()].map((field) => described(field, contents.length, ids));
}

/** What a field is, and how much it tells. */
function described({ path, depth, values, rows }, count, ids) {
  const every = (test) => values.every(test);
  const distinct = new Set(values).size;
  const isUnique = distinct === values.length;
  const words = wordsOf(last(path));
  const isIdentity = words.some((word) => identities.test(word)) || every((it) => isNumber(it) && ids.has(String(it)));
  const isTime = words.some((word) => names.date.includes(word));
  const kind = every((it) => typeof it === 'boolean') ? 'flag'
    : every(isDate) || isTime && every(isMoment) ? 'date'
    : every((it) => /^https?:\/\/\S+$/i.test(it)) ? kindOfAddress(values, wordsOf(path))
    : isIdentity || every(isCode) || isUnique && every((it) => /^(?=\S*\d)\S{4,}$/.test(it) && !isNumber(it)) ? 'code'
    : every(isNumber) ? 'number' : 'text';
  const length = values.reduce((sum, it) => sum + String(it).length, 0) / values.length;
  return { path, depth, words, kind, distinct, length, isListed: /\.\d/.test(path), isSame: count > 1 && distinct < 2,
    rows, share: values.length / count };
}

function kindOfAddress(values, words) {
  const isPicture = words.some((word) => names.picture.includes(word))
    || values.every((it) => image.test(it.replace(/[?#].*/, '')));
  if (isPicture) return 'picture';
  return values.some((it) => /^https?:\/\/([^/]*\.)?api\.|\/api\//i.test(it)) ? 'code' : 'link';
}

/** The fields of a kind, the best for a role first: by name, by how many rows have it, and by depth. */
function ranked(fields, kind, role, least = 0.3) {
  const score = ({ words, depth, share, distinct, length }) => {
    // In "created_at" and "full name" the last word says what it is, and the others what of.
    const named = words.map((word, at) => (names[role].includes(word)
      ? (60 - 2 * names[role].indexOf(word)) / (at === words.length - 1 ? 1 : 2) : 0));
    const readable = kind !== 'text' ? 0 : length > 120 ? -40 : length < 2 ? -10 : 10;
    return Math.max(0, ...named) + 40 * share + (distinct > 1 ? 10 : 0) + readable - 24 * (depth - 1);
  };
  return fields.filter((field) => field.kind === kind && field.share >= least)
    .map((field) => [score(field), field]).sort(([one], [other]) => other - one).map(([, field]) => field);
}

/** What each part of a row shows: a field, several, or none. */
function rolesOf(contents, ids = new Set()) {
  const fields = fieldsOf(contents, ids);
  const telling = fields.filter(({ isSame }) => !isSame);
  const single = fields.filter(({ isListed }) => !isListed);
  const [texts, dates] = [ranked(single, 'text', 'title'), ranked(telling, 'date', 'date')];
  const title = texts.find(({ isSame }) => !isSame) ?? texts[0] ?? dates[0] ?? ranked(single, 'code', 'title')[0];
  // Rows of several kinds have titles of several names.
  const second = title && ranked(single, 'text', 'title', 0)
    .find(({ rows }) => ![...rows].some((row) => title.rows.has(row)));
  const others = ranked(single, 'text', 'text')
    .filter((field) => ![title, second].includes(field) && !field.isSame && field.depth < 3);
  const isSummary = ({ words }) => words.some((word) => names.summary.includes(word));
  const [number, ...more] = ranked(telling, 'number', 'number').filter(({ isListed }) => !isListed);
  const isBeside = ({ path }) => path === number?.path.replace(/[^.]*$/, path.split('.').at(-1));
  return {
    title, second, number,
    unit: single.find((field) => /^(currency|units?)$/.test(field.words.join()) && isBeside(field)),
    code: single.find(({ kind, depth, words }) => (
      kind === 'code' && depth === 1 && /^(number|no|nr)$/.test(words.at(-1)))),
    picture: ranked(fields, 'picture', 'picture')[0],
    link: ranked(telling, 'link', 'link').find(({ depth }) => depth === 1),
    summary: others.find(isSummary),
    texts: others.filter((field) => !isSummary(field) && field.length <= 60).slice(0, 2),
    date: dates.find((field) => field !== title),
    facts: more.filter(({ words, depth }) => words.length === 1 || words.length && depth < 2).slice(0, 2),
    tags: fields.filter(({ isListed, kind, depth, words }) => isListed && kind === 'text'
      && (depth === 2 || words.some((word) => names.title.includes(word)))).slice(0, 3),
    flags: telling.filter(({ kind, depth }) => kind === 'flag' && depth === 1).slice(0, 2),
  };
}

const value = ({ kind, path }) => kind === 'date' ? `<time>${hole(path)}</time>` : hole(path);
const span = (field) => `<span>${value(field)}</span>`;

/** A field's name in words: "wind speed" of wind.speed. */
function labelOf({ path, words }) {
  const parents = path.split('.').slice(0, -1).filter((name) => !containers.test(name));
  return escaped([...words.length < 2 ? wordsOf(parents.at(-1) ?? '') : [],
    ...words.filter((word) => !['is', 'has'].includes(word))].join(' '));
}

function fact(field) {
  const label = labelOf(field);
  const start = field.words.length < 2 ? '#' : `${label} `;
  if (field.kind === 'code') return `<span>${start}<var>${hole(field.path)}</var></span>`;
  const amount = `<data>${hole(field.path)}</data>`;
  return `<span>${/[^s]s$/.test(label) ? `${amount} ${label}` : `${label} ${amount}`}</span>`;
}

/** The template of a row, as HTML. */
export function rowOf(items) {
  const contents = items.map(({ content }) => content).filter((it) => it !== null && typeof it === 'object');
  const roles = rolesOf(contents, new Set(items.map(({ id }) => String(id))));
  const { title, second, number, unit, code, picture, link, summary, texts, date, facts, tags, flags } = roles;
  const own = title ? value(title) + (second ? value(second) : '') : contents.length ? '{{id}}' : '{{.}}';
  const spans = (...groups) => groups.flat().filter(Boolean).map((field) => (
    field === code || facts.includes(field) ? fact(field) : span(field))).join('');
  const lines = summary ? [spans(summary), spans(code, texts, date, facts, tags)]
    : [spans(code, texts), spans(date, facts, tags)];
  return ['<div class="row">',
    ...picture ? [`  <img src="${hole(picture.path)}" alt="" loading="lazy">`] : [],
    '  <div class="words">',
    `    <b>${link ? `<a href="${hole(link.path)}">${own}</a>` : own}</b>`
      + flags.map((flag) => ` <i data-is="${hole(flag.path)}">${labelOf(flag)}</i>`).join(''),
    ...lines.filter(Boolean).map((line) => `    <p>${line}</p>`),
    '  </div>',
    ...number ? [`  <div class="number"><data>${hole(number.path)}</data>`
      + `<small>${unit ? hole(unit.path) : labelOf(number)}</small></div>`] : [],
    '</div>'].join('\n');
}

/** The template of sections' headers; nothing for a list without sections of its own. */
export function headerOf(sections) {
  const contents = sections.map(({ content }) => content).filter((it) => it !== undefined);
  if (sections.length < 2 && !contents.length) return '';
  const { title } = rolesOf(contents.filter((it) => it !== null && typeof it === 'object'));
  return `<h2>${title ? value(title) : contents.some((it) => typeof it === 'object') ? '{{id}}' : '{{.}}'}</h2>`;
}

export const style = `live-list { display: block; color-scheme: light dark; font: 16px/1.4 system-ui, sans-serif; }
live-list ul { position: relative; margin: 0; padding: 0; list-style: none; }
live-list h2 { margin: 0; padding: 20px 0 4px; font-size: 15px; background: Canvas; }
live-list .row { display: flex; align-items: center; gap: 12px; min-height: 44px; background: Canvas;
  padding: 9px 0 9px calc(var(--level, 0) * 20px);
  border-bottom: 1px solid color-mix(in srgb, CanvasText 14%, Canvas); }
live-list img { flex: none; width: 44px; height: 44px; border-radius: 8px; object-fit: cover; }
live-list img:not([src]) { visibility: hidden; }
live-list .words { flex: 1; min-width: 0; overflow-wrap: anywhere; }
live-list b { font-weight: 600; }
live-list a { color: inherit; text-decoration: none; }
live-list a:hover { text-decoration: underline; }
live-list p, live-list small { margin: 0; font-size: 14px; color: color-mix(in srgb, CanvasText 68%, Canvas); }
live-list var { font-style: normal; }
live-list p { overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
live-list :is(p, span):empty, live-list span:has(:empty), live-list i:not([data-is=true]) { display: none; }
live-list span:not(:empty, :has(:empty)) ~ span::before { content: " · "; }
live-list i { padding: 1px 7px; border-radius: 9px; font: 12px system-ui, sans-serif; white-space: nowrap;
  background: color-mix(in srgb, CanvasText 10%, Canvas); }
live-list .number { flex: none; max-width: 40%; text-align: right; font-size: 18px;
  font-variant-numeric: tabular-nums; }
live-list .number small { display: block; font-size: 12px; }
live-list .number:has(data:empty) { visibility: hidden; }`;

/** Writes dates and numbers as the reader does, in the elements time and data. It stands in the page as it is here. */
export function polish(list) {
  const date = (text) => {
    const number = Number(text);
    const at = new Date(isNaN(number) ? text : number * (number < 1e11 ? 1_000 : 1));
    if (isNaN(at)) return text;
    if (/^\d{4}-\d\d-\d\d$/.test(text)) return at.toLocaleDateString([], { dateStyle: 'medium', timeZone: 'UTC' });
    const isToday = at.toDateString() === new Date().toDateString();
    return at.toLocaleString([], { ...isToday ? {} : { dateStyle: 'medium' }, timeStyle: 'short' });
  };
  const write = () => {
    for (const { localName, firstChild: text } of list.querySelectorAll('time, data')) {
      if (!text?.data || text.data === text.shown) continue;
      if (localName === 'time') text.data = date(text.data);
      else if (!isNaN(text.data)) text.data = Number(text.data).toLocaleString();
      text.shown = text.data;
    }
  };
  list.addEventListener('change', write);
  write();
}

/** The tag and what it needs, as a page has it. */
export function sourceOf({ server, session, title, row, header, isLong, hasKey }) {
  const indented = (text, by) => text.replaceAll('\n', `\n${by}`);
  const script = (text) => `<script type="module">\n  ${text}\n</script>`;
  const isPolished = /<(time|data)>/.test(row + header);
  return [`<script type="module" src="${server}/live-list.js"></script>`,
    `<live-list src="${server}/v1/sessions/${encodeURIComponent(session)}" aria-label="${escaped(title)}"`
      + `${isLong ? ' limit="100"' : ''}>`,
    `  <template>\n    ${indented(row, '    ')}\n  </template>`,
    ...header ? [`  <template section>${header}</template>`] : [],
    '</live-list>',
    ...hasKey ? [script("document.querySelector('live-list').token = prompt('Key or token');")] : [],
    ...isPolished ? [script(`(${indented(String(polish), '  ')})(document.querySelector('live-list'));`)] : [],
    `<style>\n  ${indented(style, '  ')}\n</style>`, ''].join('\n');
}

/** A page that holds it alone, and says what it waits for. */
export const fileOf = (source, title, name, server) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<h1>${escaped(title)}</h1>
<p id="told" role="status">Waiting for ${server}. Is diffserver running there?</p>
${source}<script type="module">
  const told = document.getElementById('told');
  document.querySelector('live-list').addEventListener('status', ({ detail: { status, problem } }) => {
    told.textContent = status === 'live' ? '' : location.protocol !== 'file:' ? problem.detail ?? problem.title
      : 'A page opened from disk has no origin that diffserver could allow. In its folder run '
        + '"python3 -m http.server 8000 --bind 127.0.0.1", start diffserver with "--origin http://127.0.0.1:8000", '
        + 'and open http://127.0.0.1:8000/${name}';
  });
</script>
<style>
  body { max-width: 40rem; margin: 24px auto; padding: 0 16px; }
  h1 { font: 650 24px system-ui, sans-serif; }
  h1::first-letter { text-transform: uppercase; }
</style>
</html>
`;
