// Shared by all parts of the playground.

export const $ = (id) => document.getElementById(id);
export const pick = (list) => list[Math.floor(Math.random() * list.length)];
export const plural = (count, word) => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
export const size = (count) => count < 1e3 ? `${count} B`
  : count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;
export const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children);
  return element;
}

let clock;

/** Says how a connection is; of a source that is silent, for how long by now. */
export function tellStatus(place, { status, transport, stale, problem, delay }) {
  clearInterval(clock);
  const since = performance.now() - stale * 1_000;
  const words = {
    live: () => stale ? `silent for ${Math.round((performance.now() - since) / 1_000)} s`
      : transport === 'poll' ? 'live, by polling' : 'live',
    waiting: () => `${problem.title ?? 'waiting'}${delay ? `; again in ${Math.ceil(delay / 1_000)} s` : ''}`,
    stopped: () => problem.title ?? 'stopped',
  }[status];
  const write = () => { if (place.textContent !== words()) place.textContent = words(); };
  place.ariaLive = 'polite';
  place.dataset.status = stale ? 'stale' : status;
  write();
  if (!stale) return;
  place.ariaLive = 'off'; // that it is silent is said once
  clock = setInterval(write, 1_000);
}

/** In another order, if possible: a button that does nothing looks broken. */
export function shuffled(list) {
  const other = [...list];
  for (let at = other.length - 1; at > 0; at -= 1) {
    const to = Math.floor(Math.random() * (at + 1));
    [other[at], other[to]] = [other[to], other[at]];
  }
  return list.length > 1 && other.every((value, at) => value === list[at]) ? shuffled(list) : other;
}

const titles = ['title', 'name', 'label', 'subject', 'headline', 'text', 'displayName'];
const isPlain = (value) => ['string', 'number'].includes(typeof value);

/** The members of a content that a row shows besides its title. */
export const scalars = (content) => Object.entries(content).filter(([name, value]) => (
  name !== titleOf(content) && name !== 'layout' && isPlain(value)));

/** The member that is a content's title, if one is. */
export const titleOf = (content) => titles.find((name) => isPlain(content[name]));

/** A title and a subtitle for whatever content a row has. */
export function words({ id, content }) {
  if (typeof content !== 'object' || content === null) return [String(content === undefined ? id : content), ''];
  const inner = Object.values(content).find((it) => it && typeof it === 'object' && titleOf(it)) ?? {};
  const title = String(content[titleOf(content)] ?? inner[titleOf(inner)] ?? id);
  const more = scalars(content).filter(([, value]) => String(value) !== title).slice(0, 4).map(([name, value]) => {
    if (typeof value === 'string') return value;
    const amount = value.toLocaleString('en');
    return /[a-z]s$/.test(name) ? `${amount} ${value === 1 ? name.slice(0, -1) : name}` : `${name} ${amount}`;
  });
  return [title, more.join(' · ')];
}
