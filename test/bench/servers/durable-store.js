import { createHmac, timingSafeEqual } from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';
import { Client } from 'pg';

/**
 * The store of the hand-written server and of the peers: what one would write by hand with the gateway's promise. A
 * delivery is verified, parsed, dropped if its id is known, and folded into the state of its shipment or payment; it is
 * acknowledged once that is committed, together with all that waits. It uses none of the gateway's code.
 */
const secrets = { shipments: 'shipment secret', payments: 'payment secret' };
const maxAgeMs = 300_000;
const received = '{"received":true}';

/** How deliveries of each family are signed and read. */
const kinds = {
  shipments: {
    header: 'shipping-signature',
    signed: (_, body) => [body],
    read({ id, type, created_at: occurredAt, data }) {
      const { id: shipmentId, status, carrier, tracking_number: trackingNumber } = data.shipment;
      const stage = type.slice('shipment.'.length).toUpperCase();
      const event = { eventId: id, type, stage, occurredAt, shipmentId, status, carrier, trackingNumber };
      const state = { shipmentId, status, stage, carrier, trackingNumber, updatedAt: occurredAt };
      return { entity: shipmentId, at: Date.parse(occurredAt), event, state };
    },
  },
  payments: {
    header: 'payments-signature',
    signed: (t, body) => [`${t}.`, body],
    read({ id, type, created, data }) {
      const { id: paymentId, amount, currency, status } = data.object;
      const state = { paymentId, amount, currency, status };
      return { entity: paymentId, at: created * 1000, event: { eventId: id, type, ...state }, state };
    },
  },
};

function verify({ header, signed }, family, headers, body) {
  const [, t, given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers[header] ?? '') ?? [];
  if (t === undefined || Math.abs(Date.now() - t * 1000) > maxAgeMs) return false;
  const hmac = createHmac('sha256', secrets[family]);
  for (const part of signed(t, body)) hmac.update(part);
  return timingSafeEqual(hmac.digest(), Buffer.from(given, 'hex'));
}

/** The delivery as it is stored; undefined if it is not authentic. */
function read({ url, headers }, body) {
  const [, , family] = url.split('/');
  const kind = kinds[family];
  if (!kind || !verify(kind, family, headers, body)) return undefined;
  const parsed = JSON.parse(body.toString());
  return { family, id: `${family} ${parsed.id}`, ...kind.read(parsed) };
}

/** The state after an event: the newest one counts. */
const fold = (before, { at, state }) => (before && before.at > at ? before : { at, ...state });

/** What subscribers get of a stored event; the cursor is as long as a sealed one. */
const toUpdate = ({ seq, event, state }, replayed) => ({
  cursor: String(seq).padStart(100, '0'),
  replayed,
  event,
  shipment: state,
});

/**
 * Opens the store. `take` resolves with the answer to a delivery; `hear` is called with the updates of each commit,
 * before it is acknowledged; `after` gives those after a cursor.
 */
export async function openStore(hear = () => undefined) {
  const address = process.env.DATABASE ?? '';
  const { commit, ...reads } = await (address.includes('://') ? openPostgres(address) : openSqlite(address));
  let waiting;
  let running = Promise.resolve();

  async function run() {
    const batch = waiting;
    waiting = undefined;
    try {
      const stored = await commit(batch.map(({ delivery }) => delivery));
      hear(stored.filter(({ family }) => family === 'shipments').map((one) => toUpdate(one, false)));
      for (const { resolve } of batch) resolve({ body: received });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return {
    ...reads,
    after: (cursor) => reads.rowsAfter(Number(cursor)).map((row) => toUpdate(row, true)),
    async take(request, body) {
      const delivery = read(request, body);
      if (!delivery) return { status: 401, body: '{}' };
      return new Promise((resolve, reject) => {
        // All that comes in this turn of the event loop, and during a commit, is committed together.
        if (!waiting) setImmediate(() => void (running = running.then(run)));
        (waiting ??= []).push({ delivery, resolve, reject });
      });
    },
  };
}

/** Writes in this thread: with group commit that takes the least time, though not for those who wait for it. */
function openSqlite(path) {
  const database = new DatabaseSync(path);
  database.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table if not exists events (seq integer primary key, id text unique, family text, entity text, event text, state text);
    create index if not exists by_entity on events (entity, seq);
    create table if not exists entities (id text primary key, at integer, state text);
    create index if not exists by_time on entities (at)`);
  process.on('exit', () => database.close()); // this also protects it from garbage collection
  const find = database.prepare('select state from entities where id = ?');
  const insert = database.prepare(
    'insert into events (id, family, entity, event, state) values (?, ?, ?, ?, ?) on conflict do nothing',
  );
  const settle = database.prepare('insert or replace into entities values (?, ?, ?)');
  const head = database.prepare('select max(seq) as seq from events');
  const after = database.prepare(`select * from events where seq > ? and family = 'shipments' order by seq`);
  const newest = database.prepare(
    `select state from entities where id like 'shipments %' order by at desc limit ?`,
  );
  const latest = database.prepare('select * from events where entity = ? order by seq desc limit ?');
  const parsed = ({ event, state, ...row }) => ({
    ...row,
    event: JSON.parse(event),
    state: JSON.parse(state),
  });

  return {
    async commit(batch) {
      const stored = [];
      database.exec('begin immediate');
      for (const delivery of batch) {
        const { id, family, event } = delivery;
        const entity = `${family} ${delivery.entity}`;
        const before = find.get(entity);
        const state = fold(before && JSON.parse(before.state), delivery);
        const text = JSON.stringify(state);
        const { changes, lastInsertRowid } = insert.run(id, family, entity, JSON.stringify(event), text);
        if (changes === 0) continue;
        settle.run(entity, state.at, text);
        stored.push({ seq: lastInsertRowid, family, event, state });
      }
      database.exec('commit');
      return stored;
    },
    head: () => head.get().seq ?? 0,
    rowsAfter: (seq) => after.all(seq).map(parsed),
    newest: (limit) => newest.all(limit).map(({ state }) => JSON.parse(state)),
    eventsOf: (shipmentId, limit) => latest.all(`shipments ${shipmentId}`, limit).map(parsed),
  };
}

/** In batches of two round trips, one after the other, on one connection. */
async function openPostgres(connectionString) {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(`
    create table events (seq bigserial primary key, id text unique, family text, entity text, event text, state text);
    create table entities (id text primary key, at bigint, state text)`);
  const look = `select id, state, null as known from entities where id = any($1)
    union all select null, null, id from events where id = any($2)`;
  const write = `with written as (
      insert into events (id, family, entity, event, state) select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
      returning seq)
    , folded as (
      insert into entities select * from unnest($6::text[], $7::bigint[], $8::text[])
      on conflict (id) do update set at = excluded.at, state = excluded.state)
    select seq from written`;

  return {
    async commit(batch) {
      const entityOf = ({ family, entity }) => `${family} ${entity}`;
      const values = [batch.map(entityOf), batch.map(({ id }) => id)];
      const { rows } = await client.query({ name: 'look', text: look, values });
      const known = new Set(rows.map((row) => row.known));
      const states = new Map(rows.map(({ id, state }) => [id, state && JSON.parse(state)]));
      const stored = [];
      const changed = new Map();
      for (const delivery of batch) {
        const { id, family, event } = delivery;
        if (known.has(id)) continue;
        known.add(id);
        const entity = entityOf(delivery);
        const state = fold(states.get(entity), delivery);
        states.set(entity, state);
        changed.set(entity, state);
        stored.push({ id, family, entity, event, state });
      }
      const column = (make) => stored.map(make);
      const written = await client.query({
        name: 'write',
        text: write,
        values: [
          column(({ id }) => id),
          column(({ family }) => family),
          column(({ entity }) => entity),
          column(({ event }) => JSON.stringify(event)),
          column(({ state }) => JSON.stringify(state)),
          [...changed.keys()],
          [...changed.values()].map(({ at }) => at),
          [...changed.values()].map((state) => JSON.stringify(state)),
        ],
      });
      return stored.map((one, index) => ({ ...one, seq: written.rows[index].seq }));
    },
  };
}
