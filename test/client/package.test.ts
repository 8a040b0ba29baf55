import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');

let root: string;
let folder: string;

/** The package of the build, as a project has it that installed it, beside what is installed here. */
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'trivium-package-'));
  await run('tar', ['xzf', 'dist/client.tgz', '-C', root]);
  folder = join(root, 'node_modules/@trivium/client');
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(join(root, 'package'), folder, { recursive: true });
  for (const name of readdirSync('node_modules').filter((entry) => !entry.startsWith('.')))
    symlinkSync(resolve('node_modules', name), join(root, 'node_modules', name));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The modules that an entry loads of the package itself, and it. */
function closure(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(join(folder, file), 'utf8');
  for (const [, from] of text.matchAll(/(?:from|import)\s*["'](\.[^"']+)["']/g))
    closure(join(dirname(file), from!), seen);
  return seen;
}

test('the core is at most 12 KB compressed, with all that it loads but graphql', () => {
  const parts = [...closure('core/trivium.js')].map((file) => readFileSync(join(folder, file)));
  const size = gzipSync(Buffer.concat(parts), { level: 9 }).length;
  expect(size).toBeGreaterThan(3_000);
  expect(size).toBeLessThanOrEqual(12 * 1024);
});

test('has the hooks, and nothing else, marked for the browser', () => {
  const isMarked = (file: string) => readFileSync(join(folder, file), 'utf8').startsWith("'use client';");
  expect(['react/react.js', 'core/trivium.js', 'apollo/apollo.js'].map(isMarked)).toEqual([
    true,
    false,
    false,
  ]);
});

test('can be installed beside every version of graphql that Apollo Client takes', () => {
  const peersOf = (path: string) =>
    (
      JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as {
        peerDependencies: { graphql: string };
      }
    ).peerDependencies;
  expect(peersOf(folder).graphql).toBe(peersOf('node_modules/@apollo/client').graphql);
});

test('has the same bytes when it is built again', async () => {
  await run(process.execPath, ['.ci/client-package.js', join(root, 'again')]);
  const [built, again] = ['dist', join(root, 'again')].map((out) => readFileSync(join(out, 'client.tgz')));
  expect(again!.equals(built!)).toBe(true);
});

/** What is only compiled: each entry, as a project uses it. */
const entries = `
import type { Exchange } from '@urql/core';
import type { Environment } from 'relay-runtime';
import { createTrivium } from '@trivium/client';
import { createApolloClient } from '@trivium/client/apollo';
import { config, fragments, schema } from '@trivium/client/codegen';
import { ShipmentsDocument } from '@trivium/client/operations';
import { useLiveList } from '@trivium/client/react';
import { createRelayEnvironment } from '@trivium/client/relay';
import { createUrqlClient, triviumExchange } from '@trivium/client/urql';

const apollo = createApolloClient(createTrivium({ url: 'http://localhost:4000' }), { cache: { typePolicies: {} } });
export const stages = async (): Promise<unknown[]> => {
  const { data } = await apollo.query({ query: ShipmentsDocument, variables: { first: 1 } });
  return data?.shipments.edges.map(({ node }) => node.stage satisfies string | null | undefined) ?? [];
};
const urql = createUrqlClient(createTrivium({ url: 'http://localhost:4000' }), { exchanges: [] });
export const carriers = async (): Promise<unknown[]> => {
  const { data } = await urql.query(ShipmentsDocument, { first: 1 });
  return data?.shipments.edges.map(({ node }) => node.carrier satisfies string | null) ?? [];
};
export const exchange: Exchange = triviumExchange(createTrivium({ url: 'http://localhost:4000' }));
export const environment: Environment = createRelayEnvironment(createTrivium({ url: 'http://localhost:4000' }), { documents: {}, configName: 'live' });
export const useIds = (): string[] => useLiveList('payments', { first: 3 }).entities.map(({ paymentId }) => paymentId);
export const codegen: { schema: string; documents: string[]; config: object } = { schema, documents: [fragments], config };
`;

const consumer = `
import WebSocket from 'ws';
import { createTrivium, TriviumError, type Session } from '@trivium/client';
import { NotesDocument, ShipmentUpdatesDocument, SignOutDocument } from '@trivium/client/operations';

const trivium = createTrivium({ url: process.argv[2]!, webSocketImpl: WebSocket });
const { viewer, errors } = await trivium.signIn('demo@example.com', 'demo-password');
const session: Session = trivium.session;
console.log(viewer?.email, errors.length, session.status);
const { notes } = await trivium.query(NotesDocument, { first: 2 });
const titles: string[] = notes.edges.map(({ node }) => node.title);
console.log(titles.length);
try {
  // @ts-expect-error -- there is no such variable
  await trivium.query(NotesDocument, { frist: 1 });
} catch (error) {
  if (!(error instanceof TriviumError)) throw error;
}
const controller = new AbortController();
for await (const { shipmentUpdates } of trivium.updates(ShipmentUpdatesDocument, {}, { signal: controller.signal })) {
  const stage: 'CREATED' | 'IN_TRANSIT' | 'OUT_FOR_DELIVERY' | 'DELIVERY_FAILED' | 'DELIVERED' = shipmentUpdates.shipment.stage;
  console.log(stage);
  break;
}
console.log((await trivium.mutate(SignOutDocument)).signOut.signedOut);
trivium.dispose();
`;

test.for([
  ['bundler', 'es2022,dom,dom.iterable', ['main.ts', 'entries.ts']],
  ['nodenext', 'es2022,dom,dom.iterable', ['main.ts', 'entries.ts']],
  // As a program has it that is not for a browser.
  ['nodenext', 'es2022', ['main.ts']],
] as const)(
  'compiles under the strictest options, with moduleResolution %s and lib %s',
  async ([resolution, lib, files]) => {
    writeFileSync(join(root, 'main.ts'), consumer);
    writeFileSync(join(root, 'entries.ts'), entries);
    writeFileSync(join(root, 'package.json'), '{"type":"module"}');
    const strict = [
      'strict',
      'verbatimModuleSyntax',
      'exactOptionalPropertyTypes',
      'noUncheckedIndexedAccess',
    ];
    const { stdout } = await run(
      process.execPath,
      [
        tsc,
        ...strict.map((option) => `--${option}`),
        '--module',
        resolution === 'bundler' ? 'esnext' : 'nodenext',
        '--moduleResolution',
        resolution,
        '--target',
        'es2022',
        '--lib',
        lib,
        '--types',
        'node',
        '--skipLibCheck',
        'false',
        '--outDir',
        join(root, resolution),
        ...files,
      ],
      { cwd: root },
    ).catch((error: unknown) => error as { stdout: string });
    // Only what this package says is looked at: others have faults of their own.
    expect(stdout.split('\n').filter((line) => /(?:main|entries)\.ts|@trivium/.test(line))).toEqual([]);
  },
);

test('runs as it was installed', async () => {
  const testbed: Testbed = await startTestbed();
  try {
    writeFileSync(join(root, 'main.ts'), consumer);
    const running = run(process.execPath, [require.resolve('tsx/cli'), 'main.ts', testbed.url], {
      cwd: root,
      timeout: 50_000,
    });
    const emitting = setInterval(() => void testbed.sandbox.webhooks.emitShipment(), 500);
    const { stdout } = await running.finally(() => clearInterval(emitting));
    expect(stdout).toMatch(/^demo@example\.com 0 signed-in\n2\n[A-Z_]+\ntrue\n$/);
  } finally {
    await testbed.stop();
  }
});
