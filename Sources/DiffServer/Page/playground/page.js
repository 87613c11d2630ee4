// A list of one's own on a page: `page#NAME/TITLE`, as `diffserver watch` prints it. The template is made from the
// first rows; from there on the list is the tag, the same as the one that is copied or downloaded.

import { connect } from '../client.js';
import '../live-list.js';
import { $, tellStatus } from './dom.js';
import { fileOf, headerOf, polish, rowOf, sourceOf, style } from './template.js';

const server = new URL('..', import.meta.url).href.replace(/\/$/, '');
const waiting = $('wait');
const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets.push(sheet);

let [session, title] = ['', ''];
let secret; // never stored
let first; // the connection until there are rows
let shown = ''; // the templates of the tag

function open() {
  const [name, words] = location.hash.slice(1).split('/');
  try { [session, title] = [name, words || name].map(decodeURIComponent); } catch { session = title = name; }
  title = title.replace(/[-_]+/g, ' ') || 'List';
  $('title').textContent = title;
  document.title = `${title} · diffserver`;
  $('wire').href = `./#watch:${encodeURIComponent(session)}`;
  shown = '';
  $('take').hidden = true;
  wait();
}

/** Follows the list until there are rows, of which a template can be made. */
function wait() {
  first?.close();
  $('list').replaceChildren(waiting);
  const nameless = { title: 'Add the name of a list to the address: page#orders' };
  if (!session) return told({ status: 'stopped', problem: nameless });
  first = connect(`${server}/`, {
    session, token: secret,
    onChange: (state, answer) => show(state, answer),
    onStatus: told,
  });
}

function told(status) {
  tellStatus($('status'), status);
  waiting.hidden = status.status === 'stopped';
  if (status.status === 'live') $('ask').hidden = true;
  if (status.problem?.status !== 401 || !$('ask').hidden) return;
  $('refused').hidden = !secret;
  $('ask').hidden = false;
  $('secret').focus();
}

$('ask').onsubmit = (event) => {
  event.preventDefault();
  secret = $('secret').value.trim();
  $('secret').value = '';
  $('ask').hidden = true;
  shown = '';
  wait();
};

/** Makes the tag; again if a new list wants another template. */
function show({ sections }, { reset, window }) {
  const items = sections.flatMap((section) => section.items);
  const [row, header] = [rowOf(items.slice(0, 60)), headerOf(sections.slice(0, 60))];
  if (!items.length || !reset && shown || shown === row + header) return;
  shown = row + header;
  first.close();
  const isLong = items.length > 200 || window?.below > 0;
  const source = sourceOf({ server, session, title, row, header, isLong, hasKey: Boolean(secret) });
  const list = document.createElement('live-list');
  list.append(...[row, header].filter(Boolean).map((html, at) => {
    const template = document.createElement('template');
    template.innerHTML = html;
    template.toggleAttribute('section', at > 0);
    return template;
  }));
  for (const [name, text] of Object.entries({ src: `${server}/v1/sessions/${encodeURIComponent(session)}`,
    'aria-label': title, ...isLong && { limit: 100 } })) list.setAttribute(name, text);
  list.token = secret;
  list.addEventListener('status', ({ detail }) => told(detail));
  polish(list);
  list.addEventListener('change', ({ detail: { state, answer } }) => show(state, answer));
  $('list').replaceChildren(list);
  $('source').textContent = source;
  URL.revokeObjectURL($('save').href);
  const name = `${title.replace(/[^\p{L}\p{N}]+/gu, '-')}.html`;
  const file = new Blob([fileOf(source, title, name, server)], { type: 'text/html' });
  Object.assign($('save'), { download: name, href: URL.createObjectURL(file) });
  $('take').hidden = false;
}

$('copy').onclick = async () => {
  try { await navigator.clipboard.writeText($('source').textContent); } catch {
    getSelection().selectAllChildren($('source')); // without a secure context, as on a plain address of the network
    document.execCommand('copy');
  }
  $('copy').textContent = 'Copied';
  setTimeout(() => { $('copy').textContent = 'Copy the tag'; }, 1_500);
};

$('take').open = matchMedia('(min-width: 821px)').matches;
addEventListener('hashchange', open);
open();
