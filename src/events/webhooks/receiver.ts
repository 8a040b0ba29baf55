import type { Clock } from '../../lib/clock.js';
import { secondsSince } from '../../lib/telemetry/metrics.js';
import { withTimeout } from '../../lib/async/timeout.js';
import { failSpan, traceArrival, traceDelivery, type TracedWork } from '../../lib/telemetry/tracing.js';
import { heapOfJson } from '../../lib/json-size.js';
import { endpointCaller, type MemoryLedger } from '../../lib/memory-ledger.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { createWarnings } from '../../lib/telemetry/rate-limited-log.js';
import { readEvent } from './body.js';
import { TooManyWaiting } from '../../lib/async/coalesced-read.js';
import type { DeliveryRecorder } from '../deliveries/delivery-recorder.js';
import { signedAt } from '../deliveries/explain-refusal.js';
import type { Delivery } from './delivery.js';
import type { WebhookFamily } from './webhook-source.js';
import type { Log } from '../log/log.js';
import {
  checkEncoding,
  checkMethod,
  headerValues,
  readBody,
  Refusal,
  type WebhookRequest,
} from './request.js';
import type { Secrets } from '../secrets/secrets.js';
import { findSignatureFault, mayMatch, type SignatureFault } from './signature.js';

/** What to answer. */
export interface WebhookAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Receives webhooks. */
export interface Receiver {
  /** Verifies, parses and stores one delivery; never rejects, and answers 200 only once the event is durable. */
  receive(request: WebhookRequest): Promise<WebhookAnswer>;
}

/** What the receiver works with. */
export interface ReceiverOptions {
  readonly families: readonly WebhookFamily[];
  readonly secrets: Pick<Secrets, 'valid' | 'latest'>;
  readonly log: Pick<Log, 'append'>;
  readonly recorder: DeliveryRecorder;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Where parsed bodies are charged to their endpoints; only their number is bounded without. */
  readonly ledger?: Pick<MemoryLedger, 'awaitRoom'>;
  /** How long to wait for the database or a rotation, in milliseconds, before asking the sender to retry. */
  readonly patienceMs?: number;
}

const defaultPatienceMs = 10_000;
/** In bytes: what waits to be stored is bounded by its number, too. */
const shortBody = 16 * 1024;
const retryAfterSeconds = '5';

/**
 * A receiver for these families. Of several faults, the first in this order is answered: the method, the endpoint, the
 * content encoding, the size, the signature, the body.
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { secrets, log, recorder, clock, telemetry, ledger, patienceMs = defaultPatienceMs } = options;
  const warn = createWarnings(telemetry);
  const tellFault = createWarnings(telemetry, { level: 'error' });
  const families = new Map(options.families.map((family) => [family.name, family]));
  const { webhooksRefused, webhookSeconds, webhookAccepted } = telemetry.metrics;
  // At zero, so that Prometheus sees the first one as an increase.
  for (const name of families.keys())
    for (const reason of [...Object.keys(signatureMessages), 'UNAVAILABLE']) webhooksRefused.of(name, reason);

  /** Resolves with the name of the delivery's family. */
  async function verifyAndStore(request: WebhookRequest, received: Received): Promise<string> {
    checkMethod(request);
    const family = findFamily(request);
    checkEncoding(request);
    const body = await readBody(request);
    received.body = body;
    await checkSignature(family, request, body);
    const release = await roomFor(request, body);
    try {
      const delivery = parseDelivery(family, request, body);
      traceDelivery(delivery, received.traced);
      const outcome = await withTimeout(patienceMs, log.append(delivery), 'The database did not answer');
      recorder.accepted(delivery, outcome);
      webhookAccepted.of(family.name, request.endpointId).value = clock.now() / 1_000;
      return family.name;
    } finally {
      release?.();
    }
  }

  /** Waits until there is memory for what a long body is parsed to: a verified delivery is not refused at once. */
  async function roomFor(request: WebhookRequest, body: Buffer): Promise<(() => void) | undefined> {
    if (!ledger || body.length <= shortBody) return undefined;
    const endpoint = endpointCaller(request.family, request.endpointId);
    const release = await ledger.awaitRoom(endpoint, 'read', heapOfJson(body), patienceMs);
    if (!release) throw unavailable();
    return release;
  }

  function findFamily({ family: name, endpointId }: WebhookRequest): WebhookFamily {
    const family = families.get(name);
    if (!family || !secrets.valid(name, endpointId))
      throw new Refusal(404, 'ENDPOINT_UNKNOWN', 'There is no such subscription or endpoint here.');
    return family;
  }

  async function checkSignature(family: WebhookFamily, request: WebhookRequest, body: Buffer) {
    const { name, scheme } = family;
    const headers = headerValues(request, scheme.header);
    const faultUnder = (valid: readonly string[] = []) =>
      findSignatureFault(scheme, headers, body, { secrets: valid, now: clock.now() });
    let fault = faultUnder(secrets.valid(name, request.endpointId));
    // Another replica may just have stored a new secret, with its signal still on the way.
    if (fault === 'SIGNATURE_WRONG' && mayMatch(scheme, headers))
      fault = faultUnder(await latestSecrets(family, request.endpointId));
    if (fault) throw new Refusal(401, fault, signatureMessages[fault]);
  }

  /** The valid secrets, read anew. Undefined if they cannot be read, and nobody but the operator changes them. */
  async function latestSecrets({ name, rotates }: WebhookFamily, endpointId: string) {
    const lacking = `The database did not answer${rotates ? ', or a rotation did not end,' : ''}`;
    try {
      return await withTimeout(patienceMs, secrets.latest(name, endpointId), lacking);
    } catch (err) {
      // `TooManyWaiting` is not logged, since anybody can cause it.
      if (!(err instanceof TooManyWaiting))
        warn('webhook secrets could not be reloaded', () => ({ err, family: name }), name);
      // The sender must retry: it may have signed with a rotated secret that is not known here yet.
      if (rotates) throw unavailable();
      return undefined;
    }
  }

  function parseDelivery(family: WebhookFamily, request: WebhookRequest, body: Buffer): Delivery {
    const read = readEvent(body);
    if ('code' in read) throw new Refusal(400, read.code, read.message);
    const { text, event } = read;
    checkTypeHeader(family, request, event.type);
    const receivedAt = new Date(clock.now()).toISOString();
    return {
      family: family.name,
      endpointId: request.endpointId,
      eventId: event.id,
      type: event.type,
      body: text,
      receivedAt,
      signedAt: signedAt(family.scheme, headerValues(request, family.scheme.header)),
      ...family.parse(event, receivedAt),
    };
  }

  function answerRefusal(refusal: Refusal, request: WebhookRequest, { body }: Received): WebhookAnswer {
    const { status, code, message, headers } = refusal;
    recorder.refused(request, refusal, body);
    // A name from outside must not become a metric label.
    const family = families.has(request.family) ? request.family : 'unknown';
    webhooksRefused.of(family, code).value += 1;
    // Nor is an id from outside logged, unless it is that of a configured endpoint.
    const endpoint = secrets.valid(family, request.endpointId) && { endpointId: request.endpointId };
    // `UNAVAILABLE` is logged, if at all, with its cause where it arises.
    if (code !== 'UNAVAILABLE')
      warn('webhook refused', () => ({ family, ...endpoint, status, reason: code }), `${family} ${code}`);
    return toAnswer(status, { error: { code, message } }, headers);
  }

  function notStored(err: unknown): Refusal {
    tellFault('webhook could not be stored', () => ({ err }));
    return unavailable();
  }

  return {
    async receive(request) {
      const { began = performance.now() } = request;
      const received: Received = {};
      const traceparent = headerValues(request, 'traceparent')[0];
      const traced = traceArrival('delivery', { traceparent }, began);
      received.traced = traced;
      try {
        const family = await verifyAndStore(request, received);
        webhookSeconds.of(family).add(secondsSince(began));
        traced?.span.setAttribute('trivium.family', family);
        return toAnswer(200, { received: true });
      } catch (error) {
        const refusal = error instanceof Refusal ? error : notStored(error);
        failSpan(traced?.span, refusal.code);
        return answerRefusal(refusal, request, received);
      } finally {
        traced?.span.end();
      }
    },
  };
}

/** What has been received of a request so far. */
interface Received {
  body?: Buffer;
  traced?: TracedWork | undefined;
}

const signatureMessages: Readonly<Record<SignatureFault, string>> = {
  SIGNATURE_MISSING: 'The signature header is missing.',
  SIGNATURE_MALFORMED: 'The signature header is malformed, or was sent more than once.',
  SIGNATURE_TOO_OLD: 'The time in the signature header is too old.',
  SIGNATURE_TOO_FAR_AHEAD: 'The time in the signature header is too far ahead.',
  SIGNATURE_WRONG: 'The signature does not match.',
};

function checkTypeHeader({ typeHeader }: WebhookFamily, request: WebhookRequest, type: string): void {
  if (typeHeader === undefined) return;
  // A header's value is bytes, which node:http decodes as Latin-1.
  const expected = Buffer.from(type).toString('latin1');
  if (headerValues(request, typeHeader).some((value) => value !== expected))
    throw new Refusal(400, 'TYPE_MISMATCH', `The header ${typeHeader} differs from the signed type.`);
}

function unavailable(): Refusal {
  return new Refusal(503, 'UNAVAILABLE', 'The event could not be stored; send it again later.', {
    'retry-after': retryAfterSeconds,
  });
}

function toAnswer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): WebhookAnswer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}
