import { type AppointmentsControl, createAppointments } from './appointments.js';
import { type Clock, createClock } from './clock.js';
import { controlRoutes } from './control.js';
import { guardControl } from './control-access.js';
import { addDemoData, demoUsers, type DemoUser } from './demo.js';
import { createFaults, type Faults } from './faults.js';
import { createIssuer } from './issuer.js';
import { openKeptSecrets } from './kept-secrets.js';
import { type Call, createListener } from './listener.js';
import { createNotes, type NotesControl } from './notes.js';
import { createWebhookSender } from './webhook-sender.js';
import { startTraffic } from './traffic.js';
import { createWebhooks, type WebhooksControl } from './webhooks.js';

/** How to set up a sandbox. */
export interface SandboxOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Whether to generate shipment and payment events; by default off. */
  readonly traffic?: boolean;
  /** Whether to add a demo user with notes; by default on. */
  readonly demo?: boolean;
  /** The base URL to deliver webhooks to, as set by `deliverTo`. */
  readonly deliverTo?: string;
  /** Where else browsers reach the gateway, whose pages may use the control API. */
  readonly publicUrl?: string | undefined;
  /**
   * A file that keeps rotated secrets over restarts: with it the other secrets are always the same; without it all are
   * random, and forgotten.
   */
  readonly secretsFile?: string;
}

/** The three upstream services, running. */
export interface Sandbox {
  readonly url: string;
  /** Who can sign in at first; a gateway beside it gives its grants to the first alone. */
  readonly users: readonly DemoUser[];
  readonly clock: Clock;
  /** The current environment settings for a gateway that uses this sandbox. */
  readonly settings: Readonly<Record<string, string>>;
  readonly notes: NotesControl;
  readonly appointments: AppointmentsControl;
  readonly webhooks: WebhooksControl;
  /** The requests received, in order. */
  readonly calls: Call[];
  readonly faults: Faults;
  /** From now on webhooks go to `<url>/webhooks/shipments/<id>` and `<url>/webhooks/payments/<id>`. */
  deliverTo(url: string): void;
  /** Stops timers and closes sockets at once. */
  stop(): Promise<void>;
}

/**
 * Starts the three services of apis/ on one port of the loopback interface, with everything that is documented there.
 *
 * The sandbox is a stand-in for development and tests only: it keeps everything in memory, shares no code with the
 * gateway, exposes its secrets in `settings`, and lets anyone who can reach it move its clock and make its services
 * fail. Where apis/ says "not shown" it picks one plausible behaviour, which says nothing about the real services. It
 * is not for production, for benchmarks of the services, or for a network that others can reach.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, traffic = false, demo = true } = options;
  const clock = createClock();
  const faults = createFaults();
  const calls: Call[] = [];
  const sender = createWebhookSender();
  let receiver: string | undefined;
  let moving: { stop(): void } | undefined;

  const notes = createNotes(clock);
  const secrets = options.secretsFile === undefined ? undefined : openKeptSecrets(options.secretsFile);
  const issuer = createIssuer(clock, secrets?.initial.clientSecret);
  const appointments = createAppointments(issuer);
  const webhooks = createWebhooks({
    clock,
    sender,
    receiver: () => receiver,
    initial: secrets?.initial,
    onRotation: secrets?.keep,
  });
  if (demo) addDemoData(notes.control, clock.now());

  const server = createListener(
    [
      { prefix: '/notes/v1', service: 'notes', routes: notes.routes },
      { prefix: '/appointments/v1', service: 'appointments', routes: appointments.routes },
      { prefix: '/issuer', service: 'issuer', routes: issuer.routes },
      { prefix: '/payments/v1', service: 'payments', routes: webhooks.routes },
      {
        prefix: '/control',
        guard: guardControl(() => [receiver, options.publicUrl]),
        routes: controlRoutes({ clock, faults, notes: notes.control, webhooks: webhooks.control, deliverTo }),
      },
    ],
    clock,
    faults,
    calls,
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`;

  function deliverTo(base: string): void {
    const target = new URL(base).href.replace(/\/+$/, '');
    const listens = () => sender.reaches(receiver ?? target);
    receiver = target;
    if (traffic) moving ??= startTraffic(webhooks.control, clock, listens);
  }

  async function stop(): Promise<void> {
    moving?.stop();
    clock.stop();
    sender.stop();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  function settings(): Record<string, string> {
    const { apiToken } = webhooks.control;
    return {
      NOTES_BASE_URL: `${url}/notes/v1`,
      APPOINTMENTS_BASE_URL: `${url}/appointments/v1`,
      APPOINTMENTS_AUTH_URL: `${url}/issuer`,
      APPOINTMENTS_CLIENT_ID: issuer.clientId,
      APPOINTMENTS_CLIENT_SECRET: issuer.clientSecret,
      PAYMENTS_BASE_URL: `${url}/payments/v1`,
      ...(apiToken !== undefined && { PAYMENTS_API_TOKEN: apiToken }),
      SHIPMENT_WEBHOOKS: pairs(webhooks.control.subscriptions()),
      PAYMENT_WEBHOOKS: pairs(webhooks.control.endpoints()),
    };
  }

  if (options.deliverTo !== undefined) deliverTo(options.deliverTo);
  return {
    url,
    users: demo ? demoUsers : [],
    clock,
    get settings() {
      return settings();
    },
    notes: notes.control,
    appointments: appointments.control,
    webhooks: webhooks.control,
    calls,
    faults,
    deliverTo,
    stop,
  };
}

/** Secrets in the form of the gateway's settings: `id=secret`, separated by commas. */
function pairs(endpoints: readonly { readonly id: string; readonly secret: string }[]): string {
  return endpoints.map(({ id, secret }) => `${id}=${secret}`).join(',');
}
