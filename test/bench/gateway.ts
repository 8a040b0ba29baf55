import { startServer, type Server } from './process.js';

/** The secrets of the endpoints that a measured gateway knows. */
export const webhooks = {
  shipments: ['sub_1', 'shipment secret'],
  payments: ['end_1', 'payment secret'],
} as const;

/** Starts the built gateway as `npm start` does, against these upstream services, with everything granted to all. */
export function startGateway(
  upstream: string,
  databaseUrl: string,
  options: { readonly cores?: number; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Server> {
  const grants = [
    'appointments:read',
    'appointments:write',
    'shipments:read',
    'payments:read',
    'webhooks:rotate',
  ];
  return startServer({
    ...options,
    args: ['--max-semi-space-size=32', 'dist/main.js'],
    env: {
      PORT: '0',
      DATABASE_URL: databaseUrl,
      SECRET_KEYS: Buffer.alloc(32, 'bench').toString('base64'),
      GRANTS: JSON.stringify({ '*': grants }),
      NOTES_BASE_URL: `${upstream}/notes/v1`,
      APPOINTMENTS_BASE_URL: `${upstream}/appointments/v1`,
      APPOINTMENTS_AUTH_URL: `${upstream}/issuer`,
      APPOINTMENTS_CLIENT_ID: 'id',
      APPOINTMENTS_CLIENT_SECRET: 'secret',
      SHIPMENT_WEBHOOKS: webhooks.shipments.join('='),
      PAYMENT_WEBHOOKS: webhooks.payments.join('='),
      ...options.env,
    },
  });
}
