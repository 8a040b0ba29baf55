import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The one graphql that Node gives to the libraries too: two of them refuse each other's schemas.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    globalSetup: ['test/support/postgres-server.ts', 'test/support/sqlite-writer-setup.ts'],
    include: ['test/**/*.test.ts'],
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
