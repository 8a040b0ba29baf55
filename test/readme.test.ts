import { execFile, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../src/config/config.js';
import type { ConfigError, Environment } from '../src/config/environment.js';
import { openProxy } from './client/proxy.js';
import { startTestbed, type Testbed } from './support/testbed.js';

const readme = readFileSync('README.md', 'utf8');
const run = promisify(execFile);
const require = createRequire(import.meta.url);
const address = '127.0.0.1:4000';

/** The examples in this language, in order. */
function examples(language: string): readonly string[] {
  return Array.from(readme.matchAll(/^```(\w+)\n([^]*?)^```$/gm))
    .filter(([, of]) => of === language)
    .map(([, , text]) => text!);
}

/** The one example in this language that contains these words. */
function example(language: string, words: string): string {
  const [found, ...more] = examples(language).filter((text) => text.includes(words));
  expect(more).toEqual([]);
  return found!;
}

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});

afterAll(() => testbed.stop());

/** Creates a project with the same installed packages as this one; it is removed after the test. */
function createProject(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-readme-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Checks that `--strict` leaves out, though many projects have them. */
const stricter = ['--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes'];

/** The compiler's errors in files of such a project. */
async function typeFaults(folder: string, ...names: readonly string[]): Promise<string> {
  const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
  try {
    const more = ['--types', 'node', '--lib', 'es2023,dom'];
    await run(process.execPath, [compiler, ...options, ...stricter, ...more, ...names], { cwd: folder });
    return '';
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
}

describe('the GraphQL examples', () => {
  const all = examples('graphql');
  const isLive = (source: string) => source.startsWith('subscription');
  const nameOf = (source: string): [string, string] => [source.split(/[ ({]/, 2).join(' '), source];

  test('exist', () => {
    expect(all.length).toBeGreaterThanOrEqual(5);
    expect(all.some(isLive)).toBe(true);
  });

  test.for(all.filter((source) => !isLive(source)).map(nameOf))(
    '%s is answered without errors',
    async ([, source]) => {
      const { data, errors } = await testbed.ask(source, {}, token);
      expect(errors).toBeUndefined();
      const members = Object.values(data as Record<string, { errors?: unknown } | string>);
      expect(members.length).toBeGreaterThan(0);
      for (const member of members) expect((member as { errors?: unknown }).errors ?? []).toEqual([]);
    },
  );

  test.for(all.filter(isLive).map(nameOf))('%s starts from the liveCursor', async ([, query]) => {
    const source = example('graphql', 'liveCursor');
    const { data } = await testbed.ask(source, {}, token);
    await testbed.sandbox.webhooks.emitShipment();
    const client = testbed.socket(token);
    const { value } = await client.iterate({ query, variables: { after: data.liveCursor } }).next();
    await client.dispose();
    expect(value).toMatchObject({ data: { shipmentUpdates: { event: { stage: 'CREATED' } } } });
  });
});

describe('the examples in other languages', () => {
  const cannotCurl = spawnSync('bash', ['-c', 'curl --version']).status !== 0 && process.env['CI'] !== 'true';

  test.skipIf(cannotCurl)('the curl commands sign in and query', async () => {
    const script = example('sh', 'TOKEN=').replaceAll(address, new URL(testbed.url).host);
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script]);
    expect(JSON.parse(stdout)).toMatchObject({ data: { viewer: { name: 'Dana Demo' } } });
  });

  test.skipIf(cannotCurl)('the sandbox fails on request', async () => {
    onTestFinished(() => testbed.sandbox.faults.clear());
    const script = example('sh', 'faults').replaceAll('127.0.0.1:4010', new URL(testbed.sandbox.url).host);
    await run('bash', ['-euo', 'pipefail', '-c', script]);
    const { errors } = await testbed.ask('{ viewer { name } }', {}, token);
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 5 });
  });

  test('the client resumes after its connection is cut', async () => {
    const proxy = await openProxy(testbed.url);
    const { data } = await testbed.ask('{ liveCursor }', {}, token);
    const source = example('ts', 'resuming')
      .replaceAll(address, new URL(proxy.url).host)
      .replace('./client/resume.js', resolve('src/client/resume.ts'));
    const given = `
      import { WebSocket } from 'ws';
      Object.assign(globalThis, { WebSocket });
      const [sessionToken, liveCursor] = process.argv.slice(2);
      const signInAgain = () => {};
      const render = (data) => console.log(data.shipmentUpdates.shipment.shipmentId);
    `;
    const folder = createProject({ 'main.ts': given + source });
    const child = spawn(process.execPath, [require.resolve('tsx/cli'), 'main.ts', token, data.liveCursor], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(async () => {
      child.kill();
      await proxy.stop();
    });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const shown: unknown[] = [];
    for (const id of ['shp_readme_0', 'shp_readme_1', 'shp_readme_2']) {
      await testbed.sandbox.webhooks.emitShipment({ shipment: { id } });
      shown.push((await lines.next()).value);
      proxy.cut();
    }
    expect(shown).toEqual(['shp_readme_0', 'shp_readme_1', 'shp_readme_2']);
  });

  test('the typed document is answered', async () => {
    // A session of its own: the other one is still rate-limited by the failing sandbox above.
    const own = await testbed.signIn();
    const { data } = await testbed.ask('{ notes(filter: { pinned: true }) { nodes { title } } }', {}, own);
    const titles = data.notes.nodes.map(({ title }: { readonly title: string }) => title);
    expect(titles.length).toBeGreaterThan(0);
    const source = example('ts', 'NotesDocument').replaceAll(address, new URL(testbed.url).host);
    const folder = createProject({
      'main.ts': `const [sessionToken] = process.argv.slice(2);\n${source}`,
      'client/generated/index.ts': readFileSync('src/client/generated/index.ts', 'utf8'),
    });
    const tsx = [require.resolve('tsx/cli'), 'main.ts', own];
    const { stdout } = await run(process.execPath, tsx, { cwd: folder });
    for (const title of titles) expect(stdout).toContain(title);
  });

  test('the TypeScript examples compile', async () => {
    const given =
      'declare const sessionToken: string, liveCursor: string, render: (data: unknown) => void, signInAgain: () => void;\n';
    const documents = example('ts', 'NotesDocument');
    const folder = createProject({
      'src/main.ts': given + example('ts', 'resuming'),
      'src/notes.ts': given + documents,
      'src/lib/cache/cache.ts': example('ts', 'typePolicies'),
      'src/client/resume.ts': readFileSync('src/client/resume.ts', 'utf8'),
      'src/client/generated/index.ts': readFileSync('src/client/generated/index.ts', 'utf8'),
      'codegen.ts': example('ts', 'CodegenConfig'),
    });
    const written = ['src/main.ts', 'src/notes.ts', 'src/lib/cache/cache.ts', 'codegen.ts'];
    expect(await typeFaults(folder, ...written)).toBe('');
    writeFileSync(join(folder, 'src/notes.ts'), given + documents.replace('node.title', 'node.stage'));
    expect(await typeFaults(folder, 'src/notes.ts')).toContain("'stage' does not exist");
    writeFileSync(join(folder, 'wrong.ts'), 'const wrong: string = 1;\nexport default wrong;\n');
    expect(await typeFaults(folder, 'wrong.ts')).toContain('wrong.ts');
  });

  /** Generates `src/gql.ts` from a document, as configured in README; returns the project's folder. */
  async function generate(config: string, document: string): Promise<string> {
    const folder = createProject({
      'codegen.ts': config.replaceAll(address, new URL(testbed.url).host),
      'src/own.graphql': document,
      'src/client/operations.graphql': readFileSync('src/client/operations.graphql', 'utf8'),
    });
    const cli = join(dirname(require.resolve('@graphql-codegen/cli/package.json')), 'cjs', 'bin.js');
    await run(process.execPath, [cli, '--config', 'codegen.ts'], { cwd: folder });
    return folder;
  }

  test('the codegen configuration generates types from a running gateway', async () => {
    const folder = await generate(example('ts', 'CodegenConfig'), example('graphql', 'query Notes'));
    const types = readFileSync(join(folder, 'src/gql.ts'), 'utf8');
    expect(types).toContain('export type NotesQuery =');
    expect(types).toContain('export const NotesDocument =');
    expect(await typeFaults(folder, 'src/gql.ts')).toBe('');
  });

  test('documents can use the shipped fragments as described', async () => {
    const [, excluded] = /such as `...ShipmentParts`, leave out `(.+)`/.exec(readme)!;
    const config = example('ts', 'CodegenConfig');
    const included = config.replace(`, ${excluded}`, '');
    expect(included).not.toBe(config);
    const folder = await generate(included, 'query Own { shipments { nodes { ...ShipmentParts } } }');
    const source = `
      import { gql } from '@apollo/client';
      import { print } from 'graphql';
      import { OwnDocument, ShipmentPartsFragmentDoc, type OwnQuery } from './gql.js';
      export const carrierOf = ({ shipments }: OwnQuery): string | null | undefined => shipments.nodes[0]?.carrier;
      const other = gql\`query Other { shipments { nodes { ...ShipmentParts } } } \${print(ShipmentPartsFragmentDoc)}\`;
      console.log(JSON.stringify([OwnDocument, other].map(print)));
    `;
    writeFileSync(join(folder, 'src/main.ts'), source);
    expect(await typeFaults(folder, 'src/main.ts')).toBe('');
    const { stdout } = await run(process.execPath, [require.resolve('tsx/cli'), 'src/main.ts'], {
      cwd: folder,
    });
    for (const query of JSON.parse(stdout) as readonly string[])
      expect((await testbed.ask(query, {}, token)).errors).toBeUndefined();
  });
});

test('Relay compiles next to the copied folder, with the types of scalars, when configured as described', async () => {
  const options = Array.from(readme.matchAll(/`("(?:excludes|customScalarTypes)": [^`]+)`/g)).map(
    ([, text]) => text!,
  );
  expect(options).toHaveLength(2);
  const folder = createProject({
    'relay.config.json': `{"src": "src", "schema": "schema.graphql", "language": "typescript", ${options.join()}}`,
    'schema.graphql': await (await fetch(`${testbed.url}/schema.graphql`)).text(),
    'src/client/operations.graphql': readFileSync('src/client/operations.graphql', 'utf8'),
    'src/App.ts':
      'graphql`query AppQuery { payments { nodes { amount updatedAt events { nodes { data } } } } }`;\n',
  });
  const { stdout, stderr } = await run(process.execPath, [require.resolve('relay-compiler/cli.js')], {
    cwd: folder,
  });
  expect(stdout + stderr).toContain('Compilation completed');
  expect(stdout + stderr).not.toContain('WARN');
  const types = readFileSync(join(folder, 'src/__generated__/AppQuery.graphql.ts'), 'utf8');
  for (const typed of ['amount: number', 'updatedAt: string', 'data: unknown'])
    expect(types).toContain(typed);
});

/** The minimal settings of a gateway. */
const settings: Environment = {
  NOTES_BASE_URL: 'https://notes.example/v1',
  APPOINTMENTS_BASE_URL: 'https://appointments.example/v1',
  APPOINTMENTS_AUTH_URL: 'https://issuer.example',
  APPOINTMENTS_CLIENT_ID: 'id',
  APPOINTMENTS_CLIENT_SECRET: 'secret',
  SHIPMENT_WEBHOOKS: 'sub=secret',
  PAYMENT_WEBHOOKS: 'pe=secret',
};

const read = (environment: Environment) => readConfig(environment, () => '');

describe('the settings', () => {
  const rows = Array.from(readme.matchAll(/^\| (`[A-Z][^|]*)\|([^|]*)\|([^|]*)\|$/gm)).map(
    ([, names, , usual]) => ({
      names: Array.from(names!.matchAll(/`(\w+)`( ◆)?/g)).map(([, name, required]) => ({
        name: name!,
        required: required !== undefined,
      })),
      usual: usual!.trim(),
    }),
  );
  const documented = rows.flatMap(({ names }) => names);
  const [, source = ''] =
    /^const settings = ([^]*?^\}\));$/m.exec(readFileSync('src/config/config.ts', 'utf8')) ?? [];
  const lines = new Map(
    Array.from(source.matchAll(/^ {2}([A-Z_]+): ((?:z|[a-z]\w*)[^]*?),$(?=\n {2}[A-Z_]+:|\n\}\))/gm)).map(
      ([, name, rule]) => [name!, rule!],
    ),
  );

  test('are complete', () => {
    expect(lines.size).toBeGreaterThan(30);
    const there = [...lines.keys()].filter((name) => name !== 'NODE_ENV');
    expect(documented.map(({ name }) => name).toSorted()).toEqual(there.toSorted());
  });

  test('have the documented defaults', () => {
    const exact = /^`[^`]+`(, `[^`]+`)*$/;
    const literal = rows
      .filter(({ usual }) => exact.test(usual))
      .flatMap(({ names, usual }) => {
        const values = Array.from(usual.matchAll(/`([^`]+)`/g)).map(([, value]) => value!);
        expect(values).toHaveLength(names.length);
        return names.map(({ name }, index) => [name, values[index]!] as const);
      });
    for (const [name, value] of literal)
      expect([name, read({ ...settings, [name]: value })]).toEqual([name, read(settings)]);
    const withDefault = [...lines]
      .filter(([, rule]) => /\.default\((?!\[\]\))/.test(rule))
      .map(([name]) => name);
    expect(literal.map(([name]) => name).toSorted()).toEqual(withDefault.toSorted());
  });

  test('that production requires are marked', () => {
    let faults: readonly string[] = [];
    try {
      read({ NODE_ENV: 'production' });
    } catch (error) {
      faults = (error as ConfigError).faults;
    }
    const needed = faults.map((fault) => fault.replace(/:.*/, ''));
    expect(needed.length).toBeGreaterThan(5);
    expect(
      documented
        .filter(({ required }) => required)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(needed.toSorted());
  });

  test('accept the example of grants, and every documented grant', () => {
    expect(read({ ...settings, GRANTS: example('json', '@') }).grants?.size).toBe(2);
    const [, sentence] = /The grants are ([^]*?):\n/.exec(readme)!;
    const names = Array.from(sentence!.matchAll(/`([^`]+)`/g)).map(([, name]) => name);
    expect(names).toHaveLength(5);
    expect(read({ ...settings, GRANTS: JSON.stringify({ '*': names }) }).grants?.get('*')).toHaveLength(5);
  });
});

describe('what the README names exists', () => {
  test('files and folders', () => {
    const linked = Array.from(readme.matchAll(/\]\(([^)#]+?)\)/g)).map(([, path]) => path!);
    const quoted = Array.from(readme.matchAll(/`((?:src|schema|test|\.ci)\/[\w./-]*)`/g)).map(
      ([, path]) => path!,
    );
    const named = [...linked, ...quoted].filter((path) => !path.startsWith('http'));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  test('headings', () => {
    const headings = Array.from(readme.matchAll(/^#+ (.*)$/gm)).map(([, text]) =>
      text!.toLowerCase().replaceAll(' ', '-'),
    );
    const linked = Array.from(readme.matchAll(/\]\(#([^)]+)\)/g)).map(([, anchor]) => anchor!);
    expect(linked.length).toBeGreaterThan(0);
    expect(linked.filter((anchor) => !headings.includes(anchor))).toEqual([]);
  });

  test('npm scripts', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };
    const named = new Set(
      Array.from(readme.matchAll(/\bnpm (?:run )?([a-z]+)/g))
        .map(([, name]) => name!)
        .filter((name) => name !== 'ci'),
    );
    expect(named.size).toBeGreaterThan(5);
    expect([...named].filter((name) => !(name in scripts))).toEqual([]);
  });

  test('routes', async () => {
    const named = ['/livez', '/readyz', '/schema.graphql'];
    expect(named.filter((path) => !readme.includes(`${path}\``))).toEqual([]);
    const answers = await Promise.all(named.map((path) => fetch(testbed.url + path)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
