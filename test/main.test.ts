import { expect, onTestFinished, test } from 'vitest';
import { postGraphql } from './drain/asking.js';
import { createTestFile } from './support/engines.js';
import { allGrants, demo } from './support/house.js';
import { startGatewayProcess } from './support/process.js';

const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { viewer { grants } } }';

test.each([{}, { GRANTS: '' }])(
  'beside the sandbox, with %o, the demo user has all grants',
  async (given) => {
    const gateway = await startGatewayProcess({ ...given, DATABASE_URL: await createTestFile() });
    onTestFinished(async () => void (await gateway.end('SIGKILL')));
    const { data } = await postGraphql(gateway.url, signIn, { input: demo });
    expect(data.signIn.viewer.grants).toHaveLength(allGrants.length);
  },
);
