import type { Target } from './audience.js';
import type { Environment, FileStart } from './environment.js';
import { bearer, signIn } from './operations.js';
import { installPeers } from './peers.js';
import type { Server } from './process.js';
import { ours } from './table.js';

/** A server of live updates, which is started anew for each round: two processes of the same code differ by a tenth. */
export interface Contestant {
  readonly who: string;
  /** The transport, if it is not a websocket. */
  readonly transport?: 'stream';
  /** Whether it has sessions; only those are given one. */
  readonly hasSessions: boolean;
  start(environment: Environment, options: FileStart): Promise<Server>;
}

/** The base of live updates: what one would write by hand with the gateway's promise. */
export const byHand: Contestant = {
  who: 'hand-written',
  hasSessions: true,
  start: ({ startFile }, options) =>
    startFile('servers/handwritten-durable.js', { ...options, env: { TUNED: 'yes' } }),
};

/** The gateway itself. */
export const gateway: Contestant = {
  who: ours,
  hasSessions: true,
  start: ({ startGateway }, { database = `gateway-${Math.random()}.db`, ...rest }) =>
    startGateway({ database, ...rest }),
};

/** The physical limit of websockets: it sends the same text, verifies nothing and stores nothing. */
export const rawSockets = fileOf('raw ws', 'servers/raw-ws.js');

/** The servers that one would take instead, each with the hand-written store in front; none if they cannot be installed. */
export function durablePeers(): readonly Contestant[] {
  if (!installPeers()) return [];
  return [
    fileOf('graphql-ws', 'peers/graphql-ws.js'),
    fileOf('mercurius', 'peers/mercurius-live.js'),
    fileOf('yoga', 'peers/yoga-live.js'),
  ];
}

function fileOf(who: string, file: string): Contestant {
  return { who, hasSessions: false, start: ({ startFile }, options) => startFile(file, options) };
}

/** The same server, followed by server-sent events. */
export const byStream = ({ who, ...rest }: Contestant): Contestant => ({
  ...rest,
  who: `${who} by sse`,
  transport: 'stream',
});

/** The base, and those of the others whose names have one of these words. */
export function chosen(all: readonly Contestant[], who?: readonly string[]): readonly Contestant[] {
  return all.filter(({ who: name }, at) => at === 0 || !who || who.some((word) => name.includes(word)));
}

/** Starts a server of these. */
export async function begin(
  { who, transport, hasSessions, start }: Contestant,
  environment: Environment,
  options: FileStart = {},
): Promise<Target> {
  const server = await start(environment, options);
  const init = hasSessions ? bearer(await signIn(server.url)) : {};
  return { who, server, init, ...(transport && { transport }) };
}
