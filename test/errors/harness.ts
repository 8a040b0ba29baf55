import {
  type Answered,
  allGrants,
  type Testbed,
  type TestbedOptions,
  startTestbed,
} from '../support/testbed.js';

/** A signed-in user. */
export interface Person {
  readonly email: string;
  readonly ask: (query: string, variables?: object) => Promise<Answered>;
}

/** An error in a payload. */
export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly path: readonly string[];
}

let people = 0;

/** Starts a testbed for many users: those of `@all.example` have every grant, others none. */
export async function startHarness(options: TestbedOptions = {}) {
  const settings = { GRANTS: JSON.stringify({ '*@all.example': allGrants }), ...options.settings };
  const testbed = await startTestbed({ ...options, settings });
  /** Signs a new user in, who has every grant unless another domain is given. */
  async function join(domain = 'all.example'): Promise<Person> {
    const email = `person${(people += 1)}@${domain}`;
    testbed.sandbox.notes.addUser({ email, password: 'secret words', name: email });
    const token = await testbed.signIn({ email, password: 'secret words' });
    return { email, ask: (query, variables) => testbed.ask(query, variables, token) };
  }

  /** The calls that `run` makes, as `METHOD /path`. */
  async function callsOf(run: () => Promise<unknown>): Promise<readonly string[]> {
    const before = testbed.sandbox.calls.length;
    await run();
    return testbed.sandbox.calls.slice(before).map(({ method, path }) => `${method} ${path}`);
  }

  return { testbed, sandbox: testbed.sandbox, join, callsOf, stop: () => testbed.stop() };
}

/** A testbed for many users. */
export type Harness = Awaited<ReturnType<typeof startHarness>>;

/** The errors as `CODE path.to.member`; if a message is not a sentence, that is shown instead. */
export function faultsOf({ errors }: { readonly errors: readonly Fault[] }): readonly string[] {
  return errors.map(({ code, message, path }) =>
    /^[A-Z0-9].*\.$/.test(message) ? `${code} ${path.join('.')}` : `without a sentence: ${message}`,
  );
}

/** The value of the first root field; throws if the answer has errors. */
export function only({ data, errors }: Answered) {
  if (errors) throw new Error(`There are errors: ${JSON.stringify(errors)}`);
  return Object.values(data as Record<string, unknown>)[0] as Answered['data'];
}

/** Those of the secrets that occur in the testbed's log or in the answers. */
export function leaksOf(
  testbed: Testbed,
  answers: readonly Answered[],
  secrets: readonly string[],
): string[] {
  const shown = testbed.logged() + JSON.stringify(answers);
  return secrets.filter((secret) => shown.includes(secret));
}
