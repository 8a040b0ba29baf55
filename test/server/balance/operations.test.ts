import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { digest } from '../../../src/lib/sealer.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';
import {
  ask,
  bytesOf,
  Client,
  deliveryOf,
  endings,
  Probe,
  Wire,
  type Asked,
  long,
  multipart,
  signIn,
  sse,
} from './raw-clients.js';

const watched = vi.hoisted(() => ({
  turns: 0,
  lanes: new Set<string | undefined>(),
  own: '',
  lookUp: Promise.resolve(),
}));
vi.mock(import('../../../src/lib/async/turns.js'), async (load) => {
  const { Turns } = await load();
  return {
    Turns: class extends Turns {
      override enter(caller: string) {
        watched.turns += 1;
        return super.enter(caller);
      }
      override leave(caller: string) {
        watched.turns -= 1;
        super.leave(caller);
      }
      override breathe(caller?: string) {
        watched.lanes.add(caller);
        return super.breathe(caller);
      }
    },
  };
});
vi.mock(import('../../../src/domains/sessions/stored-sessions.js'), async (load) => {
  const { createStoredSessions } = await load();
  return {
    createStoredSessions(options) {
      const stored = createStoredSessions(options);
      const look = stored.load.bind(stored);
      return Object.assign(stored, {
        load: (id: string) => (id === watched.own ? look(id) : watched.lookUp.then(() => look(id))),
      });
    },
  };
});

let testbed: Testbed;
let probe: Probe;
let token: string;
let cursor: string;
const warnings: Error[] = [];
const note = (warning: Error) => void warnings.push(warning);

const bearer = () => ({ authorization: `Bearer ${token}` });
const delivery = (event: object): Asked => deliveryOf(testbed, { id: `evt_${(names += 1)}`, ...event });

const post = (source: string, headers: Record<string, string> = bearer(), isChunked = false): Buffer =>
  bytesOf({ body: JSON.stringify({ query: source }), headers, isChunked });
let names = 0;
let isMixed = false;
const slow = () => `{ tag(name: "tag ${(names += 1)}") { name } }`;
const introspection =
  '{ __schema { types { name description fields { name description type { name } args { name description } } } } }';
const subscribe = (id: string, source: string) => ({ id, type: 'subscribe', payload: { query: source } });
const shipments = 'subscription { shipmentUpdates { cursor event { id type } } }';
const deliveries = 'subscription { webhookDeliveryUpdates { delivery { eventId } } }';
const complete = (id: string) => ({ id, type: 'complete' });

/** Has the service of notes answer nothing while this runs. */
async function hanging(run: () => Promise<void>): Promise<void> {
  const mend = testbed.sandbox.faults.add({ service: 'notes', act: { kind: 'hang' } });
  await run().finally(mend);
}

/** Has no session found while this runs, and then all of them, or a failure. */
async function lookingUp(run: () => Promise<void>, fails = false): Promise<void> {
  let end = (): void => undefined;
  watched.lookUp = new Promise((resolve, reject) => {
    end = () => (fails ? reject(new Error('away')) : resolve());
  });
  watched.lookUp.catch(() => undefined);
  await run().finally(() => {
    end();
    watched.lookUp = Promise.resolve();
  });
}

/** Resolves once the services have been called. Among others that fail, a circuit breaker may be open. */
async function called(run: () => unknown): Promise<void> {
  const { calls } = testbed.sandbox;
  const before = calls.length;
  run();
  const calling = vi.waitUntil(() => calls.length > before, {
    interval: 5,
    timeout: isMixed ? 1_000 : 10_000,
  });
  await (isMixed ? calling.catch(() => undefined) : calling);
}

const ways: Readonly<Record<string, (source: string, headers?: Record<string, string>) => Wire>> = {
  'a query': (source, headers = bearer()) => sent(post(source, headers)),
  'a query that is not plain': (source, headers = bearer()) => sent(post(source, headers, true)),
  'a query by events': (source, headers = bearer()) => sent(post(source, { ...headers, ...sse })),
  'a query in parts': (source, headers = bearer()) => sent(post(source, { ...headers, ...multipart })),
};

function sent(bytes: Buffer, reads = true): Wire {
  return new Wire(testbed.url, reads).send(bytes);
}

async function admitted(): Promise<Client> {
  const client = new Client(testbed.url);
  await client.opened;
  client.send({ type: 'connection_init', payload: bearer() });
  await vi.waitUntil(() => client.messages.length > 0, { interval: 2, timeout: 10_000 });
  return client;
}

/** Resolves once so many new events are stored. */
async function emit(count: number): Promise<void> {
  const events = Array.from({ length: count }, () => {
    const shipment = { id: 'shp_1', status: 'created', carrier: 'DHL', tracking_number: 'JD01' };
    return delivery({ type: 'shipment.created', created_at: '2026-01-02T03:04:05Z', data: { shipment } });
  });
  await Promise.all(events.map((event) => ask(testbed.url, event)));
}

/** How operations begin, and end badly. */
const scenarios: Record<string, () => Promise<void>> = {};
for (const [name, way] of Object.entries(ways))
  for (const how of endings) {
    scenarios[`${name} that ends by ${how} while the service is called`] = () =>
      hanging(async () => {
        let wire: Wire | undefined;
        await called(() => (wire = way(slow())));
        wire!.end(how);
        await probe.turns();
      });
    scenarios[`twenty of ${name} that end by ${how} while most wait for their turn`] = () =>
      hanging(async () => {
        let wires: Wire[] = [];
        await called(() => (wires = Array.from({ length: 20 }, () => way(slow()))));
        for (const wire of wires.toReversed()) wire.end(how);
        await probe.turns();
      });
    for (const fails of [false, true])
      scenarios[
        `${name} that ends by ${how} while its session is looked up, ${fails ? 'in vain' : 'slowly'}`
      ] = () =>
        lookingUp(async () => {
          const wire = way('{ __typename }', { authorization: `Bearer unknown ${(names += 1)}` });
          await probe.turns();
          wire.end(how);
          await probe.turns();
        }, fails);
    scenarios[`${name} that ends by ${how} while its long answer is made`] = async () => {
      for (const reads of [0, 1, 2, 3]) {
        const wire = way(introspection);
        await probe.turns(reads);
        wire.end(how);
      }
    };
    scenarios[`${name} that fails after its service was called, and ends by ${how}`] = async () => {
      const mend = testbed.sandbox.faults.add({ service: 'notes', act: { kind: 'refuse' } });
      const source = slow();
      for (const _ of [1, 2, 3]) {
        const wire = way(source);
        await wire.until((received) => received.length > 20);
        wire.end(how);
      }
      mend();
    };
  }
for (const how of endings) {
  scenarios[`long answers that nobody reads, until it ends by ${how}`] = async () => {
    for (const headers of [bearer(), {}, { ...sse, ...bearer() }]) {
      const bytes = Buffer.concat(Array.from({ length: 30 }, () => post(introspection, headers as never)));
      const wire = sent(bytes, false);
      await probe.turns(20);
      wire.end(how === 'half-close' ? 'close' : how);
    }
  };
  scenarios[`pipelined requests that end by ${how} while the first waits`] = () =>
    hanging(async () => {
      let wire: Wire | undefined;
      const bytes = [
        post(slow()),
        post(slow()),
        post(long),
        bytesOf(delivery({ type: 'strange', long })),
        post(slow(), sse),
        post(slow(), {}, true).subarray(0, -9),
      ];
      await called(() => (wire = sent(Buffer.concat(bytes))));
      wire!.end(how);
      await probe.turns();
    });
  for (const [name, format] of Object.entries({ events: sse, parts: multipart }))
    for (const after of [false, true])
      scenarios[`updates by ${name} ${after ? 'from the past ' : ''}that end by ${how} while they come`] =
        async () => {
          const source = after
            ? `subscription { shipmentUpdates(after: "${cursor}") { cursor event { id } } }`
            : shipments;
          for (const reads of [true, false])
            for (const turns of [0, 1, 3]) {
              const wire = sent(post(source, { ...bearer(), ...format }), reads);
              await probe.turns(turns);
              const emitting = emit(5);
              await probe.turns();
              wire.end(how === 'half-close' ? 'close' : how);
              await emitting;
            }
        };
}
const leave = (client: Client, isReset: boolean) =>
  isReset ? client.stream!.resetAndDestroy() : client.socket.terminate();
/** What a client does on its websocket before that is cut off. */
const sockets: Record<string, (client: Client) => unknown> = {
  'is silent': () => undefined,
  'sends init twice': (client) => client.send({ type: 'connection_init' }).closed,
  'sends no message': (client) => client.send('nothing').closed,
  'sends a part of a message': (client) => client.send('{"type":"subscribe"', false).send(long, false),
  'sends a long message': (client) => client.send(subscribe('1', `{ __typename } #${long}`)),
  'sends long messages': (client) =>
    [1, 2, 3].map((id) => client.send(subscribe(String(id), `{ __typename } #${long}`))),
  'sends an invalid document': (client) => client.send(subscribe('1', '{ nothing }')),
  'sends a mutation': (client) => client.send(subscribe('1', 'mutation { signOut { signedOut } }')),
  'sends an id twice': (client) =>
    client.send(subscribe('1', shipments)).send(subscribe('1', shipments)).closed,
  'sends an id a third time': (client) =>
    hanging(async () => {
      await called(() => client.send(subscribe('1', slow())));
      client.send(complete('1')).send(subscribe('1', slow())).send(subscribe('1', slow()));
      await client.closed;
    }),
  'completes before the answer': (client) =>
    hanging(async () => {
      await called(() =>
        client.send(subscribe('1', slow())).send(subscribe('2', `${slow()} #${long.slice(0, 30_000)}`)),
      );
      client.send(complete('1')).send(complete('2'));
      await probe.turns();
    }),
  'asks for more than it has turns': (client) =>
    hanging(async () => {
      await called(() => {
        for (let id = 0; id < 20; id += 1) client.send(subscribe(String(id), slow()));
      });
      await probe.turns();
    }),
  'asks for what hangs': (client) => hanging(() => called(() => void client.send(subscribe('1', slow())))),
  subscribes: (client) => client.send(subscribe('1', shipments)).send(subscribe('2', deliveries)),
  'subscribes and gets events': async (client) => {
    client
      .send(subscribe('1', shipments))
      .send(subscribe('2', deliveries))
      .send(subscribe('3', `subscription { shipmentUpdates(after: "${cursor}") { cursor event { id } } }`));
    await probe.turns();
    void emit(5);
    await probe.turns();
  },
  'reads nothing': async (client) => {
    client.socket.pause();
    for (let id = 0; id < 30; id += 1) client.send(subscribe(String(id), introspection));
    client.send(
      subscribe('s', `subscription { shipmentUpdates(after: "${cursor}") { cursor event { id } } }`),
    );
    await probe.turns();
    await emit(3);
    await probe.turns();
  },
  pings: (client) => {
    for (let nth = 0; nth < 100; nth += 1) client.socket.ping('x'.repeat(100));
  },
};
for (const [name, act] of Object.entries(sockets))
  for (const isReset of [false, true])
    for (const reads of [0, 2])
      scenarios[`a websocket that ${name}, and ${isReset ? 'is reset' : 'is closed'} after ${reads} turns`] =
        async () => {
          const client = await admitted();
          await act(client);
          await probe.turns(reads);
          leave(client, isReset);
        };
for (const isReset of [false, true])
  for (const fails of [false, true])
    scenarios[
      `a websocket that ${isReset ? 'is reset' : 'is closed'} while its session is looked up, ${fails ? 'in vain' : 'slowly'}`
    ] = () =>
      lookingUp(async () => {
        const client = new Client(testbed.url);
        await client.opened;
        client
          .send({ type: 'connection_init', payload: { authorization: `Bearer unknown ${(names += 1)}` } })
          .send(subscribe('1', long));
        await probe.turns();
        leave(client, isReset);
        await probe.turns();
      }, fails);

beforeAll(async () => {
  process.on('warning', note);
  const settings = { LOG_LEVEL: 'warn', ALLOWED_HOSTS: 'localhost' };
  testbed = await startTestbed({ settings, upstreamTimeoutMs: 1_000 });
  probe = new Probe(testbed);
  token = await signIn(testbed.url);
  watched.own = digest(token);
  const begun = await ask(testbed.url, {
    body: JSON.stringify({ query: '{ liveCursor }' }),
    headers: bearer(),
  });
  cursor = /"liveCursor":"([^"]*)"/.exec(begun)![1]!;
  await emit(20);
});

afterAll(async () => {
  await testbed.stop();
  process.off('warning', note);
});

const patience = { interval: 10, timeout: 20_000 };
const held = async () => ({ ...(await probe.held()), turns: watched.turns });

test.each(Object.keys(ways))(
  'the answer of a stranger goes on in the turns of its network: %s',
  async (way) => {
    watched.lanes.clear();
    const wire = ways[way]!('{ __typename }', {});
    await wire.until((received) => received.includes('"Query"'));
    wire.end('close');
    expect([...watched.lanes]).toEqual(['network 127.0.0.1']);
  },
);

test.each(Object.entries(scenarios))('nothing is held of %s', async (_, run) => {
  await run();
  await expect.poll(held, patience).toEqual({ turns: 0 });
});

test.each([1, 2, 3, 4])(
  'nothing is held of many at once, taken by the seed %i',
  { timeout: 60_000 },
  async (seed) => {
    isMixed = true;
    let state = seed;
    const next = (count: number) => (state = (state * 48_271) % 2_147_483_647) % count;
    const all = Object.values(scenarios);
    await Promise.all(Array.from({ length: 15 }, () => all[next(all.length)]!()));
    await expect.poll(held, patience).toEqual({ turns: 0 });
  },
);

test('the process is not warned, and nothing keeps the gateway from stopping', async () => {
  // A thread is reading these then.
  for (let nth = 0; nth < 40; nth += 1)
    new Wire(testbed.url).send(bytesOf(delivery({ type: 'strange', long })));
  await probe.turns();
  await testbed.gateway.stop();
  expect(await held()).toMatchObject({ turns: 0 });
  expect(await held()).not.toHaveProperty('trivium_memory_held_bytes{kind="read"}');
  expect(warnings).toEqual([]);
  expect(testbed.logged()).not.toMatch(/requests (?:take long|were cut off)/);
});
