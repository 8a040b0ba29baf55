import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { noPostgres } from '../support/engines.js';
import { createTestDatabase, execute } from '../support/postgres.js';
import { createSender, expectReadiness, settingsFor, start, stored } from './sending.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());

describe.skipIf(noPostgres)('a gateway whose Postgres password is changed', () => {
  test(
    'answers 503, logs why without the password, and recovers once it is changed back',
    { retry: 0 },
    async () => {
      const url = new URL(await createTestDatabase());
      const asOwner = url.href;
      const role = `role_${randomBytes(6).toString('hex')}`;
      await execute(asOwner, `create role ${role} login password 'first-password'`);
      await execute(asOwner, `alter database ${url.pathname.slice(1)} owner to ${role}`);
      await execute(asOwner, `grant create on schema public to ${role}`);
      const gateway = await start(
        settingsFor(sandbox, Object.assign(url, { username: role, password: 'first-password' }).href),
      );
      const sender = createSender(gateway);
      await sender.expectTaken();

      await execute(asOwner, `alter role ${role} password 'another-password'`);
      await execute(
        asOwner,
        `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`,
      );
      await sender.expectRefused();
      await sender.expectRefused();
      await expectReadiness(gateway, 503);
      expect(gateway.output()).toMatch(
        /"level":50.*password authentication failed.*the database accepts no writes/,
      );
      expect(gateway.output()).not.toContain('first-password');
      expect(await stored(asOwner)).toEqual(sender.acknowledged);

      await execute(asOwner, `alter role ${role} password 'first-password'`);
      await sender.expectTaken();
      await expectReadiness(gateway, 200);
      expect(await stored(asOwner)).toEqual(sender.acknowledged);
    },
  );
});
