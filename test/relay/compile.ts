import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ConcreteRequest, ReaderFragment } from 'relay-runtime';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const compiler = require.resolve('relay-compiler/cli.js');

/** What the compiler generated from the documents. */
export interface Artifacts {
  /** The compiler's output. */
  readonly report: string;
  operation(name: string): ConcreteRequest;
  fragment(name: string): ReaderFragment;
}

/** Compiles documents, by default `documents.graphql`, with Relay's own compiler; rejects with its errors. */
export async function compile(schema: string, documents = defaultDocuments()): Promise<Artifacts> {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-relay-'));
  try {
    mkdirSync(join(folder, 'source'));
    mkdirSync(join(folder, 'artifacts'));
    const config = {
      src: './source',
      schema: './schema.graphql',
      artifactDirectory: './artifacts',
      language: 'javascript',
      eagerEsModules: false,
    };
    writeFileSync(join(folder, 'schema.graphql'), schema);
    writeFileSync(join(folder, 'source', 'Screen.js'), `graphql\`${documents}\`;\n`);
    writeFileSync(join(folder, 'relay.config.json'), JSON.stringify(config));
    const { stdout, stderr } = await run(process.execPath, [compiler, 'relay.config.json'], { cwd: folder });
    return { report: stdout + stderr, ...load(join(folder, 'artifacts'), documents) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function load(folder: string, documents: string): Pick<Artifacts, 'operation' | 'fragment'> {
  const names = [
    ...documents.matchAll(/^(?:query|mutation|subscription|fragment) (\w+)|queryName: "(\w+)"/gm),
  ].map(([, named, refetch]) => (named ?? refetch)!);
  const artifacts = new Map(
    names.map((name) => [name, require(join(folder, `${name}.graphql.js`)) as unknown]),
  );
  const get = (name: string) => {
    const artifact = artifacts.get(name);
    if (artifact === undefined) throw new Error(`There is no ${name} in the documents.`);
    return artifact;
  };
  return {
    operation: (name) => get(name) as ConcreteRequest,
    fragment: (name) => get(name) as ReaderFragment,
  };
}

function defaultDocuments(): string {
  return readFileSync(new URL('documents.graphql', import.meta.url), 'utf8');
}
