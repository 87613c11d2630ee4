// One field takes JSON or an API's address. An address is followed by the server if its file of lists has that one; it
// fetches no other. Else the browser reads it, without cookies or the key, if it may.

import { $ } from './dom.js';
import { ask, quoted, showProblem } from './server.js';

/** A text as an address, whose scheme may be missing; nothing if it is none. */
function addressOf(text) {
  const bare = /^(?:(localhost|\d+(?:\.\d+){3})|([\w-]+\.)+[a-z]+)(?::\d+)?(?:[/?#]\S*)?$/i;
  const [, near, far] = bare.exec(text) ?? [];
  if (!near && !far && !/^https?:\/\/\S+$/i.test(text)) return null;
  try {
    const address = new URL(near ? `http://${text}` : far ? `https://${text}` : text);
    address.hash = '';
    return address;
  } catch { return null; }
}

// If this server runs on the reader's machine, another one must take another port.
const port = /^(localhost|127\.|\[)/.test(location.hostname) ? ' --listen 127.0.0.1:0' : '';

/** Shows a status and, where it is of use, the command that follows an address. */
function tell(words, address) {
  $('told').textContent = words + (address ? ' To follow it, run:' : '');
  $('by-command').hidden = !address;
  $('command').textContent = `diffserver watch ${quoted(address?.href ?? '')}${port}`;
}

/** `begin` makes a list of a document, `again` sends the document's next version. */
export function starting(begin, again) {
  let known = ''; // the address that was read, and where it is shown
  let turns = 0;

  async function read(address) {
    const { href, host } = address;
    const turn = turns;
    tell('Asking…');
    const { json, problem } = await ask('GET', `/v1/sessions?source=${encodeURIComponent(href)}`);
    const [followed] = json?.sessions ?? [];
    if (turn !== turns) return; // another began
    if (followed) {
      tell('This server follows that address: here it is, live.');
      location.hash = `watch:${encodeURIComponent(followed.session)}`;
    } else if (problem?.status >= 500) {
      tell('');
      showProblem(problem);
    } else try {
      const answer = await fetch(href, { credentials: 'omit', cache: 'no-cache', signal: AbortSignal.timeout(15_000) });
      const text = await answer.text();
      if (turn !== turns) return;
      if (!answer.ok) return tell(`${host} answers with the status ${answer.status}.`);
      try { JSON.parse(text); } catch { return tell(`${host} answers, but not with JSON.`); }
      tell('The browser has read that address once; the button reads it again.', address);
      if (known === href + location.hash) return again(text);
      begin(text);
      known = href + location.hash;
    } catch {
      if (turn === turns) tell('The browser may not read that address from here, or nothing answers there.', address);
    }
  }

  $('start').onsubmit = (event) => {
    event.preventDefault();
    turns += 1;
    showProblem();
    const typed = $('given').value.trim();
    const address = addressOf(typed);
    if (address) return read(address);
    if (!/^[[{]/.test(typed)) return tell(typed && 'That is neither an address nor JSON.');
    $('given').value = '';
    tell('');
    begin(typed);
  };
  $('samples').addEventListener('click', () => {
    turns += 1;
    tell('');
  });
  $('given').oninput = ({ inputType }) => {
    if (/^insertFrom(Paste|Drop)/.test(inputType)) $('start').requestSubmit();
  };
  $('given').onkeydown = (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    $('start').requestSubmit();
  };
}
