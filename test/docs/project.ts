import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** The entries of the client package, as in a project that installed it. */
const entries = {
  '.': './client/core/trivium.ts',
  './operations': './client/generated/index.ts',
  './react': './client/react/react.ts',
  './apollo': './client/apollo/apollo.ts',
  './urql': './client/urql/urql.ts',
  './relay': './client/relay/relay.ts',
  './codegen': './client/codegen/codegen.ts',
};

/**
 * Creates a project of a front-end developer: the same installed packages as here, and the client package under its name
 * (the project has that name itself, and its entries). It is removed after the test. Returns its folder.
 */
export function createProject(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  cpSync('src/client', join(folder, 'client'), { recursive: true });
  cpSync('src/generated/schema.graphql', join(folder, 'client/schema.graphql'));
  const operations = readFileSync('src/client/operations.graphql', 'utf8');
  rmSync(join(folder, 'client/operations.graphql'));
  writeFileSync(
    join(folder, 'client/fragments.graphql'),
    operations.match(/^fragment [^]*?^\}/gm)!.join('\n'),
  );
  const manifest = JSON.stringify({ type: 'module', name: '@trivium/client', exports: entries });
  for (const [name, text] of Object.entries({ 'package.json': manifest, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Checks that `--strict` leaves out, though many projects have them. */
const stricter = ['--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes'];

/** The compiler's errors in files of such a project. */
export async function typeFaults(folder: string, ...names: readonly string[]): Promise<string> {
  const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
  try {
    const more = ['--types', 'node', '--lib', 'es2023,dom', '--jsx', 'react-jsx'];
    await run(process.execPath, [compiler, ...options, ...stricter, ...more, ...names], { cwd: folder });
    return '';
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
}

/** The program, and the arguments before a file's own, that run a file in TypeScript. */
export const tsx: readonly [string, string] = [process.execPath, require.resolve('tsx/cli')];

/** Runs a package's program in such a project; returns what it printed. */
export async function runTool(folder: string, tool: string, ...options: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, [require.resolve(tool), ...options], {
    cwd: folder,
  });
  return stdout + stderr;
}
