import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { postGraphql } from '../drain/requests.js';
import { settingsFor } from '../bad-store/sending.js';
import { createTestFile } from '../support/sqlite.js';
import { startGatewayProcess } from '../support/process.js';
import { demo } from '../support/testbed.js';

/** A gateway process that reads its grants from a file, of which `grant` changes the text; and what it logs. */
async function startWithGrants(settings: Readonly<Record<string, string>>, onLogged?: () => void) {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const lines: Record<string, unknown>[] = [];
  const gateway = await startGatewayProcess(
    { ...settingsFor(sandbox, await createTestFile()), LOG_LEVEL: 'info', ...settings },
    {
      onLine(line) {
        if (!line.startsWith('{')) return;
        lines.push(JSON.parse(line) as Record<string, unknown>);
        onLogged?.();
      },
    },
  );
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  return { gateway, lines };
}

/** The path of a new file of grants, which grant nothing, and what replaces its text. */
function createGrants() {
  const file = join(mkdtempSync(join(inject('testDirectory'), 'grants-')), 'grants.json');
  /** As an editor or a volume of Kubernetes replaces it: at once. */
  const grant = (text: string) => {
    writeFileSync(`${file}.next`, text);
    renameSync(`${file}.next`, file);
  };
  grant('{}');
  return { file, grant };
}

test('a file of grants that changes while the gateway starts is read anew once it has', async () => {
  const { file, grant } = createGrants();
  let isChanged = false;
  // The first line is a warning, which is logged just after the settings were read.
  const { gateway, lines } = await startWithGrants({ GRANTS_FILE: file, GRANTS_FIEL: 'misspelled' }, () => {
    if (!isChanged) grant('{"*": ["payments:read"]}');
    isChanged = true;
  });
  await expect
    .poll(() => lines)
    .toContainEqual(expect.objectContaining({ addresses: 1, msg: 'the grants were read anew' }));
  expect(lines[0]).toMatchObject({ level: 40 });
  expect(await gateway.end()).toBe(0);
});

test('a file of grants that changes is read anew, marked for an audit; one that is wrong changes nothing', async () => {
  const { file, grant } = createGrants();
  const { gateway, lines } = await startWithGrants({ GRANTS_FILE: file });
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
  grant(JSON.stringify({ [demo.email]: ['payments:read'] }));
  await expect.poll(last).toMatchObject({ audit: true, addresses: 1, msg: 'the grants were read anew' });
  expect(await gateway.end()).toBe(0);
});
