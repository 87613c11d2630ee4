// The package as installed: a folder of node_modules with the files that package.json names, beside those of a test.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const client = fileURLToPath(new URL('../../../Clients/js/', import.meta.url));

/** A folder to import from; `links` are other packages, by their names. */
export function installed(t, links = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'client-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const home = join(folder, 'node_modules', 'diffserver-client');
  mkdirSync(home, { recursive: true });
  const { files } = JSON.parse(readFileSync(join(client, 'package.json')));
  const endings = files.map((pattern) => pattern.replace('*', ''));
  const isPart = (name) => ['package.json', 'README.md'].includes(name) || endings.some((ending) => name.endsWith(ending));
  for (const name of readdirSync(client).filter(isPart)) cpSync(join(client, name), join(home, name));
  for (const [name, path] of Object.entries(links)) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(path, join(folder, 'node_modules', name));
  }
  return folder;
}
