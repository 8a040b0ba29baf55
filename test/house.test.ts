import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import extractConfig from 'dependency-cruiser/config-utl/extract-depcruise-config';
import { describe, expect, onTestFinished, test } from 'vitest';

const laws = await extractConfig(resolve('.dependency-cruiser.js'));

/** The breaches of the laws of imports in the `src` of this folder, as `<law>: <from> → <to>`. */
async function breachesIn(folder: string): Promise<readonly string[]> {
  const { output } = await cruise(['src'], {
    ...laws.options,
    parser: 'swc',
    baseDir: folder,
    ruleSet: { forbidden: laws.forbidden ?? [] },
    validate: true,
  });
  const { summary } = output as ICruiseResult;
  expect(summary.totalCruised).toBeGreaterThan(1);
  return summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);
}

/** A folder with these sources; each module that one imports exists. */
function plant(sources: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-house-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text, { flag: 'a' });
  };
  for (const [path, text] of Object.entries(sources)) {
    write(path, text);
    for (const [, to] of text.matchAll(/'(\.[^']*)\.js'/g))
      write(join(dirname(path), `${to!}.ts`), 'export type T = 1;\nexport const t = 1;\n');
  }
  return folder;
}

describe('the laws of imports', () => {
  test('hold', async () => {
    expect(await breachesIn(resolve(import.meta.dirname, '..'))).toEqual([]);
  }, 120_000);

  test.each<readonly [law: string, from: string, text: string]>([
    ['lib-imports-only-what-is-below', 'src/lib/clock.ts', "import '../store/database.js';"],
    ['lib-imports-only-what-is-below', 'src/lib/clock.ts', "import type { T } from '../models/note.js';"],
    ['lib-imports-only-what-is-below', 'src/lib/clock.ts', "import { type T } from '../models/note.js';"],
    ['lib-imports-only-what-is-below', 'src/lib/clock.ts', "export * from '../config/config.js';"],
    [
      'lib-imports-only-what-is-below',
      'src/lib/clock.ts',
      "export const c = import('../graphql/errors.js');",
    ],
    ['store-imports-only-what-is-below', 'src/store/a.ts', "await import('../events/log/log.js');"],
    ['graphql-imports-only-what-is-below', 'src/graphql/a.ts', "import '../../test/support/testbed.js';"],
    ['generated-imports-only-what-is-below', 'src/generated/a.ts', "import '../domains/notes/notes.js';"],
    ['models-imports-only-what-is-below', 'src/models/a.ts', "import '../generated/resolvers.js';"],
    ['events-imports-only-what-is-below', 'src/events/a.ts', "import '../upstream/client.js';"],
    ['gateway-imports-only-what-is-below', 'src/gateway.ts', "import './sandbox/sandbox.js';"],
    ['no-domain-imports-another', 'src/domains/payments/a.ts', "import '../shipments/state.js';"],
    ['no-domain-imports-another', 'src/domains/sessions/a.ts', "import '../notes/notes.js';"],
    [
      'only-sessions-use-the-client-of-notes',
      'src/domains/payments/a.ts',
      "import '../notes/service/client.js';",
    ],
    ['a-model-imports-nothing', 'src/models/a.ts', "import './note.js';"],
    ['the-sandbox-imports-nothing-of-the-gateway', 'src/sandbox/a.ts', "import '../lib/sealer.js';"],
    ['the-client-imports-nothing-of-the-server', 'src/client/a.ts', "import '../generated/resolvers.js';"],
    ['the-console-uses-the-client-alone', 'src/console/a.ts', "import '../graphql/errors.js';"],
  ])('%s fails for %s: %s', async (law, from, text) => {
    expect((await breachesIn(plant({ [from]: text }))).map((breach) => breach.split(':')[0])).toContain(law);
  });

  test('no-cycles fails for a cycle, type-only imports counted', async () => {
    const folder = plant({
      'src/events/log.ts': "import { type T } from './feed.js';\n",
      'src/events/feed.ts': "import { t } from './tail.js';\n",
      'src/events/tail.ts': "import type { T } from './log.js';\n",
    });
    const cycles = (await breachesIn(folder)).filter((breach) => breach.startsWith('no-cycles'));
    expect(cycles).toHaveLength(1);
  });
});

/** The paths of all TypeScript sources, and their texts. */
const sources = new Map(
  readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => [path, readFileSync(join('src', path), 'utf8')]),
);

const environment =
  /\bprocess\s*(?:\??\.\s*(?:env|argv)\b|\[)|\bimport\.meta\.env\b|['"](?:node:)?process['"]|\}\s*=\s*process\b/;
const moduleAddress = /\bnew URL\([^;]*\bimport\.meta\.(?:url|dirname)|\bimport\.meta\.resolve\(\s*['"]\./;
const barrelOrCatchAll = /(?:^|\/)(?:(?:index|types|utils|helpers)\.tsx?$|(?:utils|helpers)\/)/;

/** A law about a single source. */
interface TextLaw {
  readonly law: string;
  breaks(path: string, text: string): boolean;
  /** Where it does not hold. */
  readonly except: RegExp;
  /** Where these would be; `a.ts` if it does not matter. */
  readonly path?: string;
  readonly broken: readonly string[];
  readonly kept: string;
}

/** Laws about a single source: what breaks them, what does not, and where they do not hold. */
const textLaws: readonly TextLaw[] = [
  {
    law: 'only main reads the environment and the command line',
    breaks: (_: string, text: string) => environment.test(text),
    except: /^main\.ts$/,
    broken: [
      'const port = process.env.PORT;',
      "import { argv } from 'node:process';",
      'const { env } = process;',
      "process['env']",
    ],
    kept: 'process.exit(1); // in the process of dying',
  },
  {
    law: 'addresses of modules are written in main and gateway alone, and passed down',
    breaks: (_: string, text: string) => moduleAddress.test(text),
    except: /^(?:main|gateway)\.ts$/,
    broken: [
      "new URL('./worker.js', import.meta.url)",
      'new URL(file, import.meta.url)',
      "import.meta.resolve('./a.js')",
    ],
    kept: "new URL('/', base); import.meta.resolve('tsx/esm/api');",
  },
  {
    law: 'the console uses the client alone, in its components, too, which the tool for imports cannot read',
    breaks: (path: string, text: string) =>
      Array.from(text.matchAll(/['"](\.{1,2}\/[^'"]*)['"]/g)).some(
        ([, to]) => !/^(?:console|client)\//.test(join(dirname(path), to!)),
      ),
    except: /^(?!console\/.*\.tsx$)/,
    path: 'console/app/a.tsx',
    broken: [
      "import { limits } from '../../lib/memory/limits.js';",
      "import type { Note } from '../../models/note.js';",
      "const sandbox = await import('../../sandbox/sandbox.js');",
      "export * from '../../../test/support/testbed.js';",
    ],
    kept: "import '../parts/icons.js'; import { Live } from '../../client/core/live.js';",
  },
];

describe.each(textLaws)('$law', ({ breaks, except, path: place = 'a.ts', broken, kept }) => {
  test('holds', () => {
    const breaches = [...sources].filter(([path, text]) => !except.test(path) && breaks(path, text));
    expect(sources.size).toBeGreaterThan(100);
    expect(breaches.map(([path]) => path)).toEqual([]);
  });

  test('can fail', () => {
    expect(except.test(place)).toBe(false);
    expect(broken.filter((text) => !breaks(place, text))).toEqual([]);
    expect(breaks(place, kept)).toBe(false);
  });
});

test('no folder has more than 16 files, and the root of src only main, gateway and folders', () => {
  const counts = new Map<string, number>();
  for (const path of sources.keys()) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const isFlat = ([folder, count]: readonly [string, number]) =>
    count > 16 && !/^(?:sandbox|console)/.test(folder) && !folder.includes('generated');
  expect([...counts].filter(isFlat)).toEqual([]);
  expect([...sources.keys()].filter((path) => !path.includes('/')).toSorted()).toEqual([
    'gateway.ts',
    'main.ts',
  ]);
});

test('there are no barrels and no catch-all files', () => {
  const isBarrel = (path: string) => barrelOrCatchAll.test(path) && !path.includes('generated/');
  expect([...sources.keys()].filter(isBarrel)).toEqual([]);
  const names = ['notes/index.ts', 'types.ts', 'store/utils/text.ts', 'notes/note-types.ts'];
  expect(names.filter(isBarrel)).toEqual(names.slice(0, 3));
});

test('ARCHITECTURE.md names only files and folders that are there', () => {
  const text = readFileSync('ARCHITECTURE.md', 'utf8');
  // `src/{one,two}.ts` names two files.
  const named = [...text.matchAll(/`(src\/[\w./-]*)(?:\{(.+?)\}(\.\w+))?`/g)].flatMap(
    ([, path, several, end]) =>
      several === undefined ? [path!] : several.split(',').map((name) => `${path}${name}${end}`),
  );
  // In a row about a folder, `name/` is one of its own.
  const below = [...text.matchAll(/^\| `(src\/[\w/-]+)` +\| (.+)$/gm)].flatMap(([, folder, about]) =>
    [...about!.matchAll(/`([\w-]+\/)`/g)].map(([, name]) => (existsSync(name!) ? name! : `${folder}${name}`)),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(below.length).toBeGreaterThan(5);
  expect([...named, ...below].filter((path) => !existsSync(path))).toEqual([]);
});

test('the quick test run, and the order of the others, name only tests that are there', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly scripts: { readonly 'test:quick': string };
  };
  const text = `${scripts['test:quick']} ${readFileSync('vitest.config.ts', 'utf8')}`;
  const named = [...text.matchAll(/\btest\/[\w./-]+(?<!\/)/g)].map(([path]) => path);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(path) && !existsSync(`${path}.test.ts`))).toEqual([]);
});
