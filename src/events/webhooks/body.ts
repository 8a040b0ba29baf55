import { isObject, withoutMark } from '../../lib/json.js';

/** The members that every event has; the others depend on the family. */
export interface EventBody {
  readonly id: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Why a body is not an event; the message is for the sender. */
export interface BodyFault {
  readonly code: 'BODY_NOT_UTF8' | 'BODY_NOT_JSON_OBJECT' | 'BODY_WITHOUT_ID' | 'BODY_WITHOUT_TYPE';
  readonly message: string;
}

/** An event with the text it was read from. */
export interface ReadBody {
  readonly text: string;
  readonly event: EventBody;
}

const maxIdLength = 255;

// Keeps a byte order mark: the stored text is exactly the bytes received.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a delivery's raw body: strict UTF-8, a JSON object (a byte order mark before it is passed over), with an `id` of 1 to 255 characters and a `type`. */
export function readEvent(body: Buffer): ReadBody | BodyFault {
  const text = attempt(() => utf8.decode(body));
  if (text === undefined) return { code: 'BODY_NOT_UTF8', message: 'The body is not valid UTF-8.' };
  const event = attempt((): unknown => JSON.parse(withoutMark(text)));
  if (!isObject(event)) return { code: 'BODY_NOT_JSON_OBJECT', message: 'The body is not a JSON object.' };
  const { id, type } = event;
  if (!isId(id))
    return {
      code: 'BODY_WITHOUT_ID',
      message: 'The body needs an `id`: a string of 1 to 255 characters.',
    };
  if (typeof type !== 'string')
    return { code: 'BODY_WITHOUT_TYPE', message: 'The body needs a `type`: a string.' };
  return { text, event: { ...event, id, type } };
}

/** Counts characters as code points, each of which is one or two UTF-16 code units. */
function isId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > 2 * maxIdLength) return false;
  return Array.from(value).length <= maxIdLength;
}

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
