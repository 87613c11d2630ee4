// The server: requests with the visitor's key, their errors, and following a session.

import { connect } from '../client.js';
import { $, make, plural, tellStatus } from './dom.js';
import { bytesOf } from './json.js';

export const base = new URL('..', import.meta.url).href.replace(/\/$/, '');
export const pathOf = (session) => `/v1/sessions/${encodeURIComponent(session)}`;

let secret = ''; // never stored
const changed = new Set(); // called when the key changes
export const onKey = (call) => changed.add(call);

/** Sends a request; asks for a key where one is needed. */
export async function ask(method, path, text) {
  const headers = text === undefined ? {} : { 'Content-Type': 'application/json' };
  const used = secret;
  if (used) headers.Authorization = `Bearer ${used}`;
  let answer;
  try {
    answer = await fetch(base + path, { method, headers, body: text });
  } catch (error) {
    return { problem: { title: 'No connection', detail: error.message } };
  }
  if (answer.status === 401 && (used !== secret || await askSecret(used))) return ask(method, path, text);
  const body = await answer.text();
  let json = null;
  try { json = JSON.parse(body); } catch { /* told by the status */ }
  if (answer.ok) return { json, bytes: bytesOf(body) };
  return { problem: { status: answer.status, title: answer.statusText, ...json } };
}

let asking = null;

/** Asks for a key, saying so if one was refused. */
export function askSecret(refused = '') {
  asking ??= new Promise((resolve) => {
    const dialog = $('ask');
    $('key').hidden = false;
    dialog.returnValue = '';
    $('secret').value = '';
    $('refused').textContent = refused ? 'The server does not accept what you entered.' : '';
    $('refused').hidden = !refused;
    $('secret').ariaInvalid = refused ? 'true' : null;
    dialog.showModal();
    dialog.onclose = () => {
      asking = null;
      const entered = $('secret').value.trim();
      const isGiven = dialog.returnValue === 'use' && entered !== '';
      if (isGiven) secret = entered;
      $('secret').value = '';
      resolve(isGiven);
    };
  });
  return asking;
}
$('cancel').onclick = () => $('ask').close('');
$('key').onclick = async () => { if (await askSecret()) for (const call of changed) call(); };

/**
 * Shows a problem above the page, which stays as it is; `frame` is the text with the problem, with a line that points
 * to it.
 */
export function showProblem(problem, frame) {
  $('problem').replaceChildren();
  if (!problem) return;
  const heading = make('h3', '',
    `${problem.status ? `${problem.status} · ` : ''}${problem.title ?? 'Something went wrong'}`);
  const shut = Object.assign(make('button', 'plain shut', '×'),
    { type: 'button', ariaLabel: 'Close', onclick: () => showProblem() });
  const card = make('div', 'problem', heading, make('p', '', problem.detail ?? ''));
  if (frame) card.append(make('pre', '', frame));
  const errors = (problem.errors ?? []).slice(0, 50).map(({ pointer, code, detail }) => (
    make('li', '', make('code', '', pointer || '(the whole)'), make('code', 'remove', code ?? ''),
      make('span', 'quiet', detail ?? ''))));
  if (errors.length) card.append(make('ul', '', ...errors));
  if (/^\/problems\/[a-z-]+$/.test(problem.type)) {
    card.append(Object.assign(make('a', 'about', 'What this means'), { href: base + problem.type, target: '_blank' }));
  }
  card.append(shut);
  $('problem').append(card);
}

export const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** A request as one line; a long body goes into a file. */
export function curlLine(path, { headers = [], text, more = '' } = {}) {
  const parts = [`curl -s${more}`, ...headers.map((header) => `-H ${quoted(header)}`)];
  if (secret) parts.push('-H "Authorization: Bearer $TOKEN"');
  parts.push(quoted(base + path));
  if (text !== undefined) parts.push(text.length > 8_000 ? '-d @body.json' : `-d ${quoted(text)}`);
  return parts.join(' ');
}

// MARK: Counting

/** How many operations of each kind a changeset has. */
export function tally({ dialect, changes, reset }) {
  const counts = { inserted: 0, moved: 0, updated: 0, removed: 0 };
  const notes = [];
  if (reset) return { counts, notes: [`reset: ${reset}`] };
  const verbs = { insert: 'inserted', add: 'inserted', move: 'moved', update: 'updated', replace: 'updated',
    remove: 'removed' };
  const lists = { inserted: 'inserted', moved: 'moved', updated: 'updated', deleted: 'removed' };
  const addLists = (step) => {
    for (const part of [step.sections, step.items]) {
      for (const [list, verb] of Object.entries(lists)) counts[verb] += part?.[list]?.length ?? part?.[list] ?? 0;
    }
  };
  if (dialect === 'indexed' || dialect === 'counts') addLists(changes);
  else if (dialect === 'diffable') {
    const { reload, reconfigure, reloadSections, reconfigureSections } = changes;
    counts.updated = [reload, reconfigure, reloadSections, reconfigureSections].flat().length;
    notes.push('the rest is found by its ids');
  } else {
    if (dialect === 'staged') notes.push(plural(changes.length, 'stage'));
    for (const step of changes) {
      if (dialect === 'staged') addLists(step);
      else counts[verbs[step.op]] += (step.items ?? step.rows)?.length ?? step.count ?? 1;
    }
  }
  return { counts, notes };
}

const named = (counts) => Object.entries(counts).filter(([, count]) => count)
  .map(([verb, count]) => [verb, `${count.toLocaleString('en')} ${verb}`]);
const classes = { inserted: 'insert', moved: 'move', updated: 'update', removed: 'remove' };

export function chips({ counts, notes }) {
  const parts = [...named(counts).map(([verb, text]) => make('span', classes[verb], text)),
    ...notes.map((text) => make('span', text.startsWith('reset') ? 'reset' : 'quiet', text))];
  return parts.length ? parts : [make('span', 'quiet', 'nothing changed')];
}

export function say(answer, bytes) {
  const { counts, notes } = tally(answer);
  const words = [...named(counts).map(([, text]) => text), ...notes].join(', ') || 'Nothing changed';
  $('said').textContent = `${words}; ${plural(bytes, 'byte')}.`;
}

// MARK: Following

/** Follows a session for one view. */
export function follower(list, told) {
  let connection = null;
  let wasStopped = false; // and the reason is shown
  function start(session, resume = {}) {
    connection?.close();
    const token = secret || undefined;
    let hasAsked = false; // without a key it is tried again, for a list may become public
    connection = connect(`${base}/`, {
      session, token, ...told.sight?.(), ...resume,
      onChange(state, answer) {
        if (!told.isLookingBack?.()) list.show(state, answer.reset ? null : answer.changes);
        told.change?.(answer, state);
      },
      onPending: ({ count }) => { $('pending').textContent = count ? `${plural(count, 'edit')} not sent yet` : ''; },
      onStatus(status) {
        tellStatus($('status'), status);
        told.status?.(status);
        if (status.problem?.status === 401) {
          if (!hasAsked) askSecret(token).then((isGiven) => { if (isGiven) reconnect(); });
          hasAsked = true;
        } else if (status.status === 'stopped') showProblem(status.problem);
        else if (status.status === 'live' && wasStopped) showProblem();
        wasStopped = status.status === 'stopped';
      },
    });
    follow.session = session;
  }

  /** Shows an edit at once, and takes it back if the server refuses. */
  async function edit(plan) {
    const edits = plan();
    if (!edits?.length || !connection) return;
    showProblem();
    await connection.edit(edits).catch(({ problem }) => showProblem(problem));
  }

  const reconnect = () => start(follow.session, { since: connection?.revision, state: connection?.state });
  /** Shows other rows, starting from those shown. */
  const show = (window) => connection?.show(window);
  const follow = {
    session: null, start, reconnect, show, edit,
    get state() { return connection?.state; },
    get revision() { return connection?.revision; },
    /** Ends it, but remembers where it was. */
    stop: () => { connection?.close(); list.stop(); },
    forget() {
      follow.stop();
      connection = null;
      tellStatus($('status'), { status: 'stopped', problem: { title: 'nothing to follow yet' } });
      delete $('status').dataset.status;
    },
  };
  return follow;
}

for (const button of document.querySelectorAll('[data-copy]')) {
  button.onclick = async () => {
    const source = $(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source); // without a secure context, as on a plain address of the network
      document.execCommand('copy');
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  };
}
