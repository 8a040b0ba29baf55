import { validateHeaderName, validateHeaderValue } from 'node:http';
import { z } from 'zod';
import type { Clock } from './clock.js';
import type { FaultAction, Fault, Faults } from './faults.js';
import { json, httpError, type Request, type Route } from './http.js';
import type { NotesControl } from './notes.js';
import { sendOrdered } from './orders.js';
import type { WebhooksControl } from './webhooks.js';

/** What the control API works with. */
interface ControlOptions {
  readonly clock: Clock;
  readonly faults: Faults;
  readonly notes: NotesControl;
  readonly webhooks: WebhooksControl;
  /** Has webhooks go to this address from now on. */
  deliverTo(url: string): void;
}

/** The control API: sends events, moves the clock, makes services fail, ends sessions, rotates secrets. */
export function controlRoutes(options: ControlOptions): readonly Route[] {
  const { clock, faults, notes, webhooks, deliverTo } = options;
  const show = () => json(200, { now: new Date(clock.now()).toISOString() });

  async function advance(request: Request) {
    const { data, error } = clockShape.safeParse(request.json());
    if (error) throw httpError(400, 'invalid', z.prettifyError(error));
    await clock.advance(data.advanceSeconds * 1000);
    return show();
  }

  function addFault(request: Request) {
    const { data, error } = faultShape.safeParse(request.json());
    if (error) throw httpError(400, 'invalid', z.prettifyError(error));
    faults.add(data);
    return json(201, { inForce: true });
  }

  function clearFaults() {
    faults.clear();
    return json(200, { inForce: false });
  }

  function endSessions(request: Request) {
    const { data, error } = sessionsShape.safeParse(request.json());
    if (error) throw httpError(400, 'invalid', z.prettifyError(error));
    return json(200, { ended: notes.revokeTokens(data.email) });
  }

  /** As when somebody rotates at the service itself: the gateway is not told. */
  function rotate(request: Request) {
    const { data, error } = endpointShape.safeParse(request.json());
    if (error) throw httpError(400, 'invalid', z.prettifyError(error));
    const { endpointId } = data;
    if (!webhooks.endpoints().some(({ id }) => id === endpointId))
      throw httpError(404, 'not_found', `There is no payment endpoint ${endpointId}.`);
    webhooks.rotateSecret(endpointId);
    return json(200, { endpointId });
  }

  function setReceiver(request: Request) {
    const { data, error } = receiverShape.safeParse(request.json());
    if (error) throw httpError(400, 'invalid', z.prettifyError(error));
    deliverTo(data.url);
    return json(200, data);
  }

  return [
    { method: 'POST', path: '/receiver', handle: setReceiver },
    { method: 'POST', path: '/events', handle: sendOrdered(webhooks, clock) },
    { method: 'POST', path: '/sessions/end', handle: endSessions },
    { method: 'POST', path: '/rotate', handle: rotate },
    { method: 'GET', path: '/clock', handle: show },
    { method: 'POST', path: '/clock', handle: advance },
    { method: 'POST', path: '/faults', handle: addFault },
    { method: 'DELETE', path: '/faults', handle: clearFaults },
  ];
}

function canBeSent(headers: Readonly<Record<string, string>>): boolean {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return true;
  } catch {
    return false;
  }
}

/** Beyond some 270,000 years, a date has no text. */
const maxAdvanceSeconds = 10 * 365 * 24 * 60 * 60;
const clockShape = z.strictObject({ advanceSeconds: z.number().min(0).max(maxAdvanceSeconds) });
const sessionsShape = z.strictObject({ email: z.string().exactOptional() });
/** As the setting `GATEWAY_URL`: a user name that is not correctly encoded could not be sent to. */
const receiverUrl = z
  .url({ protocol: /^https?$/ })
  .regex(/^[^?#@]+$/, 'has a user name, a query or a fragment');
const receiverShape = z.strictObject({ url: receiverUrl });
const endpointShape = z.strictObject({ endpointId: z.string().default('pe_demo') });

const whole = z.int().min(0);
const act = z.lazy((): z.ZodType<FaultAction> => acts);

const acts = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('hang') }),
  z.strictObject({ kind: z.literal('refuse') }),
  z.strictObject({ kind: z.literal('cut'), afterBytes: whole.exactOptional() }),
  z.strictObject({
    kind: z.literal('answer'),
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()).refine(canBeSent, 'cannot be sent').exactOptional(),
    body: z.string().exactOptional(),
    contentType: z.string().exactOptional(),
  }),
  z.strictObject({ kind: z.literal('delay'), ms: whole, act: act.exactOptional() }),
  z.strictObject({ kind: z.literal('afterwards'), act }),
]);

const pattern = z.string().transform((source, context) => {
  try {
    return new RegExp(source);
  } catch {
    context.addIssue('is not a regular expression');
    return z.NEVER;
  }
});

/** A fault as given in JSON. */
const faultShape: z.ZodType<Fault> = z.strictObject({
  service: z.enum(['notes', 'appointments', 'issuer', 'payments']),
  method: z.string().toUpperCase().exactOptional(),
  path: pattern.exactOptional(),
  times: z.int().min(1).exactOptional(),
  act,
});
