// The view that only follows: a session, a view or a window of it, and the cost of each change.

import { $, make, plural, size } from './dom.js';
import { bytesOf } from './json.js';
import { makeList } from './list.js';
import { samples } from './samples.js';
import { ask, chips, curlLine, follower, pathOf, say, showProblem, tally } from './server.js';

export const live = (() => {
  let sent = 0;
  let seen = 0;
  let last = '';
  const list = makeList($('live'), (plan) => follow.edit(plan));
  const follow = follower(list, {
    sight: () => ({ view: $('view').value.trim() ? JSON.parse($('view').value) : undefined, window: windowed() }),
    change(shown, state) {
      showPlace(shown.window, state);
      offerMembers(state);
      if (shown.from === shown.to) return; // an edit of one's own, which the server has not seen yet
      const answer = shown.told ? { ...shown, changes: shown.told } : shown;
      const bytes = bytesOf(JSON.stringify(answer));
      sent += bytes;
      seen += 1;
      const result = tally(answer);
      const what = make('span', 'sums', ...chips(result));
      entry(`#${answer.to.split('-')[0]}`, what, size(bytes));
      $('total').textContent = `${plural(seen, 'answer')}, ${size(sent)}`;
      $('create').hidden = true;
      say(answer, bytes);
    },
    status({ status, stale, problem, delay }) {
      $('create').hidden = problem?.status !== 404;
      const text = stale ? 'the source is silent' : status === 'live' ? ''
        : `${problem.title}${delay ? `; again in ${Math.ceil(delay / 1000)} s` : ''}`;
      const kind = problem?.title ?? text;
      if (text && kind !== last) entry('–', make('span', stale ? 'reset' : 'quiet', text), '');
      last = kind;
    },
  });

  function entry(label, what, amount) {
    const now = new Date();
    const time = make('time', '', now.toLocaleTimeString('en-GB'));
    time.dateTime = now.toISOString();
    $('timeline').prepend(make('li', '', make('span', 'seq', label), what, make('span', '', amount), time));
    while ($('timeline').children.length > 200) $('timeline').lastChild.remove();
  }

  // The part of the session that is shown: all, a view, or a window of that.

  const windowed = () => $('windowed').checked ? { at: $('place').value, after: Math.max(0, $('rows').value - 1) }
    : undefined;

  function showPlace(window, state) {
    $('place').disabled = !window;
    if (!window) return $('where').replaceChildren();
    const rows = state.sections.reduce((sum, section) => sum + section.items.length, 0);
    const all = window.above + rows + window.below;
    $('place').max = Math.max(0, all - 1);
    $('where').textContent = rows ? `${window.above + 1} to ${window.above + rows} of ${all}` : 'no rows';
  }

  // Menus that write the view: the items' members seen so far, to group or to order by.

  const members = new Set();

  function offerMembers(state) {
    const known = members.size;
    // The first ones suffice, so that a long list is not walked at each change.
    for (const item of state.sections.slice(0, 20).flatMap((section) => section.items.slice(0, 20))) {
      if (item.kind !== undefined) members.add('/kind');
      if (item.content === null || typeof item.content !== 'object' || Array.isArray(item.content)) continue;
      for (const [name, value] of Object.entries(item.content)) {
        if (members.size < 50 && (value === null || typeof value !== 'object')) members.add(pointerTo(name));
      }
    }
    if (members.size > known) showMembers();
  }

  const pointerTo = (name) => `/content/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

  function showMembers() {
    const view = viewOf() ?? {};
    const chosen = { group: view.group?.at ?? '', order: view.order?.[0]?.at ?? '' };
    for (const [name, at] of Object.entries(chosen)) {
      const pointers = [...new Set([...members, at])].filter(Boolean);
      $(name).replaceChildren(...['', ...pointers].map((pointer) => {
        const text = pointer.replace(/^\/(content\/)?/, '').replaceAll('~1', '/').replaceAll('~0', '~');
        const option = make('option', '', text || 'nothing');
        option.value = pointer;
        return option;
      }));
      $(name).value = at;
    }
  }

  /** The view as typed; undefined while that is not JSON. */
  function viewOf() {
    try { return JSON.parse($('view').value.trim() || '{}'); } catch { return undefined; }
  }

  for (const [name, made] of [['group', (at) => ({ at })], ['order', (at) => [{ at }]]]) {
    $(name).onchange = () => {
      const { [name]: _, ...view } = viewOf() ?? {};
      if ($(name).value) view[name] = made($(name).value);
      $('view').value = Object.keys(view).length ? JSON.stringify(view) : '';
      $('view').onchange();
    };
  }

  function showCurl() {
    const { view, window } = { view: $('view').value.trim(), window: windowed() };
    const pairs = Object.entries({ ...view && { view }, ...window });
    const query = pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
    const path = `${pathOf(follow.session)}/changes${query && '?'}${query}`;
    $('curl-live').textContent = curlLine(path, { headers: ['Accept: text/event-stream'], more: 'N' });
  }

  $('view').onchange = () => {
    try { JSON.parse($('view').value.trim() || '{}'); } catch (error) {
      return showProblem({ title: 'The view is not JSON', detail: error.message });
    }
    showProblem();
    showMembers();
    follow.start(follow.session); // another view is shown
    showCurl();
  };
  for (const name of ['windowed', 'rows', 'place']) {
    $(name).oninput = () => {
      if (!$('rows').checkValidity()) return;
      follow.show(windowed() ?? {});
      showCurl();
    };
  }

  $('follow').onsubmit = (event) => {
    event.preventDefault();
    location.hash = `live:${encodeURIComponent($('session').value)}`;
  };
  $('create').onclick = async () => {
    const { problem } = await ask('PUT', pathOf(follow.session), JSON.stringify({ state: samples.Board.state() }));
    showProblem(problem);
    if (!problem) follow.reconnect();
  };

  return {
    open(session) {
      $('session').value = session;
      if (follow.session === session) return follow.reconnect();
      [sent, seen, last] = [0, 0, ''];
      $('timeline').replaceChildren();
      members.clear();
      showMembers();
      list.show(null, null);
      follow.start(session);
      showCurl();
    },
    close: () => follow.stop(),
    fix: list.fix,
    reconnect: () => follow.reconnect(),
  };
})();
