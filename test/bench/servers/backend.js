import {
  createCipheriv,
  createHash,
  createHmac,
  createSecretKey,
  randomBytes,
  randomUUID,
} from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';
import { Pool } from 'undici';

/**
 * The backend of the hand-written handlers and the peers' resolvers: sessions, the notes service and the bookings,
 * each as simple as possible. It uses none of the gateway's code. With `TUNED`, it also keeps what recurs, and commits
 * together what waits, as the gateway does.
 */
const tuned = process.env.TUNED !== undefined;
const { hostname, origin } = new URL(process.env.UPSTREAM);
const pool = new Pool(origin, { connections: 64 });
const sessions = new Map();
const key = createSecretKey(randomBytes(32));

async function call(method, path, token, body) {
  const answer = await pool.request({
    method,
    path,
    headers: {
      host: hostname,
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${path} answered ${answer.statusCode}`);
  return JSON.parse(text);
}

const mostKept = 10_000;

/** If tuned, keeps the results of a function of one or two texts. */
function keeping(make) {
  if (!tuned) return make;
  const kept = new Map();
  return (first, second) => {
    const name = second === undefined ? first : `${first} ${second}`;
    let result = kept.get(name);
    if (result !== undefined) return result;
    result = make(first, second);
    if (kept.size >= mostKept) kept.clear();
    kept.set(name, result);
    return result;
  };
}

const digest = keeping((text) => createHash('sha256').update(text).digest('base64url'));

/** Opens a session, and returns the token that the client will send. */
export async function signIn({ email, password }) {
  const { access_token: token, expires_in: life } = await call('POST', '/notes/v1/auth/token', undefined, {
    email,
    password,
  });
  const { id } = await me({ token });
  const sessionToken = randomBytes(32).toString('base64url');
  sessions.set(digest(sessionToken), { token, userId: id, email, expiresAt: Date.now() + life * 1000 });
  return sessionToken;
}

/** The session of an `Authorization` header, unless it has expired. */
export function findSession(authorization) {
  if (!authorization?.startsWith('Bearer ')) return undefined;
  const session = sessions.get(digest(authorization.slice(7)));
  return session && session.expiresAt > Date.now() ? session : undefined;
}

export const globalId = keeping((type, id) => Buffer.from(JSON.stringify([type, id])).toString('base64url'));
export const fromGlobalId = (id) => JSON.parse(Buffer.from(id, 'base64url').toString());

/** Seals a text as a cursor of the session's user, which clients can neither read nor forge. */
export const sealFor = ({ userId }, text) => seal(`${userId} ${text}`);

/** Equal texts give equal cursors. */
const seal = keeping((text) => {
  const nonce = createHmac('sha256', key).update(text).digest().subarray(0, 12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
});

export const me = ({ token }) => call('GET', '/notes/v1/me', token);
export const listNotes = ({ token }, limit) => call('GET', `/notes/v1/notes?limit=${limit}`, token);
export const listTags = async ({ token }) => (await call('GET', '/notes/v1/tags', token)).tags;

let appointmentsToken;
async function obtainToken() {
  const body = {
    grant_type: 'client_credentials',
    client_id: 'id',
    client_secret: 'secret',
    scope: 'appointments:write',
  };
  return (await call('POST', '/issuer/oauth/token', undefined, body)).access_token;
}

const bookings = new DatabaseSync(process.env.BOOKINGS);
bookings.exec(`pragma journal_mode = wal; pragma synchronous = full;
  create table if not exists bookings (id text primary key, user_id text, body text, state text, upstream_id text, booked_at integer)`);
process.on('exit', () => bookings.close()); // this also protects it from garbage collection
const insert = bookings.prepare(`insert into bookings values (?, ?, ?, 'PENDING', null, ?)`);
const settle = bookings.prepare(`update bookings set state = 'CONFIRMED', upstream_id = ? where id = ?`);

let waiting;

/** Runs a statement of the bookings; if tuned, in one transaction with all that came in the same turn of the event loop. */
function write(statement, ...values) {
  if (!tuned) return void statement.run(...values);
  return new Promise((resolve) => {
    if (!waiting) setImmediate(commit);
    (waiting ??= []).push(() => (statement.run(...values), resolve));
  });
}

function commit() {
  const runs = waiting;
  waiting = undefined;
  bookings.exec('begin immediate');
  const done = runs.map((run) => run());
  bookings.exec('commit');
  for (const resolve of done) resolve();
}

/** Books: writes a durable row before the call, its outcome after it, so that no booking is lost or posted twice. */
export async function book({ userId }, { status, start, end, participants }) {
  const body = {
    status: status.toLowerCase(),
    start,
    end,
    participant: participants.map(({ actor, status: reply }) => ({
      actor,
      status: reply.toLowerCase().replace('_', '-'),
    })),
  };
  const id = randomUUID();
  await write(insert, id, userId, JSON.stringify(body), Date.now());
  const { id: upstreamId } = await call(
    'POST',
    '/appointments/v1/appointments',
    await (appointmentsToken ??= obtainToken()),
    body,
  );
  await write(settle, upstreamId, id);
  return { id, upstreamId, status, start, end, participants, confirmation: 'CONFIRMED' };
}
