import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, inject, onTestFinished, test } from 'vitest';
import { lazy } from '../../src/lib/lazy.js';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { createSender, settingsFor, start, stored } from '../bad-store/sending.js';
import type { GatewayProcess } from '../support/process.js';
import { createMigratedFile, createTestFile } from '../support/sqlite.js';
import { demo } from '../support/testbed.js';
import { trivium } from './trivium.js';

const freshFolder = () => mkdtempSync(join(inject('testDirectory'), 'restore-'));
const pathOf = (url: string) => url.slice('sqlite:'.length);
const hasRoot = process.getuid?.() === 0;

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

/**
 * A backup with a key of its own, and a database that was changed since: a folder for each. The change is in the
 * write-ahead log alone, as after a kill.
 */
const template = lazy(async () => {
  const path = pathOf(await createMigratedFile());
  const folder = freshFolder();
  const [file, database] = [join(folder, 'copy.db'), join(folder, 'gateway.db')];
  await trivium(['backup', file], { DATABASE_URL: `sqlite:${path}` });
  writeFileSync(`${file}.key`, `${Buffer.alloc(32, 1).toString('base64')}\n`);
  const changing = new DatabaseSync(path);
  changing.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0; update log_head set pruned = 7');
  for (const end of ['', '-wal', '.key']) copyFileSync(path + end, database + end); // closing empties the log
  changing.close();
  return { file, database };
});

async function changedSince() {
  const made = await template();
  const [file, database] = [join(freshFolder(), 'copy.db'), join(freshFolder(), 'gateway.db')];
  for (const end of ['', '.key']) copyFileSync(made.file + end, file + end);
  for (const end of ['', '-wal', '.key']) copyFileSync(made.database + end, database + end);
  return { file, database, key: readFileSync(`${database}.key`) };
}

/** Read in a copy, so that the files stay as they are. */
function prunedOf(path: string): unknown {
  const copy = join(freshFolder(), 'read.db');
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
  const database = new DatabaseSync(copy);
  const { pruned } = database.prepare('select pruned from log_head').get() as { pruned: unknown };
  database.close();
  return pruned;
}

const contentsOf = (folder: string) =>
  readdirSync(folder)
    .filter((name) => !name.endsWith('.lock'))
    .map((name) => [name, readFileSync(join(folder, name)).toString('base64')]);

const restore = (file: string, database: string, options: string[] = []) =>
  trivium(['restore', file], { DATABASE_URL: `sqlite:${database}` }, options);

async function ask({ url }: GatewayProcess, query: string, token?: string) {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query }),
  });
  return answer.json(); // in the shape of the query
}

async function signIn(gateway: GatewayProcess): Promise<string> {
  const { email, password } = demo;
  const query = `mutation { signIn(input: { email: "${email}", password: "${password}" }) { sessionToken } }`;
  return (await ask(gateway, query)).data.signIn.sessionToken;
}

async function book(gateway: GatewayProcess, token: string, key: string): Promise<void> {
  const { data } = await ask(
    gateway,
    `mutation { createAppointment(input: { idempotencyKey: "${key}", status: BOOKED,
      start: "2027-01-01T09:00:00Z", end: "2027-01-01T09:30:00Z",
      participants: [{ actor: { reference: "Patient/${key}" }, status: ACCEPTED }]
    }) { appointment { id } } }`,
    token,
  );
  expect(data.createAppointment.appointment).not.toBeNull();
}

test('restore brings back what the backup has, without its sign-ins; the database from before is whole', async () => {
  const database = await createTestFile();
  const path = pathOf(database);
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const settings = {
    ...settingsFor(sandbox, database),
    SECRET_KEYS: '', // the key beside the database
    GRANTS: JSON.stringify({ [demo.email]: ['appointments:write'] }),
  };
  const gateway = await start(settings);
  const { acknowledged, send } = createSender(gateway);
  await send();
  const signedOut = await signIn(gateway);
  await book(gateway, signedOut, 'before');
  const file = join(freshFolder(), 'copy.db');
  expect((await trivium(['backup', file], { DATABASE_URL: database })).code).toBe(0);

  await send();
  await book(gateway, signedOut, 'since');
  await ask(gateway, 'mutation { signOut { __typename } }', signedOut);
  const running = await restore(file, path);
  expect([running.code, running.out, running.told]).toEqual([
    1,
    '',
    `Cannot open the database ${path}: another process is using it.\n`,
  ]);
  await gateway.end('SIGKILL'); // leaves a write-ahead log
  const { code, out, told } = await restore(file, path);
  expect([code, told]).toEqual([0, '']);
  expect(out).toContain(`Restored ${path} from ${file}.\n`);
  expect(out).toContain(
    `\nWhat was there before is now ${path}.replaced, ${path}.replaced-wal, ${path}.replaced.key: keep or delete`,
  );
  expect(await stored(database)).toEqual(acknowledged.slice(0, 1));

  const restored = await start(settings);
  expect((await ask(restored, '{ viewer { name } }', signedOut)).data.viewer).toBeNull();
  const token = await signIn(restored);
  const patients = () =>
    sandbox.appointments.booked.map(({ participant }) => participant[0]!.actor.reference);
  await book(restored, token, 'before');
  expect(patients()).toEqual(['Patient/before', 'Patient/since']);
  await book(restored, token, 'since'); // as the command warns
  expect(patients()).toEqual(['Patient/before', 'Patient/since', 'Patient/since']);
  expect(await restored.end()).toBe(0);

  const old = await start({ ...settings, DATABASE_URL: `${database}.replaced` }); // with its key
  expect(await old.end()).toBe(0);
  expect(await stored(`${database}.replaced`)).toEqual(acknowledged);
});

test.runIf(hasRoot)(
  'what root restores belongs to the owner of the database, and to nobody else',
  async () => {
    const { file, database } = await changedSince();
    chownSync(database, 1234, 1235);
    chmodSync(database, 0o600);
    expect((await restore(file, database)).code).toBe(0);
    for (const end of ['', '.key', '.replaced', '.replaced-wal', '.replaced.key']) {
      const { uid, gid, mode } = statSync(database + end);
      expect([end, uid, gid, mode & 0o777]).toEqual([end, 1234, 1235, 0o600]);
    }
    expect(statSync(`${database}.lock`).uid).toBe(1234);
  },
);

test('restore where there is no database makes it, and says which key it needs', async () => {
  const { file } = await changedSince();
  const database = join(freshFolder(), 'data', 'gateway.db');
  const made = await restore(file, database);
  expect([made.code, made.out]).toEqual([0, expect.not.stringContaining('.replaced')]);
  expect(readdirSync(dirname(database)).toSorted()).toEqual([
    'gateway.db',
    'gateway.db.key',
    'gateway.db.lock',
  ]);
  expect(readFileSync(`${database}.key`)).toEqual(readFileSync(`${file}.key`));

  const keyless = `${file}.keyless`;
  copyFileSync(file, keyless);
  const again = await restore(keyless, database);
  expect(again.out).toContain(`There is no ${keyless}.key: set SECRET_KEYS as they were then.`);
  expect(readFileSync(`${database}.key`)).toEqual(readFileSync(`${file}.key`));
});

test('restore keeps a write-ahead log whose database was moved by hand', async () => {
  const { file, database } = await changedSince();
  const moved = join(freshFolder(), 'moved.db');
  renameSync(database, moved);
  const { out } = await restore(file, database);
  expect(out).toContain(`before is now ${database}.replaced-wal, ${database}.replaced.key: `);
  expect(prunedOf(database)).toBe(0);
  copyFileSync(`${database}.replaced-wal`, `${moved}-wal`);
  expect(prunedOf(moved)).toBe(7);
});

test('restore by a link to the database puts the key beside the link, where a start looks for it', async () => {
  const { file, database, key } = await changedSince();
  const link = join(freshFolder(), 'link.db');
  symlinkSync(database, link);
  renameSync(`${database}.key`, `${link}.key`);
  expect((await restore(file, link)).code).toBe(0);
  expect([prunedOf(database), prunedOf(`${database}.replaced`)]).toEqual([0, 7]);
  expect(readdirSync(dirname(link)).toSorted()).toEqual(['link.db', 'link.db.key']);
  expect(readFileSync(`${link}.key`)).toEqual(readFileSync(`${file}.key`));
  expect(existsSync(`${database}.key`)).toBe(false);
  expect(readFileSync(`${database}.replaced.key`)).toEqual(key);
});

test('a second restore does not overwrite what the first has moved aside', async () => {
  const { file, database } = await changedSince();
  await restore(file, database);
  const before = contentsOf(dirname(database));
  const { code, told } = await restore(file, database);
  expect([code, told]).toEqual([
    1,
    `${database}.replaced exists: from a restore before; move elsewhere or delete, together: ` +
      `${database}.replaced, ${database}.replaced-wal, ${database}.replaced.key.\n`,
  ]);
  expect(contentsOf(dirname(database))).toEqual(before);
});

type Changed = Awaited<ReturnType<typeof changedSince>>;

test.for<[what: string, spoil: (given: Changed) => string, fault: RegExp]>([
  ['that is not there', () => 'none.db', /^There is no backup \S+none\.db\.\n$/],
  [
    'in a folder that cannot be looked into', // not even by root
    ({ file }) => {
      symlinkSync(`${file}.loop`, `${file}.loop`);
      return join(`${file}.loop`, 'copy.db');
    },
    /^Cannot read the database \S+copy\.db: ELOOP: /,
  ],
  ['that is the database itself', ({ database }) => database, /gateway\.db is the database itself: /],
  [
    'that is the database by another name',
    ({ file, database }) => {
      linkSync(database, `${file}.link`);
      return `${file}.link`;
    },
    /copy\.db\.link is the database itself: /,
  ],
  [
    'that is not of SQLite',
    ({ file }) => {
      writeFileSync(file, 'a text'.repeat(1_000));
      return file;
    },
    /^Cannot read the database \S+copy\.db: file is not a database\.\n$/,
  ],
  [
    'of another program',
    () => {
      const path = join(freshFolder(), 'other.db');
      change(path, 'create table sessions (id text)');
      return path;
    },
    /^\S+other\.db is not a database of this program\.\n$/,
  ],
  [
    'that is damaged',
    ({ file }) => {
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0xa5, 3 * 4096, 9 * 4096));
      return file;
    },
    /^The backup \S+copy\.db is damaged: /,
  ],
  [
    'of a newer release',
    ({ file }) => {
      change(file, "insert into trivium_migrations values ('9_later', '')");
      return file;
    },
    /^A newer version of this program has changed the database \(9_later\)/,
  ],
  [
    'with a key file that is none',
    ({ file }) => {
      writeFileSync(`${file}.key`, 'short');
      return file;
    },
    /copy\.db\.key does not hold 32 bytes/,
  ],
])('restore refuses a file %s, and changes nothing', async ([, spoil, fault]) => {
  const given = await changedSince();
  const file = spoil(given);
  const before = contentsOf(dirname(given.database));
  const { code, out, told } = await restore(file, given.database);
  expect([code, out, told]).toEqual([1, '', expect.stringMatching(fault)]);
  expect(contentsOf(dirname(given.database))).toEqual(before);
});

test.for<[what: string, spoil: (database: string) => string, fault: string]>([
  ['that is a folder', (database) => dirname(database), 'it is a directory'],
  [
    'that is a link to nothing',
    (database) => {
      symlinkSync(`${database}.none`, `${database}.link`);
      return `${database}.link`;
    },
    'it is a link to a file that is not there',
  ],
  [
    'in a folder that cannot be made',
    (database) => join(database, 'gateway.db'),
    'a part of its path is not a directory',
  ],
])('restore refuses a place %s, and takes nothing from it', async ([, spoil, fault]) => {
  const { file, database } = await changedSince();
  const place = spoil(database);
  const before = readFileSync(database);
  const left = readdirSync(dirname(database));
  const { code, out, told } = await restore(file, place);
  expect([code, out, told]).toEqual([1, '', `Cannot open the database ${place}: ${fault}.\n`]);
  expect(readFileSync(database)).toEqual(before);
  expect(readdirSync(dirname(database))).toEqual(left);
  expect(existsSync(`${place}.lock`)).toBe(false);
});

/** Kills the process just before it copies, moves or removes a file for the `at`th time. */
function killedAt(at: number): string[] {
  const source = `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    let made = 0;
    for (const name of ['copyFileSync', 'renameSync', 'rmSync']) {
      const change = fs[name];
      fs[name] = (...given) => {
        if (++made === ${at}) process.kill(process.pid, 'SIGKILL');
        return change(...given);
      };
    }
    syncBuiltinESMExports();`;
  return ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
}

/** Whether the database and its key at `path` are those of the one from before, of the backup, or none. */
function found(path: string, { key }: Changed): string {
  if (!existsSync(path)) return 'none';
  const isOld = [prunedOf(path) === 7, readFileSync(`${path}.key`).equals(key)];
  return isOld.every(Boolean) ? 'old' : isOld.some(Boolean) ? 'mixed' : 'backup';
}

test('killed at any moment, the database from before is whole, in its place or beside it', async () => {
  const states: string[] = [];
  let left: readonly string[];
  for (let at = 1, code: number | null = null; code !== 0; at++) {
    const given = await changedSince();
    ({ code } = await restore(given.file, given.database, killedAt(at)));
    const state = `${found(given.database, given)}, ${found(`${given.database}.replaced`, given)}`;
    if (states.at(-1) !== state) states.push(state);
    left = readdirSync(dirname(given.database)).toSorted();
  }
  expect(states).toEqual(['old, none', 'none, old', 'backup, old']);
  const moved = ['.replaced', '.replaced-wal', '.replaced.key'];
  expect(left!).toEqual(['', '.key', '.lock', ...moved].map((end) => `gateway.db${end}`));
}, 120_000);

test('restore that fails leaves all as it was', async () => {
  const { file, database } = await changedSince();
  const before = contentsOf(dirname(database));
  const source = `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    fs.renameSync = () => { throw new Error('no space left on device'); };
    syncBuiltinESMExports();`;
  const options = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
  const { told } = await restore(file, database, options);
  expect(told).toBe(`Cannot restore the database ${database}: no space left on device.\n`);
  expect(contentsOf(dirname(database))).toEqual(before);
});

test('restore says what it cannot do', async () => {
  const postgres = await trivium(['restore', 'x.db'], { DATABASE_URL: 'postgres://u:secret@db/gateway' });
  expect(postgres.told).toBe(
    'DATABASE_URL names a Postgres database: restore it with pg_restore or its own means.\n',
  );
  expect((await trivium(['restore'])).told).toBe('Name the backup: trivium restore FILE\n');
});
