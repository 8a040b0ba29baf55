import { describe, expect, test } from 'vitest';
import { importsOf, cyclesOf, moduleName, readSources, type Sources } from './support/imports.js';

const domains = ['notes', 'appointments', 'shipments', 'payments', 'sessions'];
const mechanisms = ['upstream', 'events', 'store', 'relay'];
const ground = [
  'errors',
  'bearer',
  'caller',
  'clock',
  'instant',
  'json',
  'metrics',
  'cache',
  'register',
  'seal',
  'signal',
  'telemetry',
  'warnings',
  'limiter',
  'lookahead',
  'pace',
  'portion',
  'generated',
];
const edges = ['server', 'schema', 'context', 'config'];

// What each area (a folder or a module directly in `src`) may import besides itself: an area (`store`), one module
// (`events/feed`) or the modules of one name in every area (`*/model`). A new area needs a row.
const mayImport: Readonly<Record<string, readonly string[]>> = {
  main: ['config', 'environment', 'gateway', 'sandbox'],
  gateway: ['recording', ...edges, ...domains, ...mechanisms, ...ground],
  recording: ['events/commit', 'events/delivery', '*/state', '*/webhook', 'store/procedure'],
  config: ['environment', 'setting'],
  environment: [],
  setting: ['bearer'],
  server: ['schema', 'context', 'sessions', 'events', 'relay', 'store/database', ...ground],
  schema: ['*/resolvers', 'context', 'relay', ...ground],
  context: ['*/access', '*/resolvers', 'sessions', 'events/feed', 'events/place', ...ground],
  sessions: ['notes/client', 'store', 'relay', ...ground],
  notes: ['upstream', 'store', 'relay', ...ground],
  appointments: ['upstream', 'store', 'relay', ...ground],
  shipments: ['events', 'upstream', 'store', 'relay', ...ground],
  payments: ['events', 'upstream', 'store', 'relay', ...ground],
  upstream: ['store', ...ground],
  events: ['store', 'relay', ...ground],
  store: ground,
  relay: ground,
  ...Object.fromEntries(ground.map((area) => [area, ground])),
  generated: ['*/model'],
  sandbox: [],
  client: [],
  console: ['client'],
};

const areaOf = (module: string) => module.split('/')[0]!;
const nameInArea = (module: string) => module.split('/').slice(1).join('/');
const fits = (module: string, place: string) =>
  place === areaOf(module) || place === module || place === `*/${nameInArea(module)}`;

/** The imports between areas that a law forbids. */
function forbidden(sources: Sources, law: (from: string, to: string) => boolean): readonly string[] {
  return importsOf(sources)
    .filter(({ from, to }) => areaOf(from) !== areaOf(to) && law(from, to))
    .map(({ from, to }) => `src/${from} imports src/${to}`);
}

const environment =
  /\bprocess\s*(?:\??\.\s*(?:env|argv)\b|\[)|\bimport\.meta\.env\b|['"](?:node:)?process['"]|\}\s*=\s*process\b/;

const barrelOrCatchAll = /(?:^|\/)(?:(?:index|types|utils|helpers)\.tsx?$|(?:utils|helpers)\/)/;

interface Law {
  /** What breaks the law in these sources. */
  readonly findBreaches: (sources: Sources) => readonly string[];
  /** Sources that break the law, and what is reported: this shows that the law can fail. */
  readonly broken: Sources;
  readonly reported: readonly string[];
}

/** Rows of the table may be extended for a good reason, but these laws always hold. */
const laws: Readonly<Record<string, Law>> = {
  'every module is in an area of the table': {
    findBreaches: (sources) =>
      Object.keys(sources)
        .map(moduleName)
        .filter((module) => !Object.hasOwn(mayImport, areaOf(module)))
        .map((module) => `src/${module} is in no area of the table`),
    broken: { 'mailer/post.ts': '', 'clock.ts': '' },
    reported: ['src/mailer/post is in no area of the table'],
  },
  'an area imports only what its row of the table allows': {
    findBreaches: (sources) =>
      forbidden(sources, (from, to) => !mayImport[areaOf(from)]?.some((place) => fits(to, place))),
    broken: {
      'server/server.ts': "import { openDatabase } from '../store/database.js';\nimport '../store/keyv.js';",
      'schema.ts': "export { noteNodes } from './notes/resolvers.js';\nexport * from './notes/client.js';",
      'store/database.ts': "import settings from '../../package.json' with { type: 'json' };",
    },
    reported: [
      'src/server/server imports src/store/keyv',
      'src/schema imports src/notes/client',
      'src/store/database imports src/../package.json',
    ],
  },
  'no domain imports another, but sessions may sign in with notes/client': {
    findBreaches: (sources) =>
      forbidden(
        sources,
        (from, to) =>
          domains.includes(areaOf(from)) &&
          domains.includes(areaOf(to)) &&
          !(areaOf(from) === 'sessions' && to === 'notes/client'),
      ),
    broken: {
      'sessions/sessions.ts':
        "import { SessionEnded } from '../notes/client.js';\nimport type { Note } from '../notes/model.js';",
      'payments/resolvers.ts':
        "import {\n  foldShipment,\n  type Shipment as Parcel,\n} from '../shipments/state.js';",
    },
    reported: [
      'src/sessions/sessions imports src/notes/model',
      'src/payments/resolvers imports src/shipments/state',
    ],
  },
  'no mechanism imports a domain': {
    findBreaches: (sources) =>
      forbidden(sources, (from, to) => mechanisms.includes(areaOf(from)) && domains.includes(areaOf(to))),
    broken: {
      'events/log.ts': "const { fold } = await import('../payments/state.js');",
      'relay.ts': "type Note = import('./notes/model.js').Note;",
    },
    reported: ['src/events/log imports src/payments/state', 'src/relay imports src/notes/model'],
  },
  'the ground imports only the ground, and generated/ only models': {
    findBreaches: (sources) =>
      forbidden(
        sources,
        (from, to) =>
          ground.includes(areaOf(from)) &&
          !(areaOf(from) === 'generated' ? nameInArea(to) === 'model' : ground.includes(areaOf(to))),
      ),
    broken: {
      'caller.ts': "import type { Grant } from './generated/resolvers.js';\nimport './relay.js';",
      'generated/resolvers.ts':
        "import type { Tag } from '../notes/model.js';\nimport type { Log } from '../events/log.js';",
    },
    reported: ['src/caller imports src/relay', 'src/generated/resolvers imports src/events/log'],
  },
  'a model imports nothing': {
    findBreaches: (sources) =>
      importsOf(sources)
        .filter(({ from }) => nameInArea(from) === 'model')
        .map(({ from, to }) => `src/${from} imports src/${to}`),
    broken: { 'shipments/model.ts': "import type { ShipmentStage } from '../generated/resolvers.js';" },
    reported: ['src/shipments/model imports src/generated/resolvers'],
  },
  'only main reads the environment and the command line': {
    findBreaches: (sources) =>
      Object.entries(sources)
        .filter(([path, source]) => path !== 'main.ts' && environment.test(source))
        .map(([path]) => `src/${path} reads the environment or the command line`),
    broken: {
      'main.ts': 'start(process.env, process.argv[2]);',
      'config.ts': 'const port = process.env.PORT;',
      'gateway.ts': "import { argv } from 'node:process';",
      'telemetry.ts': 'const { env } = process;',
      'seal.ts': "process['env']",
      'errors.ts': 'process.exit(1); // in the process of dying',
    },
    reported: ['config', 'gateway', 'telemetry', 'seal'].map(
      (module) => `src/${module}.ts reads the environment or the command line`,
    ),
  },
  'only main imports the sandbox': {
    findBreaches: (sources) => forbidden(sources, (from, to) => areaOf(to) === 'sandbox' && from !== 'main'),
    broken: {
      'main.ts': "import { startSandbox } from './sandbox/sandbox.js';",
      'gateway.ts': "import { startSandbox } from './sandbox/sandbox.js';",
    },
    reported: ['src/gateway imports src/sandbox/sandbox'],
  },
  'the sandbox imports nothing of the gateway': {
    findBreaches: (sources) => forbidden(sources, (from) => areaOf(from) === 'sandbox'),
    broken: {
      'sandbox/signing.ts':
        "import { createHmac } from 'node:crypto';\nimport { hmac } from '../seal.js';\nimport './tokens.js';",
    },
    reported: ['src/sandbox/signing imports src/seal'],
  },
  'the client imports nothing of the server, the console only the client': {
    findBreaches: (sources) =>
      forbidden(
        sources,
        (from, to) => areaOf(from) === 'client' || (areaOf(from) === 'console' && areaOf(to) !== 'client'),
      ),
    broken: {
      'client/resume.ts': "export type { Note } from '../generated/resolvers.js';",
      'console/explorer.tsx':
        "import { resume } from '../client/resume.js';\nimport { GatewayError } from '../errors.js';",
    },
    reported: [
      'src/client/resume imports src/generated/resolvers',
      'src/console/explorer imports src/errors',
    ],
  },
  'there are no import cycles, type-only imports counted': {
    findBreaches: (sources) => cyclesOf(importsOf(sources)).map((way) => `src/${way.join(' → src/')}`),
    broken: {
      'events/log.ts': "import type { Feed } from './feed.js';",
      'events/feed.ts': "import { pull } from './tail.js';",
      'events/tail.ts': "import { read } from './log.js';",
      'store/sqlite-writer.ts': "new Worker(new URL('./sqlite-worker.js', import.meta.url));",
      'store/sqlite-worker.ts': "import type { WriterRequest } from './sqlite-writer.js';",
      'schema.ts': "import './events/feed.js';\nimport './events/log.js';",
    },
    reported: [
      'src/events/log → src/events/feed → src/events/tail → src/events/log',
      'src/store/sqlite-writer → src/store/sqlite-worker → src/store/sqlite-writer',
    ],
  },
  'there are no barrels and no catch-all files': {
    findBreaches: (sources) =>
      Object.keys(sources)
        .filter((path) => barrelOrCatchAll.test(path) && !path.includes('generated/'))
        .map((path) => `src/${path} is a barrel or a catch-all file`),
    broken: {
      'notes/index.ts': '',
      'types.ts': '',
      'store/utils/text.ts': '',
      'helpers/time.ts': '',
      'notes/note-types.ts': '',
      'client/generated/index.ts': '',
    },
    reported: ['notes/index.ts', 'types.ts', 'store/utils/text.ts', 'helpers/time.ts'].map(
      (path) => `src/${path} is a barrel or a catch-all file`,
    ),
  },
};

const actual = readSources(new URL('../src/', import.meta.url));

describe.each(Object.entries(laws))('%s', (_, { findBreaches, broken, reported }) => {
  test('holds for src', () => {
    expect(Object.keys(actual)).toContain('main.ts');
    expect(findBreaches(actual)).toEqual([]);
  });

  test('reports what breaks it', () => {
    expect(findBreaches(broken)).toEqual(reported);
  });
});

test('importsOf finds every form of import', () => {
  const source = `
    import one from './one.js';
    import {
      two,
      type Two,
    } from "./two.js";
    import type * as three from './three.js';
    import './four.js';
    export * from './five.js';
    export type { Six } from './six.js';
    const seven = await import('./seven.js');
    type Eight = typeof import("../eight.js");
    import nine from './nine.graphql?raw';
    const ten = new URL('./ten.js', import.meta.url);
    import { readFileSync } from 'node:fs';
    import pino from 'pino';
  `;
  const seen = importsOf({ 'notes/client.ts': source }).map(({ to }) => to);
  const others = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'nine.graphql', 'ten'];
  expect(seen.toSorted()).toEqual([...others.map((name) => `notes/${name}`), 'eight'].toSorted());
});
