import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The far side: the notes and the appointment service, with answers made beforehand, on the load's own core. */
export interface Upstream {
  readonly url: string;
  stop(): void;
}

/** The user to whom every token belongs. */
export const profile = {
  id: 'usr_1',
  email: 'reader@example.com',
  name: 'Ada Reader',
  created_at: '2025-01-02T03:04:05.678Z',
};

const tagNames = ['travel', 'work', 'ideas', 'garden', 'recipes', 'music', 'books', 'letters'];
export const tags = tagNames.map((name, index) => ({ name, count: 10 + index }));

/** How many notes the user has. */
const noteCount = 10_000;

/** The note at this place of the user's list. */
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

/** Starts it; every note page is made once. */
export async function startUpstream(): Promise<Upstream> {
  const made = new Map<string, Buffer>();
  let issued = 0;
  let booked = 0;
  const prepared: Readonly<Record<string, Buffer>> = {
    '/notes/v1/me': toBytes(profile),
    '/notes/v1/tags': toBytes({ tags }),
  };

  function answer(request: IncomingMessage): Buffer {
    const url = request.url!.replace(/\?$/, '');
    const ready = prepared[url] ?? made.get(url);
    if (ready) return ready;
    if (url === '/notes/v1/auth/token')
      return toBytes({ access_token: `notes-token-${(issued += 1)}`, expires_in: 86_400 });
    if (url === '/issuer/oauth/token')
      return toBytes({ access_token: 'token', token_type: 'bearer', expires_in: 3600 });
    if (url === '/appointments/v1/appointments') return toBytes({ id: `app_${(booked += 1)}` });
    const page = toBytes(pageOf(url));
    made.set(url, page);
    return page;
  }

  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    const send = () => {
      const body = answer(request);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
    };
    if (request.method === 'GET') send();
    else request.resume().on('end', send);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function toBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
