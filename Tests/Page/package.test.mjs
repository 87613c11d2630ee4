import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { reset, fake } from './support/fake.mjs';
import { client, installed } from './support/package.mjs';
import { call, freePort, start } from './support/server.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const text = (name) => readFileSync(join(client, name), 'utf8');
const manifest = JSON.parse(text('package.json'));
const react = '/usr/share/nodejs/react';
const vue = path('support/vue-stub');

/** The output of an own module, in a folder with the package. */
function print(folder, lines) {
  writeFileSync(join(folder, 'own.mjs'), lines);
  return execFileSync(process.execPath, ['own.mjs'], { cwd: folder, encoding: 'utf8', env: { ...process.env, NODE_PATH: '/usr/share/nodejs' } }).trim();
}

test('package: all that it exports resolves, by its name', (t) => {
  const folder = installed(t, { react, vue });
  const names = Object.keys(manifest.exports).filter((name) => !name.endsWith('.json')).map((name) => name.replace('.', 'diffserver-client'));
  const found = print(folder, `for (const name of ${JSON.stringify(names)}) console.log(name, Object.keys(await import(name)).sort().join());`);
  assert.deepEqual(found.split('\n'), [
    'diffserver-client ProblemError,apply,bind,connect,eventParser', 'diffserver-client/share share', 'diffserver-client/react useGlide,useList', 'diffserver-client/vue useList',
    'diffserver-client/svelte list',
  ]);
});

test('package: it resolves through a link to the clone, and follows a server', async (t) => {
  const folder = installed(t);
  const other = join(folder, 'other');
  mkdirSync(join(other, 'node_modules'), { recursive: true });
  symlinkSync(client, join(other, 'node_modules/diffserver-client'));
  writeFileSync(join(other, 'own.mjs'), 'export { connect } from "diffserver-client"; export { list } from "diffserver-client/svelte";');
  const { connect, list } = await import(pathToFileURL(join(other, 'own.mjs')));
  assert.equal(typeof list, 'function');
  const server = await fake((talk) => talk.stream(reset('1-a', 'a')));
  for await (const { state } of connect(server.url, { session: 's' })) {
    assert.equal(state.sections[0].items[0].id, 'a');
    break;
  }
  server.close();
});

test('package: a version in all places, types for each module, no dependencies', () => {
  const { version } = manifest;
  assert.ok(text('client.js').startsWith(`// diffserver-client ${version}. `));
  assert.ok(text('client.d.ts').startsWith(`// Types of diffserver-client ${version}. `));
  assert.equal(manifest.dependencies, undefined);
  for (const { types, default: script } of Object.values(manifest.exports).filter((value) => typeof value === 'object')) {
    assert.ok(existsSync(join(client, types)) && existsSync(join(client, script)), types);
    assert.equal(types.replace('.d.ts', ''), script.replace('.js', ''));
  }
});

/** The programs of a page, each as a file of TypeScript in a folder: blocks of JavaScript and TypeScript, and the scripts of pages. */
function programs(folder, page) {
  const text = readFileSync(path(`../../docs/${page}`), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+).*\n([^]*?)^```$/gm)].flatMap(([, language, lines]) => {
    if (language !== 'html') return [[language, lines]];
    return [...lines.matchAll(/<script type="module">([^]*?)<\/script>/g)].map(([, script]) => ['js', script]);
  });
  return blocks.filter(([language]) => ['js', 'ts', 'jsx', 'tsx'].includes(language)).map(([language, lines], at) => {
    const name = `${page.replace(/\W/g, '-')}-${at}.${language.replace('j', 't')}`;
    // A page without a build has no other address.
    writeFileSync(join(folder, name), `${lines.replace('http://127.0.0.1:8080/client.js', 'diffserver-client')}\nexport {};\n`);
    return name;
  });
}

test('guide: its examples compile, as strict TypeScript', (t) => {
  const folder = installed(t);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'node.d.ts'), 'declare const process: { env: { [name: string]: string | undefined } };');
  cpSync(path('types/react.d.ts'), join(folder, 'react.d.ts'));
  const files = ['javascript.md', 'start/react.md'].map((page) => programs(folder, page));
  assert.ok(files[0].length > 9 && files[1].length >= 2, `${files}`);
  const { stdout } = spawnSync('tsc', ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022,dom', '--jsx', 'preserve',
    '--moduleResolution', 'node16', '--module', 'node16', 'node.d.ts', 'react.d.ts', ...files.flat()], { cwd: folder, encoding: 'utf8' });
  assert.equal(stdout, '');
});

test('guide: its examples for Node run', async (t) => {
  const folder = installed(t);
  const server = await start(await freePort());
  t.after(() => server.stop());
  await call('PUT', `${server.url}/v1/sessions/feed`, { state: ['a', 'b'] });
  const page = readFileSync(path('../../docs/javascript.md'), 'utf8');
  const example = (title) => page.split(`\n## ${title}\n`)[1].match(/^```js\n(.*?)^```$/ms)[1].replace('http://127.0.0.1:8080', server.url);
  // Until its first line: it would follow for ever.
  writeFileSync(join(folder, 'node.mjs'), `${example('Node')}`.replace(/(console\.log\(.*\);)/, '$1 break;'));
  assert.equal(execFileSync(process.execPath, ['node.mjs'], { cwd: folder, encoding: 'utf8' }), 'a b\n');
  const written = await print(folder, `${example('Write')}\nconsole.log(board.state.sections[0].items.map(({ id }) => id).join());\nboard.close();`);
  assert.equal(written, 'c,a,b');
});

test('types: what the server answers is of them', async (t) => {
  const folder = installed(t);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const { vectors } = JSON.parse(readFileSync(path('../../docs/vectors.json')));
  const lines = vectors.map(({ dialect, answer }, at) => `export const answer${at}: Answer<'${dialect}'> = ${JSON.stringify(answer)};`);
  assert.ok(lines.length > 200);
  const wrong = ['"op":"shuffle"', '"as":"new"'].map((text, at) => (
    `// @ts-expect-error\nexport const wrong${at}: Answer = {"session":"s","from":"1-a","to":"2-b","dialect":"keyed","changes":[{${text},"items":["a"]}]};`));
  const server = await start(await freePort());
  t.after(() => server.stop());
  const session = `${server.url}/v1/sessions/feed`;
  const settings = [];
  for (const shape of [
    { idAt: ['/type', '/id'], rest: ['/meta', '/links'] }, { idBy: 'match', rest: true },
    { itemsAt: '/data', map: true, rest: '/meta' },
    { sectionsAt: '', sectionIdAt: '/name', sectionExpandedAt: '/open' },
    { groupAt: '/at', groupPrefix: 4, idScope: 'section', missing: 'empty', invalid: 'skip', duplicates: 'first' },
    { kindAt: '/type', childrenAt: '/below', expandedAt: '/open' }, null,
  ]) {
    assert.ok((await call('PUT', session, { shape, keep: ['expanded'] })).status < 300);
    const { body } = await call('GET', `${session}/settings`);
    settings.push(`export const settings${settings.length}: Settings = ${JSON.stringify(body)};`);
  }
  const all = ["import type { Answer, Settings } from 'diffserver-client';", ...lines, ...wrong, ...settings];
  writeFileSync(join(folder, 'answers.ts'), all.join('\n'));
  const { stdout } = spawnSync('tsc', ['--strict', '--noEmit', '--lib', 'es2020', '--moduleResolution', 'node16', '--module', 'node16', 'answers.ts'],
    { cwd: folder, encoding: 'utf8' });
  assert.equal(stdout, '');
});

for (const [lib, files] of [['es2020,dom', ['any.ts', 'dom.ts']], ['es2020', ['any.ts']]]) {
  test(`types: a strict compiler takes what is right and nothing else, lib ${lib}`, (t) => {
    const folder = installed(t, { vue });
    for (const name of files) cpSync(path(`types/${name}`), join(folder, name));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    for (const way of ['node16', 'node']) {
      const { status, stdout, error } = spawnSync('tsc', [
        '--strict', '--noEmit', '--target', 'es2020', '--lib', lib, '--moduleResolution', way, '--module', way === 'node' ? 'es2020' : way, ...files], { cwd: folder, encoding: 'utf8' });
      assert.equal(error, undefined);
      assert.equal(status, 0, `${way}: ${stdout}`);
    }
  });
}
