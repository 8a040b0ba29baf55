import { randomBytes } from 'node:crypto';
import { createAppointmentsClient } from '../../src/appointments/client.js';
import { createLedger } from '../../src/appointments/ledger.js';
import type { Clock } from '../../src/clock.js';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import { createSealer } from '../../src/seal.js';
import { openDatabase } from '../../src/store/database.js';
import { createKeyv } from '../../src/store/keyv.js';
import { createTelemetry } from '../../src/telemetry.js';

const sealer = createSealer([randomBytes(32)]);
const telemetry = createTelemetry('silent');

/** One replica's part of the appointment service, on the database at this address. */
export async function startReplica(
  sandbox: Sandbox,
  url: string,
  { clock = sandbox.clock, timeoutMs = 2_000 }: { clock?: Clock; timeoutMs?: number } = {},
) {
  const database = await openDatabase(url, { log: telemetry.log });
  const { settings } = sandbox;
  const client = createAppointmentsClient({
    baseUrl: settings['APPOINTMENTS_BASE_URL']!,
    authUrl: settings['APPOINTMENTS_AUTH_URL']!,
    clientId: settings['APPOINTMENTS_CLIENT_ID']!,
    clientSecret: settings['APPOINTMENTS_CLIENT_SECRET']!,
    scope: 'appointments:write',
    keyv: createKeyv({ database, sealer, namespace: 'tokens', clock: sandbox.clock }),
    database,
    telemetry,
    clock: sandbox.clock,
    timeoutMs,
  });
  return {
    database,
    ledger: createLedger({ client, database, clock, telemetry, timeoutMs }),
    async stop() {
      await client.stop();
      await database.stop();
    },
  };
}

/** How many bookings were posted. */
export function postsOf(sandbox: Sandbox): number {
  return sandbox.calls.filter(({ service, method }) => service === 'appointments' && method === 'POST')
    .length;
}
