// A diffserver for one test, and states to send it.

import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { waitFor } from './clock.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const program = process.env.DIFFSERVER
  ?? ['release', 'debug'].map((way) => `${root}.build/${way}/diffserver`).find(existsSync);

// From here on the kernel gives ports to connections, and to listeners that name none.
const takenByTheKernel = Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'));

/** A port that nobody listens on, and that the kernel gives to nobody else before somebody does. */
export function freePort() {
  return new Promise((resolve) => {
    const probe = createServer();
    const attempt = () => probe.listen(randomInt(10_000, takenByTheKernel), '127.0.0.1');
    probe.on('error', attempt).on('listening', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
    attempt();
  });
}

/** Starts a server on a port; `stop` ends it. */
export async function start(port, ...more) {
  const options = ['serve', '--listen', `127.0.0.1:${port}`, '--log', 'none', ...more];
  const child = spawn(program, options, { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const url = `http://127.0.0.1:${port}`;
  const answers = () => fetch(`${url}/livez`).then((answer) => answer.ok, () => false);
  await waitFor(() => child.exitCode !== null || answers(), 'the server starts', 30);
  if (child.exitCode !== null) throw new Error(`the server does not start: ${child.exitCode}`);
  return { url, stop: (signal = 'SIGTERM') => (child.kill(signal), ended) };
}

export async function call(method, url, body, headers = {}) {
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const answer = await fetch(url, { method, headers: { ...type, ...headers }, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, body: text ? JSON.parse(text) : null };
}

/** Numbers that are the same each time (Steele, Lea and Flood 2014). */
export function chance(seed) {
  let state = BigInt(seed);
  const mask = (1n << 64n) - 1n;
  return (below) => {
    state = (state + 0x9e3779b97f4a7c15n) & mask;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return Number((z ^ (z >> 31n)) % BigInt(below));
  };
}

/** A random state: sections, nesting, kinds, contents, collapsed parts, awkward ids. */
export function randomState(pick) {
  const names = ['a', 'b', 'c', 1, '2', 'é', 'e\u0301', '__proto__', 'constructor', 'x y', '"', 'long-'.repeat(20)];
  const pool = names.concat(Array.from({ length: 12 }, (_, at) => `i${at}`));
  const take = () => pool.splice(pick(pool.length), 1)[0];
  const content = () => [
    null, true, `t${pick(3)}`, { title: `t${pick(4)}`, deep: { a: pick(3), b: [pick(3)] } },
    { title: 'a rather long title that makes a patch worth while', n: pick(9) }, { __proto__x: 1, ['__proto__']: pick(3) },
  ][pick(6)];
  const item = (level) => {
    const made = { id: take() };
    if (pick(3)) made.content = content();
    if (pick(3) === 0) made.kind = `k${pick(2)}`;
    if (level < 3 && pick(3) === 0) {
      made.items = Array.from({ length: Math.min(pick(4), pool.length) }, () => pool.length && item(level + 1)).filter(Boolean);
      if (pick(3) === 0) made.expanded = false;
    }
    return made;
  };
  const ids = ['s', 't', 1, '__proto__', 'u'];
  return {
    sections: Array.from({ length: pick(4) }, () => {
      const section = { id: ids.splice(pick(ids.length), 1)[0], items: [] };
      if (pick(2)) section.content = content();
      if (pick(5) === 0) section.expanded = false;
      for (let count = pick(7); count > 0 && pool.length; count -= 1) section.items.push(item(0));
      return section;
    }),
  };
}
