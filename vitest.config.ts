import { defineConfig } from 'vitest/config';

/** What asks over HTTP: all that holds there holds with the lane off, and for every query compiled. */
const overHttp = [
  'test/at-rest.test.ts',
  'test/{calls,errors,faults,relay}/**/*.test.ts',
  'test/server/{graphql,server}.test.ts',
  'test/domains/sessions/sessions.test.ts',
];

const common = {
  // The one graphql that Node gives to the libraries too: two of them refuse each other's schemas.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  // Long enough for a machine with much else to do: what never comes is told a little later.
  test: { testTimeout: 60_000, hookTimeout: 120_000, expect: { poll: { timeout: 10_000 } } },
};

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres-server.ts'],
    // One more than the cores of a small machine: with as many, a sixth of the time is waiting.
    maxWorkers: 3,
    projects: [
      { ...common, test: { ...common.test, name: 'all', include: ['test/**/*.test.ts'] } },
      {
        ...common,
        test: { ...common.test, name: 'lane off', include: overHttp, env: { TRIVIUM_TEST_LANE: 'off' } },
      },
      {
        ...common,
        test: {
          ...common.test,
          name: 'compiled',
          include: overHttp,
          setupFiles: ['test/support/compiled.ts'],
        },
      },
    ],
  },
});
