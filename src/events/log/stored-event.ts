import { isObject, LaterJson } from '../../lib/json.js';

/** In characters: what is shorter is parsed at once. */
const long = 64 * 1024;
const beforeData = ',"data":';

/**
 * The event that is stored as this text. A long member `data`, which is its last, is `LaterJson`: most of those who
 * look at an event do not need it. Throws if the text is not JSON.
 */
export function readStoredEvent(text: string): unknown {
  // No string has these characters unescaped, and no member before `data` has members of its own.
  const at = text.length > long ? text.indexOf(beforeData) : -1;
  if (at < 0 || text.length - at < long || !text.endsWith('}')) return JSON.parse(text);
  const head: unknown = JSON.parse(`${text.slice(0, at)}}`);
  return isObject(head) ? { ...head, data: new LaterJson(text.slice(at + beforeData.length, -1)) } : head;
}
