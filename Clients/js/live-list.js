// <live-list src="…/v1/sessions/NAME"><template>…{{customer.name}}…</template></live-list>: a list without a script.
// Each row is the template filled in; `template[section]` makes the headers of sections. Children with a slot (loading,
// empty, stale, offline, more) replace the element's own words.
//
// Values are set as text or as attributes, and never as handlers, styles, edits or addresses of scripts.

import { bind, connect } from './client.js';

// For the element's own parts, and for the rows, which are the page's.
const sheet = new CSSStyleSheet();
sheet.replaceSync(`:host { display: block } live-list > ul { position: relative }
  :where(live-list > ul > li) { background: Canvas }
  :host [hidden], live-list > ul [data-folded] { display: none !important }`);
const parts = {
  loading: ['div', 'Loading…', 'status'], stale: ['div', 'Not up to date', 'status'],
  offline: ['div', 'Offline', 'status'], fault: ['p', '', 'alert'], '': ['div'], empty: ['div', 'Nothing here'],
  more: ['button', 'More'],
};
const most = 1_001; // rows of a window
const windowOf = (rows) => (rows ? { at: 'start', before: 0, after: rows - 1 } : null);

export class LiveList extends HTMLElement {
  static observedAttributes = ['src', 'view', 'limit', 'poll'];
  #token;
  #list = null;
  #rows; // of the window, if there is a limit
  #folded = new Set();
  #state = null;
  #unknown; // names in the templates that nothing has had yet
  #made = new WeakMap(); // what the element of a row or a section shows, and where
  #turn; // of opening
  #cause; // of the fault that is told
  #parts = {};

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet];
    for (const [name, [tag, text = '', role = null]] of Object.entries(parts)) {
      const part = Object.assign(root.appendChild(document.createElement(tag)), { role, hidden: Boolean(name) });
      part.append(Object.assign(document.createElement('slot'), { name, textContent: text }));
      this.#parts[name] = part;
    }
    this.#parts.more.addEventListener('click', () => this.more());
    this.addEventListener('click', (event) => this.#clicked(event));
  }

  /** A key or token, or a function that gives one; no attribute. */
  get token() { return this.#token; }
  set token(token) {
    this.#token = token;
    this.#open();
  }

  get list() { return this.#list; }

  /** As `connect`'s `edit`. An `edit` event that is prevented stops it. */
  async edit(edits, options) {
    if (!this.#list) throw new Error('this list is not followed');
    const event = new CustomEvent('edit', { bubbles: true, cancelable: true, detail: { edits } });
    return this.dispatchEvent(event) ? this.#list.edit(edits, options) : null;
  }

  /** Shows more rows, where `limit` says how many at a time. */
  more() {
    if (!this.#rows) return;
    this.#rows = Math.min(this.#rows + Number(this.getAttribute('limit')), most);
    this.#list?.show(windowOf(this.#rows));
  }

  /** Folds the rows below a row, or of 'sections' one; only here. */
  fold(id, of = 'items', isFolded = !this.#folded.has(`${of} ${id}`)) {
    this.#folded[isFolded ? 'add' : 'delete'](`${of} ${id}`);
    this.#refold();
  }

  connectedCallback() {
    // Set before this class was there.
    if (Object.hasOwn(this, 'token')) {
      this.#token = this.token;
      delete this.token;
    }
    this.#open();
  }

  connectedMoveCallback() {} // it stays connected
  disconnectedCallback() { this.#close(); }
  attributeChangedCallback() { this.#open(); }

  #close() {
    this.#list?.close();
    this.#list = null;
  }

  /** Opens once, after everything that one task sets. */
  async #open() {
    this.#close();
    const turn = this.#turn = {};
    await null;
    if (document.readyState === 'loading') {
      await new Promise((done) => { document.addEventListener('DOMContentLoaded', done, { once: true }); });
    }
    if (turn !== this.#turn || !this.isConnected) return;
    this.#state = null;
    this.#show('loading');
    this.#fault(this.#cause);
    try { this.#follow(); } catch (error) {
      this.#show('offline');
      this.#fault('tag', error.message);
    }
  }

  #follow() {
    const src = this.getAttribute('src');
    const [, server, name] = /^(.*?)\/v1\/sessions\/([^/?#]+)$/.exec(src) ?? [];
    const row = this.querySelector(':scope > template:not([section])');
    const section = this.querySelector(':scope > template[section]');
    if (!name) throw new Error(`src must be the address of a session, as http://127.0.0.1:8080/v1/sessions/orders, but is ${src}`);
    if (!row) throw new Error('it needs a <template> for a row, such as <template>{{title}}</template>');
    if (this.hasAttribute('token')) throw new Error('token must be set as a property: other scripts read attributes');
    let view;
    try { view = JSON.parse(this.getAttribute('view')) ?? undefined; } catch (error) {
      throw new Error(`view must be JSON, such as {"limit":10}: ${error.message}`);
    }
    this.#read({ items: row, sections: section });
    this.#rows = Math.min(Number(this.getAttribute('limit')) || 0, most);
    const list = this.#place();
    const rows = bind(list, {
      render: (value, old) => this.#drawn(row, 'items', value, old),
      renderSection: (value, old) => this.#drawn(section, 'sections', value, old),
    });
    const session = decodeURIComponent(name);
    this.#list = connect(server, {
      session, token: this.#token, view, window: windowOf(this.#rows), poll: this.getAttribute('poll'),
      onStatus: (status) => this.#told(status, session, server || location.origin),
      onPending: () => { for (const element of this.#elements()) this.#mark(element); },
      onChange: (state, answer) => {
        this.#state = state;
        rows.show(state, answer.changes);
        if (this.getAttribute('state') === 'loading') this.#show('live');
        this.#parts.empty.hidden = state.sections.some(({ items }) => items.length);
        this.#offer(list, answer.window?.below && this.#rows < most);
        this.#refold();
        this.#compare(state);
        this.dispatchEvent(new CustomEvent('change', { detail: { state, answer } }));
      },
    });
  }

  /** The list of the rows is an element of the page, so that its styles apply. */
  #place() {
    const sheets = this.getRootNode().adoptedStyleSheets;
    if (!sheets.includes(sheet)) sheets.push(sheet);
    this.querySelector(':scope > ul:not([slot])')?.remove();
    const list = document.createElement('ul');
    const label = this.getAttribute('label');
    if (label) list.setAttribute('aria-label', label);
    this.append(list);
    return list;
  }

  // MARK: What is said

  #told({ status, stale, problem }, session, at) {
    const { status: code, detail, title } = problem ?? {};
    const isMissing = code === 404;
    // A session that does not exist yet is waited for.
    if (status !== 'live') this.#show(status === 'waiting' && isMissing && !this.#state ? 'loading' : 'offline');
    else if (this.#state || stale) this.#show(stale ? 'stale' : 'live');
    if (stale) this.setAttribute('seconds', stale);
    else this.removeAttribute('seconds');
    const text = isMissing ? `there is no session "${session}" at ${at} yet: post it, or check src` : `${at}: ${detail ?? title}`;
    this.#fault('status', status === 'stopped' || problem && (isMissing || !this.#state) ? text : '');
    this.dispatchEvent(new CustomEvent('status', { detail: { status, stale, problem } }));
  }

  #show(state) {
    this.setAttribute('state', state);
    for (const name of ['loading', 'stale', 'offline']) this.#parts[name].hidden = name !== state;
  }

  #fault(cause, text) {
    const { fault } = this.#parts;
    if (text ? text === fault.textContent : cause !== this.#cause) return;
    this.#cause = cause;
    Object.assign(fault, { textContent: text || '', hidden: !text });
    if (text) console.warn(`live-list: ${text}`);
  }

  /** The names in templates, and what can never be filled in. */
  #read(templates) {
    this.#unknown = [];
    for (const [kind, template] of Object.entries(templates)) {
      for (const { text, place, isRefused } of template ? holesIn(template.content.cloneNode(true)) : []) {
        if (isRefused) this.#fault('holes', `${text} is left out: nothing is filled into ${place}`);
        else for (const [, path] of text.matchAll(hole)) if (!/\?$|\.\d/.test(path)) this.#unknown.push({ kind, path });
      }
    }
  }

  /** Tells a name in a template that nothing has, as soon as there are rows, until one has it. */
  #compare({ sections }) {
    const headers = sections.filter(({ content }) => content);
    const all = { items: sections.flatMap(({ items }) => items), sections: headers };
    this.#unknown = this.#unknown.filter(({ kind, path }) => all[kind].every((it) => lookUp(it, path) === undefined));
    const { kind, path } = this.#unknown.find(({ kind }) => all[kind].length) ?? {};
    if (!kind) return this.#fault('names');
    const known = [...new Set(all[kind].flatMap(({ content }) => members(content)))].slice(0, 12);
    this.#fault('names', `none of the ${kind} has {{${path}}}, but ${known.join(', ') || 'an id alone: {{id}}'}. `
      + `{{${path}?}} may be missing`);
  }

  // MARK: Rows

  #drawn(template, kind, value, old) {
    const content = old ? null : template?.content.cloneNode(true) ?? new DocumentFragment();
    const made = this.#made.get(old) ?? { kind, holes: holesIn(content) };
    made.value = value;
    // Filled in before the page has it: no address with a hole is asked for.
    for (const { put } of made.holes) put?.(value);
    let element = old;
    if (!old) {
      const [only, ...others] = [...content.childNodes].filter((node) => node.nodeType === 1 || node.textContent.trim());
      element = only?.localName === 'li' && !others.length ? only : document.createElement('li');
      if (element !== only) element.append(content);
      if (kind === 'sections' && !element.querySelector('[data-rows]')) {
        element.appendChild(document.createElement('ul')).dataset.rows = '';
      }
      this.#made.set(element, made);
    }
    if (kind === 'items') {
      element.ariaLevel = value.level ? String(value.level + 1) : null;
      element.style.setProperty('--level', value.level ?? 0);
    }
    this.#mark(element);
    return element;
  }

  #elements() { return [...this.querySelectorAll('[data-id]')].filter((element) => this.#made.has(element)); }

  #owner(node) {
    if (node?.closest('live-list') !== this) return null; // it may be of a list in a row
    while (node && !this.#made.has(node)) node = node.parentElement;
    return node;
  }

  #mark(element) {
    const { kind, value } = this.#made.get(element);
    element.toggleAttribute('data-pending', Boolean(this.#list?.pending.has(value.id, kind)));
  }

  /** Keeps the focus in the list when the button for more goes. */
  #offer(list, isMore) {
    const { more } = this.#parts;
    const last = this.shadowRoot.activeElement === more && !isMore && list.lastElementChild;
    more.hidden = !isMore;
    if (last) {
      last.tabIndex = -1;
      last.focus({ preventScroll: true });
    }
  }

  #refold() {
    const parents = new Map();
    for (const { items } of this.#state?.sections ?? []) {
      for (const { id, parent } of items) if (parent !== undefined) parents.set(String(id), String(parent));
    }
    const homes = new Set(parents.values());
    const isHidden = (id) => {
      for (let at = parents.get(id); at; at = parents.get(at)) if (this.#folded.has(`items ${at}`)) return true;
      return false;
    };
    for (const element of this.#elements()) {
      const { id } = element.dataset;
      const { kind } = this.#made.get(element);
      const isFolded = this.#folded.has(`${kind} ${id}`);
      if (kind === 'items') element.toggleAttribute('data-folded', isHidden(id));
      else element.querySelector('[data-rows]').toggleAttribute('data-folded', isFolded);
      for (const handle of element.querySelectorAll('[data-fold]')) {
        if (this.#owner(handle) !== element) continue;
        handle.setAttribute('aria-expanded', !isFolded);
        handle.toggleAttribute('data-folded', kind === 'items' && !homes.has(id)); // nothing is below it
      }
    }
  }

  /** `data-fold` folds; `data-edit` is an operation on its row, such as "delete", or the members of an update. */
  async #clicked({ target }) {
    const handle = target.closest?.('[data-fold], [data-edit]');
    const owner = this.#owner(handle);
    if (!owner) return;
    const { kind, value: { id } } = this.#made.get(owner);
    const text = handle.dataset.edit;
    if (text === undefined) return this.fold(id, kind);
    try {
      const isUpdate = text.startsWith('{');
      const [op, value] = isUpdate ? ['update', { id, ...JSON.parse(text) }] : [text, id];
      await this.edit([{ op, [kind]: [value] }]);
      this.#fault('edit');
    } catch ({ problem, message }) { this.#fault('edit', problem?.detail ?? message); }
  }
}

// MARK: - Templates

const hole = /\{\{\s*([^{}]*?)\s*\}\}/g;
const running = /^(script|style|link|base|meta|object|embed|set|animate.*)$/i;
const never = /^(on.*|style|srcdoc|sandbox|allow|data-edit)$/i;
const addresses = /^(.*:)?(href|src|(form)?action|poster|data|background|ping|cite)$/i;

/** A member of a content by its path, or the row's own id. `.` is the whole content; with `?` it may be missing. */
function lookUp({ id, content }, path) {
  path = path.replace(/\?$/, '');
  if (path === '.') return content ?? id;
  const found = path.split('.').reduce((value, name) => (
    value != null && Object.hasOwn(Object(value), name) ? value[name] : undefined), content);
  return found === undefined && path === 'id' ? id : found;
}

const shown = (value) => (value == null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));
const fill = (text, row) => text.replace(hole, (_, path) => shown(lookUp(row, path)));

const isSafe = (text) => Boolean(text.trim()) && URL.canParse(text, document.baseURI)
  && /^(https?|mailto|tel):$/.test(new URL(text, document.baseURI).protocol);

/** The texts and attributes with names in a content, and how each is filled in; refused ones are left out. */
function holesIn(content) {
  const holes = [];
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode;
    const isText = at.nodeType === 3;
    const { localName } = isText ? at.parentNode : at;
    for (const part of isText ? [at] : [...at.attributes]) {
      const { name, value: text = at.data } = part;
      if (text.search(hole) < 0) continue;
      if (!isText) at.removeAttributeNode(part);
      const found = { text, place: isText ? `<${localName}>` : `${name} of <${localName}>` };
      found.isRefused = running.test(localName) || never.test(name);
      holes.push(found);
      if (found.isRefused) continue;
      const isAlone = /^\{\{[^{}]*\}\}$/.test(text);
      found.put = (row) => {
        const value = fill(text, row);
        if (isText) {
          if (at.data !== value) at.data = value;
          return;
        }
        // A false `hidden` is none.
        const isFalse = isAlone && value === 'false' && !/^(aria|data)-/.test(name);
        const isGone = addresses.test(name) ? !isSafe(value) : isFalse;
        if (isGone !== !part.ownerElement) at[isGone ? 'removeAttributeNode' : 'setAttributeNode'](part);
        if (part.value !== value) part.value = value;
        if (name === 'checked') at.checked = !isGone; // also once it was clicked
      };
    }
  }
  return holes;
}

/** The paths of all scalars in a content, as a template names them. */
function members(value, path = '') {
  if (value === null || typeof value !== 'object') return path ? [path] : [];
  return Object.entries(value).flatMap(([name, it]) => members(it, path ? `${path}.${name}` : name));
}

customElements.define('live-list', LiveList);
