import { randomBytes } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createFeed } from '../../../src/events/feed/feed.js';
import type { Log } from '../../../src/events/log/log.js';
import { Relay } from '../../../src/events/relay/relay.js';
import { openStretch, sealRows } from '../../../src/events/relay/stretch.js';
import { createCursors } from '../../../src/graphql/cursors.js';
import { createSealer, digest } from '../../../src/lib/sealer.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { noPostgres } from '../../support/engines.js';
import { noNats, startNats, type TestNats } from '../../support/nats-server.js';
import { freePort } from '../../support/postgres-server.js';
import { createMigratedDatabase } from '../../support/postgres.js';
import { createMember, createRendering, expectGot } from '../members.js';
import { delivery, openTestLog, type TestLog } from '../test-log.js';

const sealer = createSealer([randomBytes(32)]);
const cursors = createCursors(sealer);
const maxPayload = 32_768;

/** The same log, which counts the rows that it gives. */
function counting(log: Log) {
  const counted = { rows: 0 };
  const count =
    <I extends unknown[], O>(read: (...args: I) => Promise<O>, rowsOf: (result: O) => number) =>
    async (...args: I) => {
      const result = await read(...args);
      counted.rows += rowsOf(result);
      return result;
    };
  return {
    counted,
    log: {
      ...log,
      position: count(log.position, (position) => (position ? 1 : 0)),
      read: count(log.read, (entries) => entries.length),
      readOn: count(log.readOn, ({ position, entries }) => entries.length + (position ? 1 : 0)),
      rowsAfter: count(log.rowsAfter, (read) => (read?.rows.length ?? 0) + 1),
    } satisfies Log,
  };
}

describe.skipIf(noPostgres ?? noNats)('the relay', () => {
  let nats: TestNats;
  let client: NatsConnection;
  let url: string;
  let writer: TestLog;
  let head: number;
  let stops: (() => unknown)[];

  beforeAll(async () => {
    [nats] = (await startNats(1, maxPayload)) as [TestNats];
    client = await connect({ servers: nats.address });
  });
  afterAll(async () => {
    await client?.close();
    await nats?.stop();
  });
  beforeEach(async () => {
    url = await createMigratedDatabase();
    writer = await openTestLog(url);
    head = 0;
    stops = [];
  });
  afterEach(async () => {
    await Promise.all(stops.map((stop) => stop()));
    await writer.stop();
  });

  /** A process that follows the log; `through` stands between it and its relay. */
  async function openReplica({
    address = nats.address,
    through = (relay: Pick<Relay, 'listen'>): Pick<Relay, 'listen'> => relay,
    readBy = (log: Log): Log => log,
  } = {}) {
    const { database, log: own, stop } = await openTestLog(url);
    const { log, counted } = counting(readBy(own));
    const lines: string[] = [];
    const telemetry = createTelemetry('info', { write: (line) => void lines.push(line) });
    const servers = { servers: [address], tls: false };
    const relay = new Relay({ servers, log, database, sealer, telemetry });
    const feed = await createFeed({ log, database, cursors, telemetry, relay: through(relay) });
    stops.push(async () => {
      feed.stop();
      await relay.stop();
      await stop();
    });
    const follow = (id: string) => {
      const member = createMember();
      feed.multicast.join(
        id,
        createRendering(({ eventId }) => eventId),
        member,
      );
      return member;
    };
    const { relayEntries, relayRefused, relayPublished, relayConnected } = telemetry.metrics;
    return {
      follow,
      member: follow('first'),
      counted,
      lines: () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
      from: (source: 'relay' | 'database') => relayEntries.of(source).value,
      refused: (reason: string) => relayRefused.of(reason).value,
      published: () => relayPublished.of().value,
      /** As it is exposed: undefined if it is not. */
      connected: () => [...relayConnected.all()][0]?.[1].value,
    };
  }

  type Replica = Awaited<ReturnType<typeof openReplica>>;

  /** Appends so many events, each after the one before was seen by all of these. */
  async function append(
    replicas: readonly Replica[],
    count = 1,
    changes: Parameters<typeof delivery>[2] = {},
  ) {
    for (const last = head + count; head < last;) {
      head += 1;
      await writer.log.append(delivery(`event ${head}`, {}, changes));
      for (const { member } of replicas)
        await expect.poll(() => member.got.at(-1), { interval: 5 }).toBe(`event ${head}`);
    }
  }

  /** Appends events until all of these have got one by the relay. */
  async function getInStep(replicas: readonly Replica[]) {
    const before = replicas.map((replica) => replica.from('relay'));
    await expect
      .poll(async () => {
        await append(replicas);
        return replicas.every((replica, at) => replica.from('relay') > before[at]!);
      })
      .toBe(true);
  }

  const subject = async () => `trivium.${digest((await writer.log.bounds()).id).slice(0, 16)}.entries`;
  /** The references that are published from now on. */
  async function hearReferences() {
    const references: string[] = [];
    const name = await subject();
    const subscription = client.subscribe(name, {
      callback: (_error, message) => {
        if (openStretch(sealer, message.string())?.entries.length === 0) references.push(message.string());
      },
    });
    stops.push(() => subscription.unsubscribe());
    await client.flush();
    return references;
  }

  const events = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => `event ${from + at}`);

  test('has Postgres read by one replica for all', async () => {
    const replicas = await Promise.all(Array.from({ length: 4 }, () => openReplica()));
    await getInStep(replicas);
    const before = replicas.map(({ counted }) => counted.rows);
    await append(replicas, 40);
    const rows = replicas.map(({ counted }, at) => counted.rows - before[at]!).toSorted((a, b) => a - b);
    // Without the relay it is 80 for each. Where the machine stands still for a moment, an event is read all the same.
    expect(rows[2]).toBeLessThan(20);
    // Each row once, with the one before it to see that it is still there; and a poll of a second now and then.
    expect(rows[3]).toBeGreaterThanOrEqual(40);
    expect(rows[3]).toBeLessThan(140);
    for (const { member } of replicas) expect(member.got).toEqual(events(1, head));
    expect(replicas.filter(({ published }) => published() > 0)).toHaveLength(1);
  });

  test('delivers nothing that is forged, and goes on', async () => {
    const replica = await openReplica();
    await getInStep([replica]);
    await append([replica], 2);
    const stolen = createSealer([randomBytes(32)]);
    const position = (await writer.log.position(head))!;
    const { rows } = (await writer.log.rowsAfter((await writer.log.position(head - 1))!, 1))!;
    const forged = { ...rows[0]!, seq: head + 1, event_id: 'forged' };
    const before = replica.from('relay');
    client.publish(await subject(), 'no stretch');
    client.publish(await subject(), '');
    for (const message of sealRows(stolen, position, [forged], maxPayload))
      client.publish(await subject(), message);
    // Even what is sealed by our key counts only if Postgres has signalled it.
    for (const message of sealRows(sealer, position, [forged], maxPayload))
      client.publish(await subject(), message);
    await expect.poll(() => replica.refused('unreadable')).toBe(3);
    await append([replica], 3);
    await getInStep([replica]);
    expect(replica.member.got).toEqual(events(1, head));
    expect(replica.from('relay')).toBeGreaterThan(before);
    expect(replica.lines()).toContainEqual(expect.stringMatching(/refused: it is not encrypted/));
  });

  test('has the database read after a gap, and is in step again', async () => {
    let isDropping = false;
    const through = (relay: Pick<Relay, 'listen'>): Pick<Relay, 'listen'> => ({
      listen: (hear) => relay.listen((stretch) => (isDropping ? undefined : hear(stretch))),
    });
    const [whole, holed] = [await openReplica(), await openReplica({ through })];
    await getInStep([whole, holed]);
    const before = holed.from('database');
    isDropping = true;
    await append([whole, holed], 2);
    isDropping = false;
    await getInStep([whole, holed]);
    expect(holed.from('database')).toBeGreaterThanOrEqual(before + 2);
    for (const { member } of [whole, holed]) expect(member.got).toEqual(events(1, head));
  });

  test('names an event that is too large for a message, which is read from the database', async () => {
    const replicas = [await openReplica(), await openReplica()];
    await getInStep(replicas);
    const before = replicas.map((replica) => replica.from('database'));
    const filler = 'x'.repeat(maxPayload);
    await append(replicas, 1, {
      known: { entityId: 'entity', event: { entityId: 'entity', step: 0, filler } },
    });
    replicas.forEach((replica, at) => expect(replica.from('database')).toBeGreaterThan(before[at]!));
    await getInStep(replicas);
    for (const { member } of replicas) expect(member.got).toEqual(events(1, head));
  });

  test('drops entries of the time after a backup once the database is restored from it', async () => {
    const replicas = [await openReplica(), await openReplica()];
    await getInStep(replicas);
    const kept = head;
    const position = (await writer.log.position(kept))!;
    await append(replicas, 2);
    const { rows: lost } = (await writer.log.rowsAfter(position, 2))!;
    await writer.database.kysely.transaction().execute(async (db) => {
      await db.deleteFrom('events').where('seq', '>', kept).execute();
      await db.deleteFrom('event_ids').where('seq', '>', kept).execute();
      await db.updateTable('log_head').set({ seq: kept }).execute();
    });
    // The one that publishes finds it, and its first word makes the others look.
    for (const { member } of replicas) expect(await member.ended).toMatchObject({ code: 'CURSOR_EXPIRED' });
    const after = replicas.map(({ follow }) => follow('second'));
    for (const message of sealRows(sealer, position, lost, maxPayload))
      client.publish(await subject(), message);
    await client.flush();
    for (const id of ['another', 'and one more']) {
      await writer.log.append(delivery(id));
      for (const { got } of after) await expect.poll(() => got.at(-1)).toBe(id);
    }
    for (const member of after) await expectGot(member, 'another and one more');
  });

  test('is quiet once retention has deleted the newest event, and goes on after it', async () => {
    const reads: number[] = [];
    const readBy = (log: Log): Log => ({
      ...log,
      rowsAfter(position, limit) {
        reads.push(position.seq);
        return log.rowsAfter(position, limit);
      },
    });
    const replica = await openReplica({ readBy });
    await getInStep([replica]);
    await expect.poll(() => reads.at(-1)).toBe(head);
    await writer.database.kysely.updateTable('log_head').set({ pruned: head }).execute();
    await writer.database.kysely.deleteFrom('events').execute();
    const references = await hearReferences();
    const before = reads.length;
    await expect.poll(() => reads.length, { timeout: 10_000 }).toBeGreaterThan(before + 2);
    await client.flush();
    expect(references).toEqual([]);
    await append([replica]);
    await getInStep([replica]);
    expect(replica.member.got).toEqual(events(1, head));
  });

  test('pauses before it begins again where the log no longer has what follows', async () => {
    const reads: number[] = [];
    const readBy = (log: Log): Log => ({
      ...log,
      rowsAfter: () => Promise.resolve(void reads.push(performance.now())),
    });
    await openReplica({ readBy });
    await expect.poll(() => reads.length, { timeout: 10_000 }).toBeGreaterThan(1);
    // The pause is of a second; a timer may be early by a little.
    expect(reads[1]! - reads[0]!).toBeGreaterThan(900);
  });

  test('makes the stream again if it is gone while the connection lasts', async () => {
    const replica = await openReplica();
    await getInStep([replica]);
    const { streams } = await jetstreamManager(client);
    await streams.delete(await streams.find(await subject()));
    await append([replica], 2);
    await getInStep([replica]);
    expect(replica.member.got).toEqual(events(1, head));
  });

  test('connects to NATS again while the database is away', async () => {
    const [own] = (await startNats(1, maxPayload)) as [TestNats];
    onTestFinished(() => own.stop());
    let isAway = false;
    const readBy = (log: Log): Log => ({
      ...log,
      bounds: () => (isAway ? Promise.reject(new Error('The database is away.')) : log.bounds()),
    });
    const replica = await openReplica({ address: own.address, readBy });
    await getInStep([replica]);
    isAway = true;
    await own.kill();
    await expect.poll(() => replica.connected()).toBe(0);
    await own.start();
    await expect.poll(() => replica.connected()).toBe(1);
  });

  test('may be unreachable at the start and later, and logs that once', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const replica = await openReplica({ address });
    await append([replica], 5);
    expect(replica.from('database')).toBe(5);
    expect(replica.connected()).toBe(0);
    await expect.poll(() => replica.lines()).toEqual([expect.stringMatching(/^NATS is away/)]);
    const [late] = (await startNats(1, maxPayload, address)) as [TestNats];
    onTestFinished(() => late.stop());
    await getInStep([replica]);
    await late.kill();
    await append([replica], 5);
    await late.start();
    await getInStep([replica]);
    expect(replica.member.got).toEqual(events(1, head));
    expect(replica.lines().filter((line) => line.startsWith('NATS is away'))).toHaveLength(2);
    expect(replica.lines().filter((line) => line.startsWith('connected'))).toHaveLength(2);
  });
});
