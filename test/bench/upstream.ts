import { createServer, type AddressInfo, type Socket } from 'node:net';

/** The notes and the appointment service, with prepared answers, on the load generator's core. */
export interface Upstream {
  readonly url: string;
  stop(): void;
}

/** The profile of a user, who signs in with its e-mail address. */
export const profileOf = (user: number) => ({
  id: `usr_${user}`,
  email: `user${user}@example.com`,
  name: 'Ada Reader',
  created_at: '2025-01-02T03:04:05.678Z',
});

/** A token of a user, who may have several. */
export const tokenOf = (user: number, number = 0) => `token-${number}-of-user${user}`;

/** The user of a request: its token or, at sign-in, its e-mail address tells. */
const userIn = (request: Buffer) => Number(/\buser(\d+)\b/.exec(request.toString('latin1'))?.[1]);

const tagNames = ['travel', 'work', 'ideas', 'garden', 'recipes', 'music', 'books', 'letters'];
export const tags = tagNames.map((name, index) => ({ name, count: 10 + index }));

/** How many notes each user has. */
const noteCount = 10_000;

/** The note at this place in a user's list: all have the same. */
export function noteAt(place: number) {
  return {
    id: `note_${place}`,
    title: `Note ${place}: what to remember`,
    content: `The ${place}th thing that is worth keeping. `.repeat(5).trim(),
    tags: [tagNames[place % 8]!, tagNames[(place + 3) % 8]!],
    is_pinned: place % 10 === 0,
    created_at: '2025-03-04T05:06:07.000Z',
    updated_at: '2025-04-05T06:07:08.000Z',
  };
}

function pageOf(address: string): unknown {
  const { searchParams } = new URL(address, 'http://upstream');
  const limit = Number(searchParams.get('limit') ?? 20);
  const from = Number(searchParams.get('cursor') ?? 0);
  const to = Math.min(from + limit, noteCount);
  const data = Array.from({ length: to - from }, (_, index) => noteAt(from + index));
  return { data, next_cursor: to < noteCount ? String(to) : null };
}

/**
 * Starts the services. They read only the length, path and user of a request, and write prepared answers: with `node:http`
 * they would be what is measured, since a page of notes takes two of their answers.
 */
export async function startUpstream(): Promise<Upstream> {
  const ready = new Map([['/notes/v1/tags', toAnswer({ tags })]]);
  const profiles = new Map<number, Buffer>();
  let issued = 0;
  let booked = 0;

  function answerProfile(user: number): Buffer {
    const profile = profiles.get(user) ?? toAnswer(profileOf(user));
    profiles.set(user, profile);
    return profile;
  }

  function answer(url: string, request: Buffer): Buffer {
    const known = ready.get(url);
    if (known) return known;
    if (url === '/notes/v1/me') return answerProfile(userIn(request));
    if (url === '/notes/v1/auth/token')
      return toAnswer({ access_token: tokenOf(userIn(request), (issued += 1)), expires_in: 86_400 });
    if (url === '/issuer/oauth/token')
      return toAnswer({ access_token: 'token', token_type: 'bearer', expires_in: 3600 });
    if (url === '/appointments/v1/appointments') return toAnswer({ id: `app_${(booked += 1)}` });
    const page = toAnswer(pageOf(url));
    ready.set(url, page);
    return page;
  }

  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
    let waiting: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
      for (let request = readRequest(waiting); request; request = readRequest(waiting)) {
        socket.write(answer(request.url, waiting.subarray(0, request.length)));
        waiting = waiting.subarray(request.length);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The first request in these bytes, once it is complete. An empty query string is removed. */
function readRequest(bytes: Buffer): { readonly url: string; readonly length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const body = head.startsWith('GET') ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const url = head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/')).replace(/\?$/, '');
  return bytes.length < end + 4 + body ? undefined : { url, length: end + 4 + body };
}

function toAnswer(value: unknown): Buffer {
  const body = JSON.stringify(value);
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`);
}
