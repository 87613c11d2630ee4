// The template that is made from rows: what each part shows, and that nothing in a document becomes markup.

import assert from 'node:assert/strict';
import { test } from 'node:test';

process.env.TZ = 'UTC';
const { fileOf, headerOf, polish, rowOf, sourceOf } = await import('../../Sources/DiffServer/Page/playground/template.js');

const rows = (contents) => contents.map((content, at) => ({ id: `r${at}`, content }));

/** A row's parts as a reader sees them: holes without braces, spans with dots between. */
function parts(contents) {
  const html = rowOf(rows(contents));
  const plain = (text) => text?.replace(/<\/span><span>/g, ' · ').replace(/<\/?(span|data|time|var)>/g, '').replace(/\{\{(.*?)\}\}/g, '$1');
  const find = (pattern) => plain(html.match(pattern)?.[1]);
  const [first, second] = [...html.matchAll(/<p>(.*?)<\/p>/g)].map(([, line]) => plain(line));
  return { title: find(/<b>(?:<a.*?>)?(.*?)(?:<\/a>)?<\/b>/), first, second, picture: find(/src="(.*?)"/), link: find(/href="(.*?)"/),
    flags: [...html.matchAll(/data-is="\{\{(.*?)\}\}">(.*?)</g)].map(([, path, label]) => `${path}: ${label}`).join(),
    number: find(/class="number"><data>(.*?)<\/data>/), label: find(/<small>(.*?)<\/small>/) };
}

const issues = ['Crash in a closure', 'Docs of Array', 'Slow build', 'Add a test'].map((title, at) => ({
  id: 900_000_001 + at, node_id: `I_kwDOABxxxxxxxxxxx${at}`, url: `https://api.github.com/repos/a/b/issues/${at}`, number: 80_000 + at, title,
  html_url: `https://github.com/a/b/issues/${at}`, user: { login: ['ada', 'bob', 'eve', 'ada'][at], id: at, type: 'User', site_admin: false,
    avatar_url: `https://avatars.githubusercontent.com/u/${at}?v=4` },
  labels: at % 2 ? [{ id: 1, name: 'bug', color: 'd73a4a' }] : [], state: 'open', locked: false, assignee: null, comments: at * 7 % 5,
  created_at: `2026-11-2${at}T10:00:00Z`, draft: at === 2, body: '### Description\n'.repeat(20), reactions: { total_count: at, '+1': at } }));
const weather = [['Bern', 3.4, 81, 'rain'], ['Rome', 12.1, 60, 'sun'], ['Bern', -4, 90, 'snow']].map(([city, temp, humidity, condition]) => (
  { city, temp, humidity, wind: { speed: temp + 5, dir: 'NW' }, condition, icon: `https://cdn.example.com/${condition}.png` }));
const departures = [['U2', 'Pankow', 3, false], ['U2', 'Ruhleben', 7, true], ['S7', 'Potsdam', 9, false]].map(([line, destination, minutes, isCancelled], at) => (
  { trip: `trip-1${at}`, line, destination, minutes, platform: String(at + 1), isCancelled, departure: `2026-11-28T17:0${at}:00+01:00` }));

test('rows are laid out as a person would', () => {
  const wanted = [
    [issues, { title: 'title', link: 'html_url', picture: 'user.avatar_url', first: '#number · user.login', second: 'created_at · labels.0.name',
      flags: 'draft: draft', number: 'comments', label: 'comments' }],
    [weather, { title: 'city', picture: 'icon', first: 'condition', second: 'humidity humidity · wind speed wind.speed', number: 'temp', label: 'temp' }],
    [departures, { title: 'destination', first: 'line', second: 'departure · platform platform', flags: 'isCancelled: cancelled',
      number: 'minutes', label: 'minutes' }],
    // Nested, with a unit beside the number, and an array of texts.
    [[105, 106, 107].map((orderNo) => ({ orderNo, customer: { name: `Ann ${orderNo}` }, total: orderNo / 4, currency: 'EUR', tags: ['gift', 'new'] })),
      { title: 'customer.name', first: 'order no orderNo', second: 'tags.0 · tags.1', number: 'total', label: 'currency' }],
    // News: a long text is a line of its own.
    [[1, 2].map((n) => ({ headline: `News ${n}`, description: `${n} things happened, in many words. `.repeat(3), author: `Ann ${n}`, link: `https://example.org/${n}` })),
      { title: 'headline', link: 'link', first: 'description', second: 'author' }],
    // GeoJSON.
    [[4.5, 2.5].map((mag, at) => ({ type: 'Feature', properties: { mag, place: `${at} km N of X`, time: 1_764_350_000_000 + at }, geometry: { coordinates: [1, 2] } })),
      { title: 'properties.place', first: 'properties.time', number: 'properties.mag', label: 'mag' }],
  ];
  for (const [contents, part] of wanted) {
    const found = parts(contents);
    assert.deepEqual(found, { first: undefined, second: undefined, picture: undefined, link: undefined, flags: '', number: undefined, label: undefined, ...part });
  }
});

test('where there is no obvious title', () => {
  for (const [contents, title] of [
    [[{ a: 1, b: 2 }, { a: 3, b: 4 }], 'id'], [[undefined, undefined], '.'], [['one', 'two'], '.'], [[3, 4], '.'], [[{}], 'id'],
    [[{ time: '2026-11-28T15:00', t: 1 }, { time: '2026-11-28T16:00', t: 2 }], 'time'], [[['Ada', 1], ['Bob', 2]], '0'],
    [[{ sku: 'A-1130', n: 1 }, { sku: 'A-1131', n: 2 }], 'sku'], [[{ title: 'same', by: 'Ann' }, { title: 'same', by: 'Bob' }, { title: 'same', by: 'Eve' }], 'by'],
  ]) assert.equal(parts(contents).title, title, JSON.stringify(contents));
});

test('what tells nothing is left out', () => {
  const html = rowOf(rows(issues));
  for (const name of ['node_id', 'state', 'locked', 'assignee', 'site_admin', 'user.type', 'body', 'url}}"', 'color']) {
    assert.ok(!html.includes(`{{${name}`), name);
  }
});

test('rows of several kinds have a title each', () => {
  const html = rowOf(rows([{ destination: 'Pankow', minutes: 3 }, { destination: 'Potsdam', minutes: 4 }, { city: 'Bern', temp: 3 }, { destination: 'Wannsee', minutes: 5 },
    { destination: 'Buch', minutes: 9 }, { destination: 'Tegel', minutes: 11 }]));
  assert.match(html, /<b>\{\{destination\}\}\{\{city\}\}<\/b>/);
});

test('a number that is the id is not shown as an amount', () => {
  const html = rowOf([1, 2, 3].map((k) => ({ id: k, content: { k, x: k * 2.5 } })));
  assert.match(html, /"number"><data>\{\{x\}\}/);
  assert.doesNotMatch(html, /<data>\{\{k\}\}/);
});

test('sections have headers where they are more than one list', () => {
  for (const [sections, wanted] of [
    [[{ id: 'main' }], ''], [[], ''], [[{ id: 'a' }, { id: 'b' }], '<h2>{{.}}</h2>'], [[{ id: 'a', content: 'New' }], '<h2>{{.}}</h2>'],
    [[{ id: 'a', content: { station: 'Bern', code: 7 } }, { id: 'b', content: { station: 'Rome', code: 8 } }], '<h2>{{station}}</h2>'],
    [[{ id: 'a', content: { day: '2026-11-28' } }, { id: 'b', content: { day: '2026-11-29' } }], '<h2><time>{{day}}</time></h2>'],
    [[{ id: 'a', content: {} }], '<h2>{{id}}</h2>']]) assert.equal(headerOf(sections), wanted, JSON.stringify(sections));
});

test('names out of a document are no markup, and those that a template cannot name are left out', () => {
  const odd = { '<img src=x onerror=alert(1)>': 'a', '"q"': 'b', 'a.b': 'c', '{x}': 'd', ' y': 'e', '': 'f', '</template><script>': 3 };
  const html = rowOf(rows([odd, { ...odd, '"q"': 'B', '</template><script>': 4 }]));
  assert.doesNotMatch(html, /<img|<script|<\/template|a\.b|\{x\}|\{\{ y|\{\{\}\}/);
  const title = '</title><script>alert(1)</script>';
  const file = fileOf(sourceOf({ server: 'http://127.0.0.1:8080', session: 'a:b', title, row: html, header: '', isLong: true, hasKey: true }), title, 'x.html', 'http://127.0.0.1:8080');
  assert.doesNotMatch(file, /alert\(1\)<\/script>/);
  assert.match(file, /src="http:\/\/127\.0\.0\.1:8080\/v1\/sessions\/a%3Ab" aria-label="[^"<]+" limit="100"/);
  assert.match(file, /token = prompt/);
});

test('each name of a template is one that rows have, whatever the document', () => {
  let seed = 7;
  const random = (below) => { seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31; return seed % below; };
  const names = ['title', 'name', 'id', 'url', 'image', 'createdAt', 'price', 'tags', 'a b', 'x-y', 'isOpen', 'user', 'n.m', '{', 'é', '0'];
  const values = [() => null, () => random(2) === 0, () => random(1e6), () => 'text', () => `t ${random(99)}`, () => `https://x.org/${random(9)}.png`,
    () => `2026-11-${10 + random(9)}`, () => '', () => 1e21, () => ['a', 'b'].slice(random(3)), () => [{ name: 'x' }], () => 'x'.repeat(999)];
  const make = (depth) => Object.fromEntries(names.filter(() => random(3)).map((name) => [name, depth && !random(4) ? make(depth - 1) : values[random(values.length)]()]));
  for (let round = 0; round < 60; round += 1) {
    const contents = Array.from({ length: 1 + random(5) }, () => random(9) ? make(2) : values[random(values.length)]());
    for (const [, path] of rowOf(rows(contents)).matchAll(/\{\{(.*?)\}\}/g)) {
      if (path === '.' || path === 'id') continue;
      const found = contents.some((content) => path.split('.').reduce((value, name) => (
        value != null && Object.hasOwn(Object(value), name) ? value[name] : undefined), content) !== undefined);
      assert.ok(found, `${path} in ${JSON.stringify(contents)}`);
    }
  }
});

test('dates and numbers are written as the reader does, once', () => {
  const now = new Date();
  const texts = [['time', '2026-11-03T10:00:00Z', /^Nov 3, 2026, 10:00\sAM$/], ['time', '2026-11-03', /^Nov 3, 2026$/], ['time', '1700000000', /^Nov 14, 2023, 10:13\sPM$/],
    ['time', '1700000000000', /^Nov 14, 2023, 10:13\sPM$/], ['time', now.toISOString(), /^\d+:\d\d\s[AP]M$/], ['time', 'soon', /^soon$/], ['time', '', /^$/],
    ['data', '12345.5', /^12,345\.5$/], ['data', '-4', /^-4$/], ['data', 'many', /^many$/], ['data', '', /^$/]];
  const elements = texts.map(([localName, data]) => ({ localName, firstChild: { data } }));
  let change;
  polish({ querySelectorAll: () => elements, addEventListener: (_, call) => { change = call; } });
  change();
  texts.forEach(([, data, wanted], at) => assert.match(elements[at].firstChild.data, wanted, data));
  elements[7].firstChild.data = '99999'; // the row changed
  change();
  assert.equal(elements[7].firstChild.data, '99,999');
});
