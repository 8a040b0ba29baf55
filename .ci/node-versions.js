/**
 * `npm run check:node-versions`: imports each entry of the packed client package, and creates its clients, on every version of
 * Node.js that it is for. These come from npm, which keeps them for the next time (some 60 MB each, so the tests do without).
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const versions = ['20', '22', '24'];
const platform = process.platform === 'win32' ? 'win' : process.platform;

const program = `
import assert from 'node:assert';
import { createTrivium, TriviumError } from '@trivium/client';
import { createApolloClient } from '@trivium/client/apollo';
import { config, fragments, schema } from '@trivium/client/codegen';
import { NotesDocument } from '@trivium/client/operations';
import { useLiveList } from '@trivium/client/react';
import { createRelayEnvironment } from '@trivium/client/relay';
import { createUrqlClient } from '@trivium/client/urql';
import { existsSync } from 'node:fs';

const trivium = createTrivium({ url: 'http://127.0.0.1:9' });
assert.equal(trivium.session.status, 'signed-out');
assert.equal(NotesDocument.kind, 'Document');
assert.equal(typeof useLiveList, 'function');
assert(existsSync(schema) && existsSync(fragments) && config.scalars);
assert([createApolloClient, createRelayEnvironment, createUrqlClient].every((create) => create(trivium)));
await assert.rejects(trivium.query(NotesDocument), (error) => error instanceof TriviumError && error.code === 'UNREACHABLE');
const { value, done } = await trivium.updates('subscription { x }', {}, { signal: AbortSignal.abort() }).next();
assert(done && value === undefined);
trivium.dispose();
console.log('Node.js', process.version);
`;

function run(command, args, options) {
  const { status, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });
  if (status !== 0) process.exit(1);
  return stdout.trim();
}

process.chdir(join(import.meta.dirname, '..'));
const root = mkdtempSync(join(tmpdir(), 'trivium-node-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
run(process.execPath, ['.ci/client-package.js', join(root, 'built')]);
const folder = join(root, 'node_modules/@trivium/client');
mkdirSync(dirname(folder), { recursive: true });
run('tar', ['xzf', join(root, 'built/client.tgz'), '-C', root]);
renameSync(join(root, 'package'), folder);
for (const name of readdirSync('node_modules').filter((entry) => !entry.startsWith('.')))
  symlinkSync(resolve('node_modules', name), join(root, 'node_modules', name));
writeFileSync(join(root, 'main.mjs'), program);
for (const version of versions) {
  const from = `node-${platform}-${process.arch}@${version}`;
  const said = run('npm', ['exec', '--yes', `--package=${from}`, '--call', 'node main.mjs'], { cwd: root });
  console.log(said);
  if (!said.startsWith(`Node.js v${version}.`)) process.exit(1);
}
