import { defineConfig } from 'vitest/config';

/** Tests that replace modules, which others must not see. */
const replacing = ['test/gateway.test.ts', 'test/replicas/multicast.test.ts'];

export default defineConfig({
  // The one graphql that Node gives to the libraries too: two of them refuse each other's schemas.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    globalSetup: ['test/support/postgres-server.ts', 'test/support/sqlite-writer-setup.ts'],
    projects: [
      // The modules are loaded once for all files that a worker runs.
      {
        extends: true,
        test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: replacing, isolate: false },
      },
      { extends: true, test: { name: 'isolated', include: replacing } },
    ],
    // One more than the cores of a small machine: with as many, a sixth of the time is waiting.
    maxWorkers: 3,
    // Long enough for a machine with much else to do: what never comes is told a little later.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Where all of them run on two cores, a client or a service may be too late by chance; the report says what was tried again.
    retry: process.env['CI'] === 'true' ? 1 : 0,
    expect: { poll: { timeout: 30_000 } },
  },
});
