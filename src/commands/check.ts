import { randomBytes } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Config } from '../config/config.js';
import type { NatsServers } from '../config/nats-servers.js';
import { probeNats } from '../events/relay/nats-stream.js';
import { checkSecrets } from '../events/secrets/secrets.js';
import { createSealer } from '../lib/sealer.js';
import { readOrRefuse } from '../server/documents/watched-manifest.js';
import { checkKeyBeside } from '../store/key-file.js';
import { probeDatabase } from '../store/probe.js';
import { say, CommandError, type Program } from './program.js';
import { portBeside } from './sandbox.js';
import { settings, warningsOfDatabase } from './start.js';

const probeMs = 5_000;

/**
 * `trivium check [--probe]`: says what is wrong, missing, or set but unknown; with `probe` also reaches the database,
 * NATS, the services and the issuer. Throws if anything is at fault.
 */
export async function runCheck({ environment }: Program, probe: boolean): Promise<void> {
  const warnings: string[] = [];
  const config = settings(environment, warnings);
  for (const warning of [...warnings, ...warningsOfDatabase(config)]) say(`Warning: ${warning}`);
  if (config.trustedDocuments) await readOrRefuse(config.trustedDocuments.path);
  if (!config.secretKeys) checkKeyBeside(config.databaseUrl);
  if (config.upstreams === null) {
    portBeside(environment);
    say('No service is set: the sandbox stands in.');
  }
  if (probe) await reachAll(config);
  say('The settings are right.');
}

/** Tries everything, however much fails. */
async function reachAll(config: Config): Promise<void> {
  const probes = [
    { name: 'DATABASE_URL', run: () => reachDatabase(config) },
    ...(config.natsServers ? [{ name: 'NATS_URL', run: reachNats(config.natsServers) }] : []),
    ...addressesOf(config).map(([name, url]) => ({ name, run: () => reach(url) })),
  ];
  const faults = await Promise.all(
    probes.map(async ({ name, run }) => {
      const { fault, told } = await run().then(
        (found) => ({ fault: undefined, told: found }),
        (error: unknown) => ({ fault: (error as Error).message, told: [] }),
      );
      const more = fault ?? told.join('; ');
      say(`${fault === undefined ? 'reached' : 'FAILED '}  ${name}${more === '' ? '' : `: ${more}`}`);
      return fault;
    }),
  );
  const failed = faults.filter((fault) => fault !== undefined).length;
  if (failed > 0) throw new CommandError(`${failed} of ${probes.length} could not be reached.`);
}

/** Also opens the webhook secrets that are stored in it. A key that a start would make opens none of them. */
async function reachDatabase({ databaseUrl, databaseListenUrl, secretKeys, upstreams }: Config) {
  const [firstKey = checkKeyBeside(databaseUrl) ?? randomBytes(32), ...olderKeys] = secretKeys ?? [];
  const sealer = createSealer([firstKey, ...olderKeys]);
  return probeDatabase(databaseUrl, databaseListenUrl, (store) =>
    checkSecrets(store, sealer, upstreams?.webhooks ?? {}),
  );
}

function addressesOf({ upstreams }: Config): readonly (readonly [name: string, url: string])[] {
  if (upstreams === null) return [];
  const { notes, appointments, payments } = upstreams;
  return [
    ['NOTES_BASE_URL', notes.baseUrl],
    ['APPOINTMENTS_BASE_URL', appointments.baseUrl],
    ['APPOINTMENTS_AUTH_URL', appointments.authUrl],
    ...(payments.baseUrl === undefined ? [] : [['PAYMENTS_BASE_URL', payments.baseUrl] as const]),
  ];
}

function reachNats(servers: NatsServers): () => Promise<readonly string[]> {
  return async () => {
    await probeNats(servers);
    return [];
  };
}

/** Any answer counts: without credentials, a refusal is the right one. */
async function reach(url: string): Promise<readonly string[]> {
  const dispatcher = new Agent(); // that of the process may use a proxy, which the gateway does not
  const options = { dispatcher, signal: AbortSignal.timeout(probeMs) };
  const { body } = await request(url, options).catch((error: unknown) => {
    const { name, code, message } = error as NodeJS.ErrnoException;
    throw new Error(name === 'TimeoutError' ? `no answer within ${probeMs / 1000} s` : message || code);
  });
  await body.dump();
  return [];
}
