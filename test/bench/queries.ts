import { interleave, join, median, type Outcome, type Turn } from './interleave.js';
import { drive, keepAwake, post, type Asker, type Slice } from './load.js';
import { ask, bearer, newUser, queries, signIn, type Query, type Session } from './operations.js';
import { installPeers } from './peers.js';
import type { Server } from './process.js';
import { say } from './say.js';
import { prepareSessions, SessionsExhausted, type Sharing } from './sessions.js';
import { tokenOf } from './upstream.js';
import { withEnvironment, type Environment } from './environment.js';
import { ours, type Row, type SuiteOptions } from './table.js';

/** A server that answers queries. */
interface Target {
  readonly who: string;
  readonly url: string;
  /** It exposes the services' REST APIs, and forwards the caller's token. */
  readonly rest?: boolean;
  /** Reads its CPU time, if that is to be told. */
  readonly read?: Server['read'];
  /** One request of so many belongs to a trace that is sampled; none does where it is absent. */
  readonly tracedEvery?: number | undefined;
}

/** A slice, with the server's CPU time for an answer where it can be read. */
export type QuerySlice = Slice & { readonly cpuUs?: number };

const connections = 32;
/** More answers than any server gives in a millisecond. */
const mostPerMs = 50;
/** There are sessions for at least so many answers: a cold or delayed server may be many times faster next time. */
const fewest = 5_000;
/** How many times as many answers as in the slice before there are sessions for. */
const roomFor = 4;

/** How long a query is measured, in milliseconds, after how long a warm-up, and how many times while servers run. */
interface Lengths {
  readonly ms: number;
  readonly warmUpMs: number;
  readonly slices: number;
}

const usual: Lengths = { ms: 500, warmUpMs: 2_000, slices: 3 };
const brief: Lengths = { ms: 400, warmUpMs: 1_000, slices: 3 };
const fullRounds = 5;

/** What a query costs, compared with a hand-written handler that does the same, and with other servers. */
export async function runQueries({ short, only, rounds }: SuiteOptions): Promise<readonly Row[]> {
  const wanted = queries.filter(({ name }) => name === (only ?? name));
  const lengths = short ? brief : usual;
  const times: (readonly (readonly Outcome<Slice>[])[])[] = [];
  for (let left = rounds ?? (short ? 1 : fullRounds); left > 0; left -= 1)
    times.push(await withEnvironment((environment) => runRound(environment, wanted, lengths)));
  return wanted.flatMap((query, index) =>
    join(times.map((round) => round[index]!)).map((outcome) => toRow(query, outcome)),
  );
}

/** Starts all servers, and measures each query with them. */
async function runRound(
  { startFile, startGateway }: Environment,
  wanted: readonly Query[],
  { ms, warmUpMs, slices }: Lengths,
): Promise<readonly (readonly Outcome<Slice>[])[]> {
  const at = async (who: string, server: Promise<Server>): Promise<Target> => ({
    who,
    url: (await server).url,
  });
  const base = await at('hand-written', startFile('servers/handwritten.js'));
  const tuned = await at('hand-written, tuned', startFile('servers/handwritten-tuned.js'));
  const gateway = await at(ours, startGateway({ database: 'gateway.db' }));
  const peers: Target[] = [];
  if (installPeers()) {
    for (const who of ['apollo', 'mercurius', 'yoga'])
      peers.push(await at(who, startFile(`peers/${who}.js`)));
    peers.push({ ...(await at('hive', startFile('peers/hive.js'))), rest: true });
  }
  const fixed = await at('fixed bytes', startFile('servers/fixed.js'));

  const told: (readonly Outcome<Slice>[])[] = [];
  for (const query of wanted) {
    say(`queries: ${query.name} …`);
    const able = [base, tuned, gateway, ...peers].filter(({ rest }) => !rest || query.rest);
    for (const target of able) await sliceOf(target, query, warmUpMs).run();
    const turns = [
      ...able.map((target) => sliceOf(target, query, ms)),
      await sliceOfFixed(fixed, query, ms, base),
      sliceOf({ ...gateway, who: `${ours}, shared` }, query, ms, 'shared'),
    ];
    told.push(await interleave(turns, slices));
  }
  return told;
}

const score = ({ rate }: Slice): number => rate;

/** Sends one query over all connections. */
export function sliceOf(
  { who, url, rest, read, tracedEvery = Infinity }: Target,
  query: Query,
  ms: number,
  sharing: Sharing = 'own',
): Turn<QuerySlice> {
  const { calls, first } = query;
  const { body, expect } = (rest && query.rest) || query;
  const callers = Array.from({ length: connections }, newUser).map((user) => ({
    user,
    token: tokenOf(user),
  }));
  let answers = ms * mostPerMs;

  async function runSlice(): Promise<QuerySlice> {
    const sessionOf = rest
      ? (connection: number) => callers[connection]!
      : await prepareSessions(url, connections, { sharing, calls, answers, first });
    const [plain, traced] = [requestsTo(url, body), requestsTo(url, body, sampledTrace)];
    let asked = 0;
    const requestOf = (session: Session) => {
      asked += 1;
      return asked % tracedEvery === 0 ? traced(session) : plain(session);
    };
    const askers = Array.from({ length: connections }, (_, connection) =>
      askerOf(() => sessionOf(connection), requestOf, expect),
    );
    const before = await read?.();
    const slice = await keepAwake(() => drive(url, askers, ms));
    answers = Math.max(roomFor * slice.answers, fewest);
    if (!before || !read) return slice;
    return { ...slice, cpuUs: ((await read()).cpuMs - before.cpuMs) * (1_000 / slice.answers) };
  }

  return {
    who,
    score,
    async run() {
      for (;;)
        try {
          return await runSlice();
        } catch (error) {
          // The slice before was slow: a machine may stall for a while.
          if (!(error instanceof SessionsExhausted)) throw error;
          answers *= roomFor;
        }
    },
  };
}

/** W3C Trace Context: the caller has its trace sampled. */
const sampledTrace = { traceparent: `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01` };

/** The bytes of each session's request, written once. */
function requestsTo(url: string, body: Query['body'], headers: Readonly<Record<string, string>> = {}) {
  const requests = new Map<Session, Buffer>();
  return (session: Session): Buffer => {
    const request = requests.get(session) ?? post(`${url}/graphql`, body, { ...bearer(session), ...headers });
    requests.set(session, request);
    return request;
  };
}

/** Sends the same request to a server that answers with fixed bytes, the base's answer. */
async function sliceOfFixed(
  { who, url }: Target,
  query: Query,
  ms: number,
  base: Target,
): Promise<Turn<Slice>> {
  const address = `${url}/${query.name}`;
  const session = await signIn(base.url);
  const data = await ask(base.url, query.body, session);
  await fetch(address, { method: 'PUT', body: JSON.stringify({ data }) });
  const request = post(address, query.body, { authorization: `Bearer ${'x'.repeat(43)}` });
  const asker = askerOf(
    () => session,
    () => request,
    query.expect,
  );
  return {
    who,
    score,
    run: () =>
      keepAwake(() =>
        drive(
          url,
          Array.from({ length: connections }, () => asker),
          ms,
        ),
      ),
  };
}

/** Checks that every answer is 200 and correct; an answer equal to the user's last correct one is not parsed. */
function askerOf(
  next: () => Session,
  requestOf: (session: Session) => Buffer,
  expect: Query['expect'],
): Asker {
  let asking: Session | undefined;
  let right: Buffer | undefined;
  return {
    next() {
      const session = next();
      if (session !== asking) right = undefined;
      asking = session;
      return requestOf(session);
    },
    check({ status, body }) {
      if (status !== 200) throw new Error(`An answer was ${status}: ${body.toString().slice(0, 500)}`);
      if (right?.equals(body)) return;
      const { data, errors } = JSON.parse(body.toString()) as { data?: unknown; errors?: unknown };
      if (errors !== undefined) throw new Error(`An answer had errors: ${body.toString().slice(0, 500)}`);
      expect(data, asking!.user);
      right = Buffer.from(body);
    },
  };
}

function toRow({ name }: Query, { who, ratio, low, high, rounds, outcomes }: Outcome<Slice>): Row {
  const middle = (read: (slice: Slice) => number) => median(outcomes.map(read));
  return {
    suite: 'queries',
    name,
    who,
    ratio,
    low,
    high,
    rounds,
    perSecond: middle(score),
    p50ms: middle(({ p50 }) => p50),
    p99ms: middle(({ p99 }) => p99),
  };
}
