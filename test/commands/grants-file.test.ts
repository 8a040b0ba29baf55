import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { postGraphql } from '../drain/requests.js';
import { settingsFor } from '../bad-store/sending.js';
import { createTestFile } from '../support/sqlite.js';
import { startGatewayProcess } from '../support/process.js';
import { demo } from '../support/testbed.js';

test('a file of grants that changes is read anew, marked for an audit; one that is wrong changes nothing', async () => {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const file = join(mkdtempSync(join(inject('testDirectory'), 'grants-')), 'grants.json');
  /** As an editor or a volume of Kubernetes replaces it: at once. */
  const grant = (text: string) => {
    writeFileSync(`${file}.next`, text);
    renameSync(`${file}.next`, file);
  };
  grant('{}');
  const lines: Record<string, unknown>[] = [];
  const gateway = await startGatewayProcess(
    { ...settingsFor(sandbox, await createTestFile()), GRANTS_FILE: file, LOG_LEVEL: 'info' },
    {
      onLine: (line) =>
        void (line.startsWith('{') && lines.push(JSON.parse(line) as Record<string, unknown>)),
    },
  );
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const { data } = await postGraphql(gateway.url, signIn, { input: demo });
  const token = data.signIn.sessionToken as string;
  const refusal = async () => {
    const { errors } = await postGraphql(gateway.url, '{ payments { nodes { id } } }', {}, { token });
    return (errors as { extensions: { code: string } }[] | undefined)?.[0]?.extensions.code;
  };
  const last = () => lines.at(-1);
  expect(await refusal()).toBe('FORBIDDEN');

  grant(JSON.stringify({ [demo.email]: ['payments:read'] }));
  await expect.poll(last).toMatchObject({ audit: true, addresses: 1, msg: 'the grants were read anew' });
  expect(await refusal()).toBeUndefined();

  grant('{"*": ["payments:write"]}');
  await expect.poll(last).toMatchObject({
    level: 50,
    faults: [expect.stringContaining('GRANTS')],
    msg: 'GRANTS_FILE was changed and cannot be used: the grants stay as they were',
  });
  expect(await refusal()).toBeUndefined();
  expect(await gateway.end()).toBe(0);
});
