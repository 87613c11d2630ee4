// Two views of one idea. In the playground a writer sends states or edits; in both a thin client follows the session
// and shows what changed, and nothing else moves the list.

import { $, make, size } from './dom.js';
import { bytesOf, characterAt, compact, cut, lineOf, places, pretty } from './json.js';
import { packed, unpacked } from './link.js';
import { makeList } from './list.js';
import { live } from './live.js';
import { flat, marks } from './marks.js';
import { samples } from './samples.js';
import { ask, base, chips, curlLine, follower, onKey, pathOf, say, showProblem, tally } from './server.js';
import { sentences } from './sentences.js';
import { guess, parameters, query } from './shape.js';
import { languages } from './snippets.js';
import { starting } from './start.js';
import { alone, batch, verdict } from './uikit.js';

const editor = $('editor');
const long = 200_000; // longest state or changeset, in characters, that is shown whole

// MARK: What is typed

// Nothing that was typed is lost: what something else takes the place of becomes a draft, which a button and Ctrl-Z
// give back, also after the page was loaded again.
const text = (() => {
  let written = ''; // what the page itself put into the editor
  let given = null; // what was put there last
  let isSent = true;
  const drafts = (() => { try { return JSON.parse(sessionStorage.drafts ?? '[]'); } catch { return []; } })();
  $('draft').onclick = () => restore();

  const isTyped = () => editor.value !== written && editor.value.trim() !== '';

  /** The current text first, since the page may close at any time. */
  function store() {
    const all = [...new Set([...drafts, ...isTyped() ? [editor.value] : []])].slice(-10);
    try { sessionStorage.drafts = JSON.stringify(all); } catch { /* no storage here: drafts last as long as the page */ }
    $('draft').hidden = drafts.length === 0;
    $('draft').textContent = drafts.length > 1 ? `Draft (${drafts.length})` : 'Draft';
    $('whole').hidden = isSent;
    $('send').classList.toggle('first', !isSent);
  }

  function keep() {
    if (isTyped() && drafts.at(-1) !== editor.value) drafts.push(editor.value);
  }

  /** Puts the page's own text there. */
  function write(next) {
    keep();
    editor.value = written = next;
    isSent = true;
    editor.placeholder = next ? '' : editor.placeholder;
    store();
    changed();
  }

  function restore() {
    const draft = drafts.pop();
    if (draft === undefined) return;
    if (isTyped()) drafts.unshift(editor.value);
    editor.value = draft;
    typed();
    editor.focus();
  }

  /** Puts a text there as if it was typed; what came so before is no draft. */
  function put(next) {
    if (editor.value !== given) keep();
    editor.value = given = next;
    typed();
  }

  function typed() {
    isSent = false;
    store();
    changed();
  }

  let changed = () => {};
  editor.addEventListener('input', typed);
  editor.addEventListener('keydown', (event) => {
    if (event.key !== 'z' || !event.ctrlKey && !event.metaKey || event.shiftKey || editor.value !== written
      || !drafts.length) return;
    event.preventDefault();
    restore();
  });
  return {
    write, put, store,
    get isSent() { return isSent; },
    get isTyped() { return isTyped(); },
    sent() { isSent = true; store(); },
    onChange(call) { changed = call; },
  };
})();

/** Defers the cost of a long list until it is needed. */
function once(make) {
  let made;
  return () => (made ??= make());
}

/** How many characters fit into a line of an element, less those that close brackets. */
function columns(place) {
  const line = document.createElement('canvas').getContext('2d');
  line.font = getComputedStyle(place).font;
  return Math.max(32, Math.floor((place.clientWidth - 32) / line.measureText('0').width) - 4);
}

// MARK: Where it is wrong

const fault = {
  at: null,
  /** Marks a stretch of the editor's text, selects it, and scrolls to it. */
  show(start, end) {
    const { line, column } = lineOf(editor.value, start);
    fault.at = line;
    editor.ariaInvalid = 'true';
    editor.focus({ preventScroll: true });
    editor.setSelectionRange(start, Math.max(end, start + 1));
    const height = parseFloat(getComputedStyle(editor).lineHeight);
    if (Math.abs(line * height - editor.scrollTop - editor.clientHeight / 2) > editor.clientHeight / 2 - 2 * height) {
      editor.scrollTop = line * height - editor.clientHeight / 2;
    }
    fault.place();
    return { line, column };
  },
  place() {
    const height = parseFloat(getComputedStyle(editor).lineHeight);
    $('fault').hidden = fault.at === null;
    if (fault.at !== null) $('fault').style.top = `${12 + (fault.at - 1) * height - editor.scrollTop}px`;
  },
  clear() {
    fault.at = null;
    editor.ariaInvalid = null;
    fault.place();
  },
};
editor.addEventListener('scroll', fault.place);

/** Shows a problem with the editor's text at its place there. */
function showFault(problem, sent) {
  const whole = editor.value;
  const pointer = problem.errors?.[0]?.pointer;
  let place = null;
  if (problem.offset !== undefined && sent === whole) {
    const at = characterAt(whole, problem.offset);
    place = [at, at + 1];
  } else if (pointer !== undefined) {
    const all = places(whole);
    place = all.get(pointer) ?? all.get(pointer.replace(/\/[^/]*$/, ''));
  }
  if (!place) return showProblem(problem);
  const { line, column } = fault.show(...place);
  const shown = whole.split('\n')[line - 1];
  const from = Math.max(0, column - 40);
  const frame = `${shown.slice(from, from + 76)}\n${' '.repeat(column - 1 - from)}^`;
  const detail = (problem.detail ?? '').replace(/ at line \d+, column \d+ \(byte \d+\)/, '');
  showProblem({ ...problem, detail: `Line ${line}, column ${column}: ${detail}` }, frame);
}

// MARK: The shape of foreign JSON

const shape = (() => {
  let isOwn = false; // corrected by hand
  const fields = new Map();
  const labels = { itemsAt: 'the list', idAt: 'up to four pointers, with spaces between', idBy: 'without ids',
    map: 'an object of elements', rest: 'what else to keep',
    duplicates: 'the same id twice' };
  const options = { map: ['', 'true'], duplicates: ['', 'first'], idBy: ['', 'match'], idScope: ['', 'section'] };
  for (const name of parameters) {
    const choices = options[name]?.map((value) => new Option(value || '–', value));
    const field = choices ? make('select', 'field', ...choices) : make('input', 'field');
    Object.assign(field, { name, title: labels[name] ?? name, autocapitalize: 'off', autocomplete: 'off', spellcheck: false });
    field.addEventListener('input', () => {
      isOwn = true;
      $('guessed').textContent = 'Corrected by hand.';
      corrected();
    });
    fields.set(name, field);
    $('shape').querySelector('details > div').append(make('label', '', name, field));
  }

  function show(found) {
    $('shape').hidden = !found;
    if (!found) isOwn = false;
    if (!found || isOwn) return;
    $('guessed').textContent = found.words;
    for (const [name, field] of fields) field.value = found.fields[name] ?? '';
  }

  let corrected = () => {};
  let asked = ''; // the text that the server was asked about
  let answer = Promise.resolve();
  let timer = null;

  function look() {
    clearTimeout(timer);
    timer = null;
    const typed = editor.value;
    let document;
    try { document = JSON.parse(typed); } catch { return; } // in the middle of typing
    asked = typed;
    const isRequest = document?.state !== undefined || Array.isArray(document?.edits);
    answer = (isRequest ? Promise.resolve(null) : guess(typed))
      .then((found) => { if (asked === typed) show(found); });
  }

  return {
    /** Asks for the shape of typed text after a short pause; text from the page itself has none. */
    changed() {
      clearTimeout(timer);
      [timer, asked] = [null, ''];
      if (text.isTyped) timer = setTimeout(look, 200);
      else show(null);
    },
    /** Waits until the shape of the typed text is shown. */
    settled() {
      if (timer) look();
      return answer;
    },
    onCorrection(call) { corrected = call; },
    query: () => $('shape').hidden ? ''
      : query(Object.fromEntries([...fields].map(([name, field]) => [name, field.value]))),
  };
})();

// MARK: Playground

const playground = (() => {
  const dialects = ['keyed', 'indexed', 'staged', 'diffable', 'sequential', 'counts', 'json-patch'];
  let dialect = 'keyed';
  let doc = null; // the head: { revision, state, bytes }
  const past = []; // the revisions seen, as `doc`; the last is the head
  let lookedAt = null; // the index of the revision looked at, if it is not the head
  let step = null; // the change shown: { from, to, old, new, posted }
  let lines = {}; // what "Copy as" copies, by name
  let language = 'curl';
  let turns = 0;
  const path = () => pathOf(follow.session);

  const list = makeList($('play'), (plan) => { look(past.length - 1); return follow.edit(plan); }, lightOperations);
  const follow = follower(list, {
    isLookingBack: () => lookedAt !== null,
    change(answer) {
      if (answer.to !== doc?.revision && !isSending) refresh(answer.from);
    },
    status(status) { if (status.problem?.status === 404) remake(); },
  });

  /** Makes a missing session again: with its last state, or a sample. */
  async function remake() {
    if (doc) {
      const { problem } = await ask('PUT', path(), JSON.stringify({ state: doc.state }));
      showProblem(problem);
    } else {
      showProblem();
      await plant({ sample: 'Feed' });
    }
  }

  // MARK: Writing

  let isSending = false;
  async function send(body, more = '') {
    isSending = true;
    const where = `${path()}/changes?since=${doc?.revision ?? ''}${more}`;
    const { json, problem } = await ask('POST', where, body);
    if (!problem) {
      showProblem();
      fault.clear();
      await refresh(json.from, more && { path: where, text: body });
    }
    isSending = false;
    const sequence = (revision) => Number.parseInt(revision, 10);
    if (sequence(follow.revision) > sequence(doc?.revision)) refresh(doc.revision); // somebody else wrote meanwhile
    return { json, problem };
  }

  // The visitor's own document is sent again, so that its rows move, once nothing was typed for a moment.
  let isOwn = false;
  let pause = null;
  function sendSoon() {
    clearTimeout(pause);
    pause = isOwn && setTimeout(() => {
      try { JSON.parse(editor.value); } catch { return; } // in the middle of typing
      sendTyped(() => {});
    }, 600);
  }
  shape.onCorrection(sendSoon);

  let queue = Promise.resolve();
  function sendTyped(fail = showFault) {
    clearTimeout(pause);
    look(past.length - 1);
    const { session } = follow;
    const whole = editor.value;
    if (!whole.trim() && text.isSent) return queue; // a state too long for the editor
    queue = queue.then(async () => {
      const body = compact(whole);
      await shape.settled();
      if (session !== follow.session) return;
      const { problem } = await send(body, shape.query());
      if (session !== follow.session) return;
      if (problem) return fail(problem, body);
      if (editor.value === whole) text.sent(); // the next change may replace it now, and keeps it as a draft
      if (!follow.state) follow.start(session);
    });
    return queue;
  }

  let isUnread = false; // a problem that is shown until there is something to read
  let reads = 0;
  async function refresh(from, posted) {
    const read = reads += 1;
    const { session } = follow;
    const { json, bytes } = await ask('GET', path());
    if (!json || read !== reads || session !== follow.session) return;
    const wrapper = bytesOf(JSON.stringify({ ...json, state: 0 })) - 1;
    const next = { revision: json.revision, state: json.state, bytes: bytes - wrapper };
    const old = past.find(({ revision }) => revision === from)?.state ?? null;
    if (past.at(-1)?.revision !== next.revision) past.push(next);
    while (past.length > 64 || past.length > 2 && past.reduce((sum, { bytes: each }) => sum + each, 0) > 30_000_000) {
      past.shift();
      if (lookedAt !== null) lookedAt = Math.max(0, lookedAt - 1);
    }
    if (isUnread) showProblem();
    isUnread = false;
    doc = next;
    if (lookedAt === null) step = { from, to: doc.revision, old, new: doc, posted };
    if (text.isSent) showState();
    showScrub();
    if (lookedAt === null) await showChanges();
  }

  /** The session's state in the editor, if it fits. */
  function showState() {
    const isLong = doc.bytes > long;
    const words = 'too long to be shown here. Write or paste another state, or press a sample.';
    editor.placeholder = isLong ? `${list.summary()}, ${size(doc.bytes)}: ${words}` : '';
    text.write(isLong ? '' : pretty(doc.state, columns(editor)));
    fault.clear();
  }

  // MARK: Looking back

  /** Shows a past revision; the session stays as it is. */
  function look(index) {
    const last = past.length - 1;
    const at = lookedAt ?? last;
    if (index === at || index < 0) return;
    lookedAt = index === last ? null : index;
    const [from, to] = [past[at], past[index]];
    list.show(lookedAt === null && follow.state ? follow.state : flat(to.state));
    step = { from: from.revision, to: to.revision, old: from.state, new: to, isBetween: true };
    showScrub();
    showChanges();
  }

  function showScrub() {
    const last = past.length - 1;
    const at = lookedAt ?? last;
    $('scrub').max = Math.max(0, last);
    $('scrub').value = Math.max(0, at);
    $('scrub').disabled = last < 1;
    const words = `Revision ${past[at]?.revision.split('-')[0] ?? '–'}`;
    $('scrub').setAttribute('aria-valuetext', `${words}, ${at + 1} of ${last + 1}`);
    $('scrubbed').textContent = words;
    $('now').disabled = lookedAt === null;
  }
  $('scrub').oninput = () => look(Number($('scrub').value));
  $('now').onclick = () => look(past.length - 1);

  // MARK: The changeset

  /**
   * A patch is made from the old content, which only the head has: there, and between past revisions, both states are
   * sent.
   */
  function request(wanted) {
    const more = wanted === 'staged' ? `&staging=${$('staging').value}` : '';
    const patch = $('patch').checked && step.old ? '&content=patch' : '';
    if (step.isBetween || patch) {
      return { method: 'POST', where: `/v1/diff?dialect=${wanted}${more}${patch}`, body: both(step) };
    }
    if (step.posted) return { method: 'POST', where: `${step.posted.path}&dialect=${wanted}${more}`,
      body: step.posted.text };
    return { method: 'GET', where: `${path()}/changes?since=${step.from ?? ''}&dialect=${wanted}${more}` };
  }

  const both = ({ old, new: next }) => JSON.stringify({ old, new: next.state });

  let wasFaulty = false; // and a problem of this is shown
  async function showChanges() {
    if (!step) return;
    const turn = turns += 1;
    const shown = step;
    const { method, where, body } = request(dialect);
    const other = (name) => shown.old ? ask('POST', `/v1/diff?dialect=${name}`, both(shown)) : null;
    const [{ json, bytes, problem }, indexed, keyed] = await Promise.all([
      ask(method, where, body), dialect === 'staged' ? other('indexed') : null,
      dialect === 'keyed' ? null : other('keyed'),
    ]);
    if (turn !== turns) return; // asked again meanwhile
    if (problem || wasFaulty) showProblem(problem);
    wasFaulty = Boolean(problem);
    if (problem) return;
    const [before, after] = [once(() => shown.old && flat(shown.old)), once(() => flat(shown.new.state))];
    showJSON(json, before, after);
    const { changes } = (dialect === 'keyed' ? json : keyed?.json) ?? {};
    $('steps').replaceChildren(...sentences(changes ?? [], before(), after()));
    showNaive(json.reset ? null : indexed?.json?.changes, before, after);
    const whole = shown.new.bytes;
    const meter = make('span', 'meter', make('i', ''));
    meter.firstChild.style.width = `${Math.min(100, 100 * bytes / whole)}%`;
    meter.ariaHidden = 'true';
    $('sums').replaceChildren(
      ...json.reset ? [make('b', '', 'the whole state')] : [], ...chips(tally(json)), make('span', 'grow'),
      ...json.reset || bytes >= whole ? [make('span', 'quiet', size(bytes))]
        : [make('span', '', `${size(bytes)} instead of ${size(whole)}`), meter]);
    say(json, bytes);
    const { session } = follow;
    lines = { curl: curlLine(where, { text: body }) };
    for (const [name, write] of Object.entries(languages)) lines[name] = write({ base, session });
    const hash = whole < 500_000 ? await packed(shown.old ?? { sections: [] }, shown.new.state) : null;
    if (turn !== turns) return;
    lines.Link = hash ? `${base}/#link:${hash}` : 'These two states are too long for a link.';
    showLine();
  }

  function showLine() {
    $('curl').textContent = lines[language] ?? '';
  }

  function showJSON(json, before, after) {
    const value = cut(json.reset ? { reset: json.reset, state: json.state } : json.changes);
    const whole = pretty(value, columns($('changes')));
    const found = json.reset || whole.length > long ? [] : marks({ ...json, changes: value }, before, after);
    const at = found.length ? places(whole) : new Map();
    const parts = [];
    let end = 0;
    const stretches = found.filter(({ pointer }) => at.has(pointer)).map((mark) => [...at.get(mark.pointer), mark])
      .sort(([one], [other]) => one - other);
    for (const [from, to, { ids, sections }] of stretches) {
      const op = make('span', 'op', ...coloured(whole.slice(from, to)));
      op.names = { ids, sections };
      op.tabIndex = parts.length ? -1 : 0;
      parts.push(...coloured(whole.slice(end, from)), op);
      end = to;
    }
    $('changes').replaceChildren(...parts, ...coloured(whole.slice(end)));
  }

  /** JSON with its operations in colour. */
  function coloured(json) {
    const parts = [];
    let end = 0;
    const shown = json.length > long ? `${json.slice(0, long)}\n…` : json;
    const ops = { insert: 'insert', add: 'insert', inserted: 'insert', move: 'move', moved: 'move',
      update: 'update', updated: 'update', replace: 'update', reload: 'update', reconfigure: 'update',
      remove: 'remove', deleted: 'remove', deletes: 'remove' };
    for (const { 0: token, 1: name, 2: colon, index } of shown.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g)) {
      const isOp = Object.hasOwn(ops, name)
        && (colon || /"(op|name|as)": $/.test(shown.slice(Math.max(0, index - 8), index)));
      parts.push(shown.slice(end, index), make('span', isOp ? ops[name] : colon ? 's' : 'k', token));
      end = index + token.length;
    }
    return [...parts, shown.slice(end)];
  }

  const operations = () => [...document.querySelectorAll('#changes .op, #steps .op')];
  const opOf = (event) => event.target.closest('.op');
  const lightRows = (op) => list.light(op?.names.ids ?? [], op?.names.sections ?? []);
  for (const place of [$('changes'), $('steps')]) {
    place.onpointerover = (event) => lightRows(opOf(event));
    place.onpointerleave = () => lightRows(null);
  }
  $('changes').addEventListener('focusin', (event) => lightRows(opOf(event)));
  $('changes').addEventListener('focusout', () => lightRows(null));
  $('changes').onkeydown = (event) => {
    const all = [...$('changes').querySelectorAll('.op')];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = by && opOf(event) && all[all.indexOf(opOf(event)) + by];
    if (!next) return;
    event.preventDefault();
    for (const op of all) op.tabIndex = op === next ? 0 : -1;
    next.focus();
  };
  function lightOperations(id, section = null) {
    const has = (list, one) => one !== null && list.some((other) => String(other) === String(one));
    for (const op of operations()) op.classList.toggle('lit', has(op.names.ids, id) || has(op.names.sections, section));
  }

  /** What UIKit would have made of the same changes without stages. */
  function showNaive(changes, before, after) {
    $('naive').hidden = !changes || !before();
    if ($('naive').hidden) return;
    const counts = ({ sections }) => sections.map(({ items }) => items.length);
    const told = (text, kind) => make('p', kind, text);
    const { fault: kind, text: words } = verdict(changes, counts(before()));
    const code = batch(changes);
    const parts = [make('h3', '', 'The same as one naive batch'),
      make('pre', '', code.length ? `tableView.performBatchUpdates {\n${code.map((line) => `  ${line}`).join('\n')}\n}`
        : 'Nothing changes.'),
      ...code.length ? [told(kind === 'crash' ? `NSInternalInconsistencyException: ${words}` : words, kind ?? 'fine')]
        : []];
    const single = alone(changes, counts(before()), counts(after()));
    if (single) parts.push(make('h3', '', 'Or each by itself, the model being new already'),
      told(`NSInternalInconsistencyException: ${single}`, 'crash'));
    $('naive').replaceChildren(...parts);
  }

  // MARK: Controls

  for (const name of Object.keys(samples)) {
    const button = Object.assign(make('button', '', name), { type: 'button', ariaPressed: 'false' });
    button.onclick = () => begin({ sample: name });
    $('samples').append(button);
  }
  text.store();
  let sample = null;
  const showSample = () => {
    for (const button of $('samples').querySelectorAll('button')) {
      button.ariaPressed = String(button.textContent === sample && text.isSent);
    }
  };
  text.onChange(() => {
    showSample();
    shape.changed();
    clearTimeout(pause);
    if (text.isSent) return;
    fault.clear();
    sendSoon();
  });
  $('whole').onclick = () => { if (doc) showState(); };

  for (const name of ['curl', ...Object.keys(languages), 'Link']) {
    const button = Object.assign(make('button', '', name), { type: 'button', ariaPressed: String(name === language) });
    button.onclick = () => {
      language = name;
      for (const other of $('copies').children) other.ariaPressed = String(other === button);
      showLine();
    };
    $('copies').append(button);
  }

  dialects.forEach((name, at) => {
    const tab = Object.assign(make('button', '', name), { type: 'button', role: 'tab', tabIndex: at ? -1 : 0,
      ariaSelected: String(!at) });
    tab.setAttribute('aria-controls', 'changeset');
    tab.onclick = () => {
      dialect = name;
      for (const other of $('dialects').children) {
        Object.assign(other, { ariaSelected: String(other === tab), tabIndex: other === tab ? 0 : -1 });
      }
      $('staging-label').hidden = name !== 'staged';
      showChanges();
    };
    tab.onkeydown = ({ key }) => {
      const by = { ArrowRight: 1, ArrowLeft: dialects.length - 1 }[key];
      if (!by) return;
      const next = $('dialects').children[(at + by) % dialects.length];
      next.focus();
      next.click();
    };
    $('dialects').append(tab);
  });
  $('staging-label').hidden = true;
  $('staging').onchange = $('patch').onchange = showChanges;
  $('send').onclick = () => sendTyped();
  editor.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    $('send').click();
  });

  // MARK: Beginning

  /** Makes the session of a document, or of a sample or a link, to which after a moment happens what is to be seen. */
  async function plant({ sample: name, from, to, own }) {
    const { session } = follow;
    isOwn = own !== undefined;
    if (isOwn) return resend(own);
    const state = name ? samples[name].state() : from;
    const { json, problem } = await ask('PUT', path(), JSON.stringify({ state }));
    if (problem) return showProblem(problem);
    if (session !== follow.session) return;
    sample = name ?? null;
    if (!follow.state) follow.start(session);
    const isThere = () => follow.session === session && doc?.revision === json.revision
      && list.state.sections.length > 0;
    for (let waits = 0; !isThere() && waits < 100; waits += 1) await new Promise((resolve) => setTimeout(resolve, 100));
    showSample();
    await new Promise((resolve) => setTimeout(resolve, 700));
    if (!isThere() || lookedAt !== null) return;
    if (name) follow.edit(() => samples[name].play);
    else send(JSON.stringify({ state: to }));
  }

  /** Sends the visitor's document, or another version of it. */
  function resend(own) {
    text.put(own);
    return sendTyped((problem, body) => {
      if (problem.type !== '/problems/wrong-shape' || shape.query()) return showFault(problem, body);
      showProblem({ title: 'No list was found in this JSON',
        detail: 'A list is an array of objects or texts, or an object of such.' });
    });
  }

  let seed = null; // what the next new session begins with

  return {
    plan(what) { seed = what; },
    resend,
    async open(session) {
      const planned = seed;
      seed = null;
      if (follow.session === session && doc && !planned) return follow.reconnect();
      follow.forget();
      follow.session = session;
      [doc, step, lookedAt, sample, isOwn] = [null, null, null, null, false];
      past.length = 0;
      [reads, turns] = [reads + 1, turns + 1]; // pending answers belong to another session
      text.write('');
      list.show(null, null);
      lines = {};
      showLine();
      showScrub();
      for (const id of ['sums', 'steps', 'changes']) $(id).replaceChildren();
      $('naive').hidden = true;
      if (planned) return plant(planned);
      const { json, problem } = await ask('GET', path());
      if (session !== follow.session) return;
      if (problem?.status === 404) return plant({ sample: 'Feed' });
      // A list that could not be read may still exist, and must not be replaced by a sample.
      isUnread = Boolean(problem);
      if (problem) showProblem(problem);
      else await refresh(null);
      if (session === follow.session) follow.start(session);
    },
    close: () => follow.stop(),
    resize: () => showChanges(), // JSON is broken into lines that fit
    reconnect: () => doc ? follow.reconnect() : playground.open(follow.session),
  };
})();

// MARK: Views

// One stream per window: browsers allow six connections to an origin over HTTP/1.1.
let current = null; // the visible view
let session = null;
const newName = () => `play-${Math.random().toString(36).slice(2, 8)}`;
onKey(() => current?.reconnect());

/** A new session, so that what is compared belongs together. */
function begin(seed) {
  playground.plan(seed);
  location.hash = `play:${newName()}`;
}

starting((own) => begin({ own }), playground.resend);

async function route() {
  if (location.hash.startsWith('#link:')) {
    const hash = location.hash.slice(6);
    history.replaceState(null, '', `#play:${newName()}`);
    try {
      playground.plan(await unpacked(hash));
    } catch {
      playground.plan({ sample: 'Feed' });
      enter();
      return showProblem({ title: 'This link is damaged',
        detail: 'The two states in its address cannot be read. Here is a sample instead.' });
    }
  } else if (!location.hash) {
    history.replaceState(null, '', `#play:${newName()}`);
    playground.plan({ sample: 'Feed' });
  }
  enter();
}

function enter() {
  // A list that `diffserver watch` follows takes no edits; its link says so.
  const [, asked = 'play', name] = /^#(play|live|watch)(?::(.*))?$/.exec(location.hash) ?? [];
  const view = asked === 'play' ? 'play' : 'live';
  try { session = decodeURIComponent(name || session || newName()); } catch { session = newName(); }
  for (const link of document.querySelectorAll('[data-view]')) {
    const isCurrent = link.dataset.view === view;
    link.href = asked === 'watch' && !isCurrent ? '#play:'
      : `#${isCurrent ? asked : link.dataset.view}:${encodeURIComponent(session)}`;
    link.ariaCurrent = isCurrent ? 'page' : null;
  }
  for (const link of document.querySelectorAll('.other')) {
    link.href = `#${asked === 'watch' ? asked : 'live'}:${encodeURIComponent(session)}`;
  }
  $('own').href = `page#${encodeURIComponent(session)}`;
  live.fix(asked === 'watch');
  $('play').hidden = view !== 'play';
  $('live').hidden = view !== 'live';
  current?.close();
  showProblem();
  current = view === 'play' ? playground : live;
  current.open(session);
}

// What only some need to know: JSON, dialects, commands.
const showMore = (isOpen) => {
  document.body.classList.toggle('more', isOpen);
  for (const button of document.querySelectorAll('[data-more]')) {
    button.ariaExpanded = String(isOpen);
    button.textContent = isOpen ? 'Less' : 'More';
  }
};
const memory = (() => { try { return localStorage; } catch { return {}; } })();
showMore(memory.more === 'true');
for (const button of document.querySelectorAll('[data-more]')) {
  button.onclick = () => {
    showMore(!document.body.classList.contains('more'));
    try { memory.more = document.body.classList.contains('more'); } catch { /* no storage here */ }
    current?.resize?.();
  };
}

addEventListener('hashchange', route);
route();
