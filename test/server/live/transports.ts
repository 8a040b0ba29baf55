import { openSocket } from '../sockets.js';

/** An operation under way, whatever its transport. */
export interface Live {
  /** The next result; rejects once there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test states what it expects
  next(): Promise<any>;
  /** Resolves with how it ended. */
  readonly ended: Promise<Ending>;
  leave(): void;
}

/** An operation is complete, refused (with the codes of its errors), or its session or server has ended. */
export type Ending = 'complete' | 'cut' | { readonly codes: readonly unknown[] };

/** The text of a document, or the members that name it. */
type Document =
  string | { readonly documentId?: string; readonly query?: string; readonly extensions?: object };

/** Runs one operation with this session's token. */
export type OpenLive = (url: string, token: string, document: Document, variables?: object) => Promise<Live>;

const namingOf = (document: Document) => (typeof document === 'string' ? { query: document } : document);

interface Inbox {
  readonly live: Live;
  put(result: unknown): void;
  end(ending: Ending): void;
}

function createInbox(leave: () => void): Inbox {
  const results: unknown[] = [];
  let wake = () => {};
  let end: (ending: Ending) => void = () => {};
  let isOver = false;
  const ended = new Promise<Ending>((resolve) => (end = resolve));
  return {
    put(result) {
      results.push(result);
      wake();
    },
    end(ending) {
      isOver = true;
      end(ending);
      wake();
    },
    live: {
      async next() {
        while (results.length === 0) {
          if (isOver) throw new Error('The operation has ended.');
          await new Promise<void>((resolve) => (wake = resolve));
        }
        return results.shift();
      },
      ended,
      leave,
    },
  };
}

interface Refusal {
  readonly errors: readonly { readonly extensions: Readonly<Record<string, unknown>> }[];
}

const codesOf = ({ errors }: Refusal) => ({ codes: errors.map(({ extensions }) => extensions['code']) });

const overWebsocket: OpenLive = async (url, token, document, variables) => {
  const socket = await openSocket(`${url}/graphql`);
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
  const inbox = createInbox(() => socket.close());
  void socket.closed.then(() => inbox.end('cut'));
  const first = await socket.next().catch(() => undefined);
  if (first?.type !== 'connection_ack') return inbox.live;
  socket.send({ id: '1', type: 'subscribe', payload: { query: '', ...namingOf(document), variables } });
  const read = async () => {
    for (;;) {
      const { type, payload } = await socket.next('1');
      // The protocol has a subscription that is refused by its resolver answer once, and complete.
      if (type === 'next' && payload.data === undefined) inbox.end(codesOf(payload));
      else if (type === 'next') inbox.put(payload);
      else {
        inbox.end(type === 'error' ? codesOf({ errors: payload }) : 'complete');
        return socket.close();
      }
    }
  };
  read().catch(() => inbox.end('cut'));
  return inbox.live;
};

/** Takes one message from the front of a text; undefined if it is not complete. */
type Parse = (
  text: string,
) => { readonly rest: string; readonly result?: unknown; readonly isEnd?: boolean } | undefined;

const parseEvents: Parse = (text) => {
  const at = text.indexOf('\n\n');
  if (at < 0) return undefined;
  const block = text.slice(0, at);
  const data = /^data: (.+)$/m.exec(block)?.[1];
  const isEnd = /^event: complete$/m.test(block);
  return {
    rest: text.slice(at + 2),
    isEnd,
    ...(data !== undefined && { result: JSON.parse(data) as unknown }),
  };
};

const boundary = '\r\n--graphql';
const parseParts: Parse = (text) => {
  if (text.startsWith('--')) return { rest: '', isEnd: true };
  const at = text.indexOf(boundary);
  if (at < 0) return undefined;
  const [, json] = text.slice(0, at).split('\r\n\r\n');
  const rest = text.slice(at + boundary.length);
  const part = JSON.parse(json ?? '{}') as { readonly payload?: unknown };
  return { rest, ...(part.payload !== undefined && { result: part.payload }) };
};

function overHttp(path: string, accept: string, parse: Parse): OpenLive {
  return async (url, token, document, variables) => {
    const leaving = new AbortController();
    const inbox = createInbox(() => leaving.abort());
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, authorization: `Bearer ${token}` },
      body: JSON.stringify({ ...namingOf(document), variables }),
      signal: leaving.signal,
    });
    if (response.status !== 200) {
      inbox.end(codesOf((await response.json()) as Refusal));
      return inbox.live;
    }
    const read = async () => {
      let text = '';
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        for (let found = parse(text); found; found = parse(text)) {
          text = found.rest;
          if (found.result !== undefined) inbox.put(found.result);
          if (found.isEnd) return inbox.end('complete');
        }
      }
      inbox.end('cut');
    };
    read().catch(() => inbox.end('cut'));
    return inbox.live;
  };
}

/** Every transport of live updates. */
export const transports: readonly (readonly [name: string, open: OpenLive])[] = [
  ['a websocket', overWebsocket],
  ['server-sent events', overHttp('/graphql/stream', '*/*', parseEvents)],
  ['server-sent events on /graphql', overHttp('/graphql', 'text/event-stream', parseEvents)],
  ['multipart', overHttp('/graphql', 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0', parseParts)],
];
