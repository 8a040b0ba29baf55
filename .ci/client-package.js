/**
 * `node .ci/client-package.js <out>`: builds the package `@trivium/client` into `<out>/client`, and packs it as `<out>/client.tgz`: sorted entries with fixed
 * times, so that the same sources give the same bytes. Its dependencies, graphql-ws and wonka, are built into it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

/** The entries of the package, and the modules that they are. */
const entries = {
  '.': 'core/trivium',
  './operations': 'generated/index',
  './react': 'react/react',
  './apollo': 'apollo/apollo',
  './urql': 'urql/urql',
  './relay': 'relay/relay',
  './codegen': 'codegen/codegen',
};

const optionalPeers = {
  react: '>=18',
  '@apollo/client': '^4.0.0',
  '@urql/core': '^6.0.0',
  'relay-runtime': '>=20',
};

function manifest() {
  const { version, license, engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  const target = (module) => ({ types: `./${module}.d.ts`, default: `./${module}.js` });
  return {
    name: '@trivium/client',
    version,
    description: 'The client of a Trivium gateway: sign-in, typed operations, live updates that resume',
    license,
    type: 'module',
    sideEffects: false,
    engines,
    exports: {
      ...Object.fromEntries(Object.entries(entries).map(([name, module]) => [name, target(module)])),
      './fragments.graphql': './fragments.graphql',
      './operations.graphql': './operations.graphql',
      './schema.graphql': './schema.graphql',
      './package.json': './package.json',
    },
    peerDependencies: { graphql: '^16.0.0 || ^17.0.0', ...optionalPeers },
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(optionalPeers).map((name) => [name, { optional: true }]),
    ),
  };
}

/** A header of the format `ustar` for a file. */
function header(name, size) {
  const block = Buffer.alloc(512);
  const octal = (value, width) => `${value.toString(8).padStart(width - 1, '0')}\0`;
  const put = (text, at) => block.write(text, at, 'latin1');
  put(name, 0);
  put(octal(0o644, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(size, 12), 124);
  put(octal(499_162_500, 12), 136); // as npm does: 1985, since some tools take no earlier time
  put(' '.repeat(8), 148);
  put('0', 156);
  put('ustar\x0000', 257);
  put(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  return block;
}

function pack(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .toSorted();
  const blocks = files.flatMap((name) => {
    const content = readFileSync(join(folder, name));
    return [header(`package/${name}`, content.length), content, Buffer.alloc(-content.length & 511)];
  });
  const packed = gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 9 });
  packed[9] = 255; // the operating system: unknown
  return packed;
}

/** Runs a tool of `node_modules`. */
function run(tool, ...options) {
  const { status } = spawnSync(process.execPath, [`node_modules/${tool}`, ...options], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

process.chdir(join(import.meta.dirname, '..'));
const [, , out] = process.argv;
const folder = join(out, 'client');
mkdirSync(folder, { recursive: true });
run('typescript/bin/tsc', '-p', 'src/client/tsconfig.json', '--outDir', resolve(folder));
run(
  'vite/bin/vite.js',
  'build',
  '--config',
  'src/client/vite.config.ts',
  '--outDir',
  resolve(folder),
  '--logLevel',
  'warn',
);
const operations = readFileSync('src/client/operations.graphql', 'utf8');
writeFileSync(join(folder, 'operations.graphql'), operations);
writeFileSync(
  join(folder, 'fragments.graphql'),
  `${operations.match(/^fragment [^]*?^\}/gm).join('\n\n')}\n`,
);
cpSync('src/generated/schema.graphql', join(folder, 'schema.graphql'));
cpSync('src/client/README.md', join(folder, 'README.md'));
cpSync('LICENSE', join(folder, 'LICENSE'));
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
writeFileSync(join(out, 'client.tgz'), pack(folder));
