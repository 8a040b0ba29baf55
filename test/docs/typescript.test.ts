import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openProxy } from '../client/proxy.js';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { exampleAddress, examples, examplesIn, pageOf, type Example } from './pages.js';
import { createProject, runTool, tsx, typeFaults } from './project.js';

const run = promisify(execFile);
const require = createRequire(import.meta.url);

let testbed: Testbed;

beforeAll(async () => {
  testbed = await startTestbed();
});
afterAll(() => testbed.stop());

const titled = (example: Example): [string, Example] => [example.page, example];

/** What the examples take as given. */
const given = `declare const sessionToken: string;
declare const liveCursor: string;
declare const render: (data: unknown) => void;
declare const signInAgain: () => void;
`;

test('every example compiles', async () => {
  const sources = examples
    .filter(({ language }) => ['ts', 'tsx'].includes(language))
    .map(({ language, text }, index) => [`src/example-${index}.${language}`, text] as const);
  expect(sources.length).toBeGreaterThan(4);
  const folder = createProject({ ...Object.fromEntries(sources), 'src/given.d.ts': given });
  expect(await typeFaults(folder, 'src/given.d.ts', ...sources.map(([name]) => name))).toBe('');
  // So that nothing is told to be right because nothing is looked at.
  const [name, text] = sources.find(([, source]) => source.includes('node.title'))!;
  writeFileSync(join(folder, name), text.replace('node.title', 'node.stage'));
  expect(await typeFaults(folder, 'src/given.d.ts', name)).toContain("'stage' does not exist");
});

test.for(examplesIn('ts', 'ShipmentUpdatesDocument').map(titled))(
  'the client of %s resumes after its connection is cut',
  async ([, { text }]) => {
    const token = await testbed.signIn();
    const proxy = await openProxy(testbed.url);
    const { data } = await testbed.ask('{ liveCursor }', {}, token);
    const prelude = `
      import { WebSocket } from 'ws';
      Object.assign(globalThis, { WebSocket });
      const [sessionToken, liveCursor] = process.argv.slice(2);
      const signInAgain = () => {};
      const render = (data) => console.log(data.shipmentUpdates.shipment.shipmentId);
    `;
    const source = text.replaceAll(exampleAddress, new URL(proxy.url).host);
    const folder = createProject({ 'src/main.ts': prelude + source });
    const child = spawn(tsx[0], [tsx[1], 'src/main.ts', token, data.liveCursor], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(async () => {
      child.kill();
      await proxy.stop();
    });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const send = (id: string) => testbed.sandbox.webhooks.emitShipment({ shipment: { id } });
    const next = async () => String((await lines.next()).value).split(' ')[0];
    // Without `after` it begins once it is connected, so the first is sent until it comes.
    let first: string | undefined;
    void next().then((id) => (first = id));
    await expect.poll(() => send('shp_docs_0').then(() => first)).toBe('shp_docs_0');
    for (const id of ['shp_docs_1', 'shp_docs_2']) {
      proxy.cut();
      await send(id);
      let shown = await next();
      while (shown === 'shp_docs_0') shown = await next();
      expect(shown).toBe(id);
    }
  },
);

test.for(examplesIn('ts', 'NotesDocument').map(titled))(
  'the typed document of %s is answered',
  async ([, { text }]) => {
    const token = await testbed.signIn();
    const { data } = await testbed.ask('{ notes(filter: { pinned: true }) { nodes { title } } }', {}, token);
    const titles = data.notes.nodes.map(({ title }: { readonly title: string }) => title);
    expect(titles.length).toBeGreaterThan(0);
    const source = text.replaceAll(exampleAddress, new URL(testbed.url).host);
    const folder = createProject({
      'src/main.ts': `const [sessionToken] = process.argv.slice(2);\n${source}`,
    });
    const { stdout } = await run(tsx[0], [tsx[1], 'src/main.ts', token], { cwd: folder });
    for (const title of titles) expect(stdout).toContain(title);
  },
);

const codegenConfig = examplesIn('ts', 'CodegenConfig')[0]!.text;

/** Generates types from a document, as configured in the page or otherwise; returns the project's folder. */
async function generate(document: string, config = codegenConfig): Promise<string> {
  const folder = createProject({ 'codegen.ts': config, 'src/own.graphql': document });
  const cli = join(dirname(require.resolve('@graphql-codegen/cli/package.json')), 'cjs', 'bin.js');
  await runTool(folder, cli, '--config', 'codegen.ts');
  return folder;
}

/** The packages that a generated file imports. */
function packagesIn(folder: string, file: string): readonly string[] {
  const text = readFileSync(join(folder, file), 'utf8');
  const found = Array.from(text.matchAll(/ from ["']([^."'][^"']*)["']/g), ([, name]) => name!);
  return [...new Set(found)].toSorted();
}

test('the codegen configuration generates types, also of documents that use the shipped fragments', async () => {
  const folder = await generate('query Own { shipments { nodes { ...ShipmentParts } } }');
  const source = `
    import { gql } from '@apollo/client';
    import { print } from 'graphql';
    import { OwnDocument, ShipmentPartsFragmentDoc, type OwnQuery } from './gql.js';
    export const carrierOf = ({ shipments }: OwnQuery): string | null | undefined => shipments.nodes[0]?.carrier;
    export const revisionOf = ({ shipments }: OwnQuery): number | undefined => shipments.nodes[0]?.revision;
    const other = gql\`query Other { shipments { nodes { ...ShipmentParts } } } \${print(ShipmentPartsFragmentDoc)}\`;
    console.log(JSON.stringify([OwnDocument, other].map(print)));
  `;
  writeFileSync(join(folder, 'src/main.ts'), source);
  expect(await typeFaults(folder, 'src/main.ts')).toBe('');
  // What is not installed by name is not found under pnpm, or Yarn's Plug'n'Play.
  expect(packagesIn(folder, 'src/gql.ts')).toEqual(['@trivium/client']);
  const { stdout } = await run(tsx[0], [tsx[1], 'src/main.ts'], { cwd: folder });
  const token = await testbed.signIn();
  for (const query of JSON.parse(stdout) as readonly string[])
    expect((await testbed.ask(query, {}, token)).errors).toBeUndefined();
});

test('what the preset `client` generates imports no package but those that the page has installed', async () => {
  const configured = codegenConfig
    .replace("'src/gql.ts'", "'src/gql/'")
    .replace("plugins: ['typescript-operations', 'typed-document-node']", "preset: 'client'");
  const folder = await generate('query Own { shipments { nodes { ...ShipmentParts } } }', configured);
  const files = readdirSync(join(folder, 'src/gql'));
  const found = new Set(files.flatMap((file) => packagesIn(folder, join('src/gql', file))));
  const { text } = pageOf('docs/clients/other.md');
  expect(found.size).toBeGreaterThan(0);
  for (const name of found) expect(text).toContain(`\`${name}\``);
});

test('Relay compiles with the types of scalars, when configured as described', async () => {
  const { text } = pageOf('docs/clients/relay.md');
  const [, options] = /`("customScalarTypes": [^`]+)`/.exec(text)!;
  const folder = createProject({
    'relay.config.json': `{"src": "src", "schema": "schema.graphql", "language": "typescript", ${options!.replaceAll('\n', ' ')}}`,
    'schema.graphql': await (await fetch(`${testbed.url}/schema.graphql`)).text(),
    // The page's own example, beside an operation that has each scalar.
    'src/Shipments.ts': `graphql\`${examplesIn('graphql', '@connection')[0]!.text}\`;\n`,
    'src/App.ts':
      'graphql`query AppQuery { payments { nodes { amount updatedAt events { nodes { data } } } } }`;\n',
  });
  const printed = await runTool(folder, 'relay-compiler/cli.js');
  expect(printed).toContain('Compilation completed');
  expect(printed).not.toContain('WARN');
  const types = readFileSync(join(folder, 'src/__generated__/AppQuery.graphql.ts'), 'utf8');
  for (const typed of ['amount: number', 'updatedAt: string', 'data: unknown'])
    expect(types).toContain(typed);
});
