import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import { signPayment } from '../../src/sandbox/signing.js';

/** What an attack works on. */
export interface Target {
  readonly url: string;
  readonly port: number;
  /** The token of a user who is not the one that is watched. */
  readonly token: string;
  /** `id=secret` pairs of the payments' endpoints. */
  readonly payments: string;
}

/** Attacks until `stop` is aborted, then lets go of everything. */
export type Attack = (target: Target, stop: AbortSignal) => Promise<void>;

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { errors { code } } }';
const introspection = '{ __schema { types { name description fields { name description args { name } } } } }';
const empties = `[${'{},'.repeat(349_000)}{}]`;
const post = (body: string, headers = '') =>
  `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Raw connections, which are cut when the attack is over. */
function dial({ port }: Target, stop: AbortSignal, paused = false): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  stop.addEventListener('abort', () => socket.destroy(), { once: true });
  return paused ? socket.pause() : socket.resume();
}

/** What a socket writes to, for frames that the library does not make. */
const raws = new WeakMap<WebSocket, Socket>();

async function openSockets({ url, token }: Target, stop: AbortSignal, count: number, known = true) {
  const opened = numbers(count).map(async () => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    socket.on('error', () => undefined);
    socket.once('upgrade', (response) => raws.set(socket, response.socket));
    stop.addEventListener('abort', () => socket.terminate(), { once: true });
    await new Promise((resolve) => socket.once('open', resolve).once('close', resolve));
    if (!known) return socket;
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }));
    await new Promise((resolve) => socket.once('message', resolve).once('close', resolve));
    return socket;
  });
  return Promise.all(opened);
}

const over = (stop: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener('abort', () => resolve(), { once: true });
  });

function bodies(count: number, headers: (target: Target) => string): Attack {
  return async (target, stop) => {
    const body = JSON.stringify({ query: signIn, variables: 0 }).replace(
      ':0}',
      `:{"input":{"email":"a@b.example","password":"x"},"x":${empties}}}`,
    );
    const whole = post(body, headers(target));
    const sockets = numbers(count).map(() => dial(target, stop));
    for (const socket of sockets) socket.write(whole.slice(0, -1));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    for (const socket of sockets) socket.write(whole.slice(-1));
    await over(stop);
  };
}

function overSocket(count: number, send: (socket: WebSocket) => void, known = true): Attack {
  return async (target, stop) => {
    for (const socket of await openSockets(target, stop, count, known))
      if (socket.readyState === WebSocket.OPEN) send(socket);
    await over(stop);
  };
}

/** Asks for a hundred notes of ten thousand characters, in so many fields, in so many operations at once. */
function longNotes(fields: number, operations: number): Attack {
  return async ({ url, token }, stop) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const ask = async (query: string, variables = {}) => {
      const body = JSON.stringify({ query, variables });
      await fetch(`${url}/graphql`, { method: 'POST', headers, body }).then((r) => r.text());
    };
    const create = 'mutation ($input: CreateNoteInput!) { createNote(input: $input) { errors { code } } }';
    for (const at of numbers(100))
      await ask(create, { input: { title: `${at}`, content: 'é'.repeat(10_000) } });
    const all = numbers(fields).map((at) => `n${at}: notes(first: 100, after: null) { nodes { content } }`);
    while (!stop.aborted)
      await Promise.all(numbers(operations).map(() => ask(`{ ${all.join(' ')} }`))).catch(() => undefined);
  };
}

/** Asks, again and again, for the tags of twenty notes, each of which has 45,000 of its own. */
function manyTags(query: string): Attack {
  return async ({ url, token }, stop) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const create = 'mutation ($input: CreateNoteInput!) { createNote(input: $input) { errors { code } } }';
    for (const at of numbers(20)) {
      const tags = numbers(45_000).map((tag) => `${at}_${tag.toString(36)}`);
      const body = JSON.stringify({
        query: create,
        variables: { input: { title: 'T', content: 'C', tags } },
      });
      await fetch(`${url}/graphql`, { method: 'POST', headers, body }).then((r) => r.text());
    }
    await samePost(4, JSON.stringify({ query }), headers)({ url } as Target, stop);
  };
}

/** Posts a body with these headers so many times at once, again and again. */
function samePost(count: number, body: string, own: Readonly<Record<string, string>> = {}): Attack {
  return async ({ url }, stop) => {
    const headers = { 'content-type': 'application/json', ...own };
    while (!stop.aborted)
      await Promise.all(
        numbers(count).map(() =>
          fetch(`${url}/graphql`, { method: 'POST', headers, body }).then((r) => r.text()),
        ),
      ).catch(() => undefined);
  };
}

/** Asks for a thousand entities, in as many fields as an operation may have for it. */
function entities(representationOf: (at: number) => unknown): Attack {
  const query = `query ($all: [_Any!]!) { ${aliases(49, '_entities(representations: $all) { __typename }')} }`;
  const body = JSON.stringify({ query, variables: { all: numbers(1_000).map(representationOf) } });
  return async (target, stop) => samePost(4, body, { authorization: `Bearer ${target.token}` })(target, stop);
}

/** Delivers payment events, each with this text as a member of its data. */
async function deliver({ url, payments }: Target, name: string, events: number, text: string): Promise<void> {
  const [id = '', secret = ''] = (payments.split(',')[0] ?? '').split(/=(.*)/s);
  const began = Math.floor(Date.now() / 1_000);
  await Promise.all(
    numbers(events).map(async (at) => {
      const body = `{"id":"${name}_${at}","type":"payment.succeeded","created":${began},"livemode":false,"data":{"object":{"id":"pay_${at}"},"x":${text}}}`;
      const headers = { 'payments-signature': signPayment(secret, undefined, began, body) };
      await fetch(`${url}/webhooks/payments/${id}`, { method: 'POST', headers, body }).then((r) => r.text());
    }),
  );
}

const longText = JSON.stringify('x'.repeat(900_000));
const subscribe = (id: number, field = 'paymentUpdates') =>
  JSON.stringify({
    id: `${id}`,
    type: 'subscribe',
    payload: { query: `subscription { ${field} { event { data } } }` },
  });

/** Fragments of one byte, masked, without an end. */
const fragments = (count: number) =>
  Buffer.concat(numbers(count).map((at) => Buffer.from([at === 0 ? 1 : 0, 0x81, 0, 0, 0, 0, 0x20])));

/** A masked frame of a client, with its payload. */
function frame(opcode: number, payload = ''): Buffer {
  const { length } = payload;
  const size = length < 126 ? [length] : [126, length >> 8, length & 0xff];
  return Buffer.concat([
    Buffer.from([0x80 | opcode, 0x80 | size[0]!, ...size.slice(1), 0, 0, 0, 0]),
    Buffer.from(payload),
  ]);
}

/** Frames that are the same, up to so many bytes. */
const frames = (one: Buffer, bytes: number) =>
  Buffer.concat(numbers(Math.floor(bytes / one.length)).map(() => one));

/** Sends frames in one piece on so many sockets at once; again and again, if it is known who calls. */
function flood(count: number, bytes: Buffer, known: boolean): Attack {
  return async (target, stop) => {
    do {
      const sockets = await openSockets(target, stop, count, known);
      for (const socket of sockets) raws.get(socket)?.pause().write(bytes);
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      for (const socket of sockets) socket.terminate();
    } while (!stop.aborted);
  };
}

/** Sends the same on so many connections at once, first the beginning and then the end; again and again. */
function together(count: number, begin: string, end: string): Attack {
  return async (target, stop) => {
    while (!stop.aborted) {
      const sockets = numbers(count).map(() => dial(target, stop));
      for (const part of [begin, end]) {
        for (const socket of sockets) socket.write(part);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      for (const socket of sockets) socket.destroy();
    }
  };
}

/** Opens so many connections at once, again and again, and writes the request to each so many times. */
function knocking(count: number, request: string, times: number): Attack {
  const whole = request.repeat(times);
  return async (target, stop) => {
    while (!stop.aborted) {
      const sockets = numbers(count).map(() => dial(target, stop));
      for (const socket of sockets) socket.write(whole);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      for (const socket of sockets) socket.destroy();
    }
  };
}

/** Bytes without end that the parser takes and that lead to nothing, on so many connections; again once they are closed. */
function silent(count: number, begin: string, more: string): Attack {
  const chunk = Buffer.from(more.repeat(64_000 / more.length));
  return async (target, stop) => {
    const bring = (): void => {
      const socket = dial(target, stop);
      const write = (): void => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.write(begin);
      socket.on('connect', write).on('drain', write);
      socket.on('close', () => void (stop.aborted || setTimeout(bring, 50)));
    };
    for (let at = 0; at < count; at += 1) bring();
    await over(stop);
  };
}

const chunked =
  'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

/** The first line and headers of a GET that counts as sent by no form. */
const get = (path: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nApollo-Require-Preflight: x\r\n${headers}`;

const aliases = (count: number, field: string) =>
  numbers(count)
    .map((at) => `a${at}:${field}`)
    .join(' ');

/** Posts so many different bodies, each of which is kept. */
function different(count: number, bodyOf: (at: number) => string): Attack {
  return async ({ url }, stop) => {
    const headers = { 'content-type': 'application/json' };
    for (let at = 0; at < count && !stop.aborted; at += 4)
      await Promise.all(
        numbers(4).map((next) =>
          fetch(`${url}/graphql`, { method: 'POST', headers, body: bodyOf(at + next) }).then((r) => r.text()),
        ),
      ).catch(() => undefined);
    await over(stop);
  };
}

/** Keeps 600 connections on their way, each of which is closed as soon as it has sent this. */
function coming(text: string): Attack {
  return async (target, stop) => {
    const one = () => {
      const socket = dial(target, stop);
      socket.once('connect', () => socket.write(text, () => socket.destroy()));
      socket.once('close', () => stop.aborted || one());
    };
    for (let at = 0; at < 600; at += 1) one();
    await over(stop);
  };
}

/** The attack for which the notes service is one that `startCrumblingService` starts. */
export const crumbling = 'a service that answers in chunks of one byte';

/** By name. */
export const attacks: Readonly<Record<string, Attack>> = {
  'sign-ins with a million bytes of empty objects': bodies(30, () => ''),
  'the same, signed in': bodies(40, ({ token }) => `Authorization: Bearer ${token}\r\n`),
  'the same, over websockets': overSocket(40, (socket) =>
    socket.send(
      `{"id":"1","type":"subscribe","payload":{"query":"{ notes { nodes { id } } }","variables":{"x":${empties}}}}`,
    ),
  ),
  'lists of 250,000 ids over websockets': overSocket(20, (socket) => {
    const variables = `{"ids":[${'1,'.repeat(249_999)}1]}`;
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const ask = (id: number) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(
        `{"id":"${id}","type":"subscribe","payload":{"query":"${query}","variables":${variables}}}`,
      );
      setTimeout(() => ask(id + 1), 500);
    };
    ask(1);
  }),
  'introspection that is never read': async (target, stop) => {
    const whole = post(JSON.stringify({ query: introspection }));
    for (let at = 0; at < 4_500 && !stop.aborted; at += 1) {
      dial(target, stop, true).write(whole.repeat(8));
      if (at % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await over(stop);
  },
  'websocket answers that are never read': overSocket(14, (socket) => {
    socket.pause();
    for (const id of numbers(400))
      socket.send(JSON.stringify({ id: `${id}`, type: 'subscribe', payload: { query: introspection } }));
  }),
  'unfinished messages of a mebibyte': overSocket(2_000, (socket) =>
    socket.send('x'.repeat(1_000_000), { fin: false }),
  ),
  'messages of 16,000 fragments': overSocket(
    290,
    (socket) => void raws.get(socket)?.write(fragments(16_000)),
  ),
  'fragments before it is known who calls': overSocket(
    600,
    (socket) => void raws.get(socket)?.write(fragments(9_000)),
    false,
  ),
  'payment events of a mebibyte, with a subscriber': async (target, stop) => {
    const [socket] = await openSockets(target, stop, 1);
    socket?.send(subscribe(1));
    await deliver(target, 'empties', 22, `${empties.slice(0, 1_000_000)}{}]`);
    await over(stop);
  },
  'payment events of a mebibyte, with 600 subscribers': async (target, stop) => {
    for (const socket of await openSockets(target, stop, 600)) socket.send(subscribe(1));
    for (let at = 0; !stop.aborted; at += 1) {
      await deliver(target, `long_${at}`, 1, longText);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
    }
  },
  'past payment events of a mebibyte that are never read': async (target, stop) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${target.token}` };
    const body = JSON.stringify({ query: '{ liveCursor }' });
    const asked = await fetch(`${target.url}/graphql`, { method: 'POST', headers, body });
    const { data } = (await asked.json()) as { data: { liveCursor: string } };
    await deliver(target, 'past', 3, longText);
    for (const socket of await openSockets(target, stop, 14)) {
      socket.pause();
      for (const id of numbers(1_000))
        socket.send(subscribe(id, `paymentUpdates(after: "${data.liveCursor}")`));
    }
    await over(stop);
  },
  'notes of ten thousand characters, read together': longNotes(20, 50),
  'notes with very many tags, counted': manyTags('{ notes(first: 2) { nodes { tags { count } } } }'),
  'very many tags, in 200 fields': manyTags(`{ ${aliases(200, 'tags(first: 100) { edges { cursor } }')} }`),
  'a long text that 380 fields are given': async (target, stop) =>
    samePost(
      1,
      JSON.stringify({
        query: `query ($long: String!) { ${aliases(380, 'tag(name: $long) { id }')} }`,
        variables: { long: 'İΣ'.repeat(220_000) },
      }),
      { authorization: `Bearer ${target.token}` },
    )(target, stop),
  'the schema in 750 fields': samePost(40, JSON.stringify({ query: `{ ${aliases(750, '_service{sdl}')} }` })),
  'the schema in 750 fields, as streams': samePost(
    40,
    JSON.stringify({ query: `{ ${aliases(750, '_service{sdl}')} }` }),
    { accept: 'text/event-stream' },
  ),
  'answers of over 32 million characters': longNotes(40, 10),
  [crumbling]: longNotes(1, 20),
  'connections until no descriptor is left': async (target, stop) => {
    for (let at = 0; at < 20_000 && !stop.aborted; at += 1) {
      dial(target, stop);
      if (at % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await over(stop);
  },
  'connections that come and go, 600 at a time': coming(get('/graphql?query={__typename}') + '\r\n'),
  'bodies of 63 KiB that never end': async (target, stop) => {
    const whole = post('x'.repeat(63 * 1024 + 1));
    for (let at = 0; at < 6_000 && !stop.aborted; at += 1) {
      dial(target, stop).write(whole.slice(0, -1));
      if (at % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await over(stop);
  },
  'long bodies that end together': async (target, stop) => {
    const whole = post(`{"query":"{ __typename }","x":"${'\\u0000'.repeat(170_000)}"}`);
    while (!stop.aborted) {
      const sockets = numbers(120).map(() => dial(target, stop));
      for (const socket of sockets) socket.write(whole.slice(0, -1));
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      for (const socket of sockets) socket.write(whole.slice(-1));
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      for (const socket of sockets) socket.destroy();
    }
  },
  'bodies in chunks of one byte': async (target, stop) => {
    const chunks = '1\r\nx\r\n'.repeat(10_000);
    for (const at of numbers(200)) {
      const line = at % 2 === 0 ? 'POST /graphql' : 'GET /livez';
      const head = `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const socket = dial(target, stop);
      const writeOn = () => {
        while (!stop.aborted && !socket.destroyed && socket.write(chunks));
      };
      socket.on('drain', writeOn).write(head);
      writeOn();
    }
    await over(stop);
  },
  'pipelined requests with 1,990 headers': async (target, stop) => {
    const one = `GET /graphql?query={__typename} HTTP/1.1\r\nHost: x\r\n${'a:\r\n'.repeat(1_990)}\r\n`;
    for (const _ of numbers(100)) dial(target, stop, true).write(one.repeat(99));
    await over(stop);
  },
  'a media type of 15,500 blanks': samePost(4, '{}', {
    'content-type': `text/plain${' '.repeat(15_500)}x`,
  }),
  'a list of 3,900 media types': samePost(4, '{}', { accept: 'a/b,'.repeat(3_900) }),
  'documents that repeat a field': samePost(
    10,
    JSON.stringify({ query: `{ ${'viewer{id}'.repeat(1_600)} }` }),
  ),
  'a mebibyte of escapes': samePost(
    8,
    `{"query":"{ __typename }","operationName":"${'\\u0000'.repeat(170_000)}"}`,
  ),
  '200 scrapes at once': async ({ url }, stop) => {
    while (!stop.aborted)
      await Promise.all(numbers(200).map(() => fetch(`${url}/metrics`).then((r) => r.text()))).catch(
        () => undefined,
      );
  },
  'pings before it is known who calls': flood(300, frames(frame(9), 65_000), false),
  'pings of the protocol before it is known who calls': flood(
    300,
    frames(frame(1, '{"type":"ping"}'), 65_000),
    false,
  ),
  'long pings of the protocol before it is known who calls': flood(
    600,
    frames(frame(1, `{"type":"ping","payload":${empties.slice(0, 16_000)}{}]}`), 65_000),
    false,
  ),
  'line breaks before a request': silent(600, '', '\r\n'),
  'line breaks after a request': silent(600, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n', '\r\n'),
  'blanks before an address': silent(600, 'GET', ' '),
  'blanks before the value of a header': silent(600, 'GET /livez HTTP/1.1\r\nHost: x\r\na:', ' '),
  'blanks before the value of a trailer': silent(600, `${chunked}0\r\na:`, ' '),
  'zeros before the size of a chunk': silent(600, chunked, '0'),
  'pings on 1,000 websockets': flood(1_000, frames(frame(9), 65_000), true),
  'pings of the protocol on 1,000 websockets': flood(
    1_000,
    frames(frame(1, '{"type":"ping"}'), 65_000),
    true,
  ),
  'pongs on 2,000 websockets before it is known who calls': flood(2_000, frames(frame(10), 60_000), false),
  pings: flood(100, frames(frame(9), 65_000), true),
  'pings of the protocol': flood(100, frames(frame(1, '{"type":"ping"}'), 65_000), true),
  'messages about operations that there are not': flood(
    100,
    frames(frame(1, '{"id":"x","type":"complete"}'), 65_000),
    true,
  ),
  'pipelined short requests': async (target, stop) => {
    const whole = 'GET /livez HTTP/1.1\r\nHost:x\r\n\r\n'.repeat(2_000);
    while (!stop.aborted) {
      const sockets = numbers(30).map(() => dial(target, stop));
      for (const socket of sockets) socket.write(whole);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      for (const socket of sockets) socket.destroy();
    }
  },
  'pipelined short requests on 300 connections, together': together(
    300,
    '',
    'GET /livez HTTP/1.1\r\nHost:x\r\n\r\n'.repeat(2_000),
  ),
  'pipelined requests without a Host on 300 connections, together': together(
    300,
    '',
    'GET /livez HTTP/1.1\r\n\r\n'.repeat(2_000),
  ),
  'pipelined queries of a user on 600 connections, together': async (target, stop) => {
    const query = get('/graphql?query={viewer{id}}', `Authorization: Bearer ${target.token}\r\n`);
    await together(600, '', `${query}\r\n`.repeat(60))(target, stop);
  },
  'pipelined queries on 1,000 connections, together': together(
    1_000,
    '',
    `${get('/graphql?query={__typename}')}\r\n`.repeat(60),
  ),
  'pipelined bodies on 600 connections, together': together(
    600,
    '',
    post('{"query":"{__typename}"}').repeat(60),
  ),
  'tiny chunks on 300 connections, together': together(
    300,
    'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    '1\r\nx\r\n'.repeat(10_900),
  ),
  'pipelined bodies after a short one on 600 connections, together': together(
    600,
    post('{"query":"{__typename}"}'),
    post('{"query":"{__typename}"}').repeat(60),
  ),
  'pipelined streams on 300 new connections': knocking(
    300,
    get('/graphql?query={__typename}', 'Accept: text/event-stream\r\n') + '\r\n',
    200,
  ),
  'pipelined schemas on 3,000 new connections': knocking(3_000, get('/schema.graphql') + '\r\n', 20),
  'pipelined deliveries without an end': async (target, stop) => {
    const whole = 'GET /webhooks/a/b HTTP/1.1\r\nHost:x\r\n\r\n'.repeat(1_500);
    while (!stop.aborted) {
      const sockets = numbers(20).map(() => dial(target, stop));
      for (const socket of sockets) {
        const writeOn = () => {
          while (!socket.destroyed && socket.write(whole));
        };
        socket.on('drain', writeOn);
        writeOn();
      }
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      for (const socket of sockets) socket.destroy();
    }
  },
  'requests with many parameters on 300 connections': together(
    300,
    get(`/graphql?query={__typename}&${'a&'.repeat(7_500)}`),
    '\r\n',
  ),
  'requests with many cookies on 300 connections': together(
    300,
    get('/livez', `Cookie: ${'a=%41%zz;'.repeat(1_600)}\r\n`),
    '\r\n',
  ),
  'bodies of 60 KiB that end together': together(
    300,
    post(`{"query":"{ __typename }","variables":{"x":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`).slice(
      0,
      -1,
    ),
    '}',
  ),
  'websockets with many protocols, 600 at once': together(
    600,
    get(
      '/graphql',
      `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: ${numbers(3_000).join()}\r\n`,
    ),
    '\r\n',
  ),
  'bodies for an address where nothing is': async (target, stop) => {
    const body = `{"__proto__":1,"x":${empties}}`;
    const whole = post(body).replace('/graphql', '/nothing');
    while (!stop.aborted) {
      const sockets = numbers(30).map(() => dial(target, stop));
      for (const socket of sockets) socket.write(whole.slice(0, -1));
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      for (const socket of sockets) socket.write(whole.slice(-1));
      await new Promise((resolve) => setTimeout(resolve, 2_000));
    }
  },
  'variables with a long string and many errors': samePost(
    30,
    JSON.stringify({
      query: signIn,
      variables: {
        input: {
          email: 'é'.repeat(10) + '\u0001'.repeat(170_000),
          ...Object.fromEntries(numbers(60).map((at) => [`x${at}`, 1])),
        },
      },
    }),
  ),
  'long documents that are valid': different(400, (at) =>
    JSON.stringify({ query: `{ a${at}: __typename } # é${'x'.repeat(1_000_000)}` }),
  ),
  'documents of many tokens that are valid': different(1_200, (at) =>
    JSON.stringify({
      query: `query ($a: ID!) { a${at}: nodes(ids: [${'$a'.repeat(2_480)}]) { id } }`,
      variables: { a: 'x' },
    }),
  ),
  'documents that take long to compile': async ({ url }, stop) => {
    const headers = { 'content-type': 'application/json' };
    const kinds = ['notes(first:1)', 'nodes', 'tags'];
    const variables = Object.fromEntries(numbers(190).map((at) => [`v${at}`, false]));
    const declared = numbers(190).map((at) => `$v${at}:Boolean!`);
    const way = numbers(190).map((at) => `${kinds[at % 3]}@include(if:$v${at}){`);
    for (let at = 0; !stop.aborted; at += 1) {
      const query = `query(${declared.join('')}){b${at}:__typename ${way.join('')}${aliases(350, '__typename')}${'}'.repeat(191)}`;
      const body = JSON.stringify({ query, variables });
      for (const _ of numbers(2))
        await fetch(`${url}/graphql`, { method: 'POST', headers, body })
          .then((r) => r.text())
          .catch(() => undefined);
    }
  },
  'an id of a million digits that 380 fields are given by default': async (target, stop) =>
    samePost(
      1,
      JSON.stringify({
        query: `query ($id: ID = ${'1'.repeat(1_000_000)}) { ${aliases(380, 'node(id: $id) { id }')} }`,
      }),
      { authorization: `Bearer ${target.token}` },
    )(target, stop),
  'documents of many lines with many errors': samePost(
    4,
    JSON.stringify({ query: `{${'\n'.repeat(9_990)} ${aliases(440, 'node(id:"x"){id}')} }` }),
  ),
  'documents of many lines with many errors, signed in': async (target, stop) =>
    samePost(
      4,
      JSON.stringify({
        query: `{${'\n'.repeat(9_990)} notes(first: 100) { nodes { tags { ${aliases(45, 'notes(first:-1){__typename}')} } } } }`,
      }),
      { authorization: `Bearer ${target.token}` },
    )(target, stop),
  'entities that are none, 49,000 of them': entities(() => 0),
  'shipments by ids that there are not, 49,000 of them': entities((at) => ({
    __typename: 'Shipment',
    shipmentId: `${at}`,
  })),
  'a thousand queries at once on one websocket': overSocket(1, (socket) => {
    for (const id of numbers(1_000))
      socket.send(JSON.stringify({ id: `${id}`, type: 'subscribe', payload: { query: introspection } }));
  }),
};
