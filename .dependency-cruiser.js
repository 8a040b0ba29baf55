/**
 * The laws of the house: what may import what, type-only and dynamic imports and generated files counted. Arrows only
 * go down: each layer imports those below it. `test/house.test.ts` runs them, and shows that each of them can fail.
 */

/** From the top to the bottom; the rooms of one entry are side by side and do not import each other. */
const layers = [
  ['main\\.ts'],
  ['commands/'],
  ['gateway\\.ts'],
  ['server/'],
  ['api/'],
  ['domains/'],
  ['events/', 'upstream/'],
  ['store/'],
  ['graphql/', 'config/'],
  ['generated/'],
  ['models/'],
  ['lib/'],
];

const below = (at) => layers.slice(at + 1).flat();
const places = (rooms) => `^src/(?:${rooms.join('|')})`;

const downwards = layers.flatMap((rooms, at) =>
  rooms.map((room) => ({
    name: `${room.replace(/\W+ts$|\/$/, '')}-imports-only-what-is-below`,
    severity: 'error',
    from: { path: places([room]) },
    to: {
      path: '^(?:src|schema|test|package)\\b',
      pathNot: places([room, ...below(at), ...(room.startsWith('main') ? ['sandbox/'] : [])]),
    },
  })),
);

export default {
  forbidden: [
    ...downwards,
    {
      name: 'no-cycles',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'no-domain-imports-another',
      comment: 'Sessions sign in through the client of notes.',
      severity: 'error',
      from: { path: '^src/domains/([^/]+)/' },
      to: { path: '^src/domains/', pathNot: ['^src/domains/$1/', '^src/domains/notes/service/client\\.ts$'] },
    },
    {
      name: 'only-sessions-use-the-client-of-notes',
      severity: 'error',
      from: { path: '^src/domains/', pathNot: '^src/domains/(?:notes|sessions)/' },
      to: { path: '^src/domains/notes/' },
    },
    {
      name: 'a-model-imports-nothing',
      severity: 'error',
      from: { path: '^src/models/' },
      to: {},
    },
    {
      name: 'the-sandbox-is-loaded-by-main-alone',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(?:main\\.ts|sandbox/)' },
      to: { path: '^src/sandbox/' },
    },
    {
      name: 'the-sandbox-imports-nothing-of-the-gateway',
      comment: 'It has its own signing code, so that an error cannot hide in both.',
      severity: 'error',
      from: { path: '^src/sandbox/' },
      to: { path: '^(?:src|test)/', pathNot: '^src/sandbox/' },
    },
    {
      name: 'the-client-imports-nothing-of-the-server',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^(?:src|test)/', pathNot: '^src/client/' },
    },
    {
      name: 'the-console-uses-the-client-alone',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^(?:src|test)/', pathNot: '^src/(?:console|client)/' },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '[.](css|svg|graphql|tsx)' },
  },
};
