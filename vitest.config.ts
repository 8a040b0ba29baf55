import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The tests in a folder. The benchmarks have packages of their own there. */
const testsIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testsIn(path);
    return path.endsWith('.test.ts') ? [path] : [];
  });

/** Tests that replace modules, which others must not see, and which others must not have loaded before. */
const replacing = testsIn(join(import.meta.dirname, 'test'))
  .filter((path) => readFileSync(path, 'utf8').includes('vi.mock('))
  .map((path) => relative(import.meta.dirname, path));

/** The files that take longest, which begin first: no worker is left alone with one at the end. */
const longest = [
  'test/console/explorer.test.ts',
  'test/events/relay/cluster.test.ts',
  'test/console/console-views.test.ts',
  'test/chaos/chaos.test.ts',
  'test/domains/appointments/booking/bookings.test.ts',
  'test/domains/payments/rotation.test.ts',
  'test/console/console.test.ts',
  'test/drain/drain.test.ts',
  'test/server/balance/operations.test.ts',
  'test/console/faults.test.ts',
  'test/domains/appointments/crash.test.ts',
  'test/replicas/multicast.test.ts',
  'test/faults/notes.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not that of an array
    const others = (await super.sort(files)).filter(({ moduleId }) => placeOf(moduleId) < 0);
    const first = files.filter(({ moduleId }) => placeOf(moduleId) >= 0);
    return [...first.toSorted((a, b) => placeOf(a.moduleId) - placeOf(b.moduleId)), ...others];
  }
}

const placeOf = (moduleId: string) => longest.findIndex((file) => moduleId.endsWith(`/${file}`));

export default defineConfig({
  // The one graphql that Node gives to the libraries too: two of them refuse each other's schemas.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    // Apollo's gateway, in a test, would report to its makers.
    env: { APOLLO_TELEMETRY_DISABLED: 'true' },
    globalSetup: ['test/support/postgres-server.ts', 'test/support/sqlite-writer-setup.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      // The modules are loaded once for all files that a worker runs.
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          // The benchmarks have packages of their own below `test`.
          exclude: [...configDefaults.exclude, ...replacing],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'isolated', include: replacing } },
    ],
    // More than the cores of a small machine: most of the time a test waits, for a timer or another process.
    maxWorkers: 6,
    // Garbage collection takes less time when there is more room for what is new.
    execArgv: ['--max-semi-space-size=64'],
    // Long enough for a machine with much else to do: what never comes is told a little later.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Where all of them run on two cores, a client or a service may be too late by chance; the summary says what was tried again.
    // Not so what shows that nothing is lost: there, one failure is a proof.
    retry: process.env['CI'] === 'true' ? 1 : 0,
    expect: { poll: { timeout: 30_000 } },
  },
});
