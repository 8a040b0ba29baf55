import type { Clock } from '../../lib/clock.js';
import { secondsSince, type Metrics } from '../../lib/telemetry/metrics.js';
import { withTimeout } from '../../lib/async/timeout.js';
import {
  endSpan,
  failSpan,
  traceArrival,
  traceDelivery,
  type TracedWork,
} from '../../lib/telemetry/tracing.js';
import { heapOfJson } from '../../lib/json-size.js';
import { endpointCaller, type MemoryLedger } from '../../lib/memory/memory-ledger.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { createWarnings, type Warn } from '../../lib/telemetry/rate-limited-log.js';
import { TooManyWaiting } from '../../lib/async/coalesced-read.js';
import type { DeliveryRecorder } from '../deliveries/delivery-recorder.js';
import type { Delivery } from './delivery.js';
import type { WebhookFamily } from './webhook-family.js';
import type { Log } from '../log/log.js';
import {
  checkEncoding,
  checkMethod,
  headerValues,
  readBody,
  Refusal,
  readDelivery,
  type BodyFault,
  type Reading,
  type WebhookRequest,
} from './request.js';
import type { Secrets } from '../secrets/secrets.js';
import { findSignatureFault, mayMatch, signedAt, type SignatureFault } from './signature.js';

/** The answer to a delivery; a refusal has the body `{"error":{"code","message"}}`. */
export interface WebhookAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The families and secrets by which deliveries are verified, the log that they go to, and how long it is waited for. */
export interface ReceiverOptions {
  readonly families: readonly WebhookFamily[];
  readonly secrets: Pick<Secrets, 'valid' | 'latest'>;
  readonly log: Pick<Log, 'append'>;
  readonly recorder: DeliveryRecorder;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Where parsed bodies are charged to their endpoints. */
  readonly ledger: Pick<MemoryLedger, 'awaitRoom'>;
  /** Reads a long body elsewhere, as `readDelivery` does; here, others would wait for it. */
  readonly readLong: (family: string, body: Uint8Array, receivedAt: string) => Promise<Reading | BodyFault>;
  /** How long to wait for the database or a rotation, in milliseconds, before asking the sender to retry. */
  readonly patienceMs?: number;
}

const defaultPatienceMs = 10_000;
/** In bytes: shorter ones are read at once, and bounded by their number. */
const shortBody = 16 * 1024;
const retryAfterSeconds = '5';

/**
 * Receives the webhooks of all families (`apis/webhooks.md` §5, §6). Of several faults, the first in this order is
 * answered: the method, the endpoint, the content encoding, the size, the signature, the body.
 */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #patienceMs: number;
  readonly #metrics: Metrics;
  readonly #warn: Warn;
  readonly #tellFault: Warn;
  readonly #families: ReadonlyMap<string, WebhookFamily>;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    const { telemetry, patienceMs = defaultPatienceMs } = options;
    this.#patienceMs = patienceMs;
    this.#warn = createWarnings(telemetry);
    this.#tellFault = createWarnings(telemetry, { level: 'error' });
    this.#families = new Map(options.families.map((family) => [family.name, family]));
    const { webhooksRefused } = telemetry.metrics;
    this.#metrics = telemetry.metrics;
    // At zero, so that Prometheus sees the first one as an increase.
    for (const name of this.#families.keys())
      for (const reason of [...Object.keys(signatureMessages), 'UNAVAILABLE'])
        webhooksRefused.of(name, reason);
  }

  /** Verifies, parses and stores one delivery; never rejects, and answers 200 only once the event is durable. */
  async receive(request: WebhookRequest): Promise<WebhookAnswer> {
    const { began = performance.now() } = request;
    const received: Received = {};
    const traceparent = headerValues(request, 'traceparent')[0];
    const traced = traceArrival('delivery', { traceparent }, began);
    received.traced = traced;
    try {
      const family = await this.#verifyAndStore(request, received);
      this.#metrics.webhookSeconds.of(family).add(secondsSince(began));
      traced?.span?.setAttribute('trivium.family', family);
      return toAnswer(200, { received: true });
    } catch (error) {
      const refusal = error instanceof Refusal ? error : this.#notStored(error);
      failSpan(traced?.span, refusal.code);
      return this.#answerRefusal(refusal, request, received);
    } finally {
      endSpan(traced?.span);
    }
  }

  /** Resolves with the name of the delivery's family. */
  async #verifyAndStore(request: WebhookRequest, received: Received): Promise<string> {
    checkMethod(request);
    const family = this.#findFamily(request);
    checkEncoding(request);
    const body = await readBody(request);
    received.body = body;
    await this.#checkSignature(family, request, body);
    const release = await this.#roomFor(request, body);
    try {
      const delivery = await this.#read(family, request, body);
      traceDelivery(delivery, received.traced);
      const outcome = await withTimeout(
        this.#patienceMs,
        this.#options.log.append(delivery),
        'The database did not answer',
      );
      this.#options.recorder.accepted(delivery, outcome);
      this.#metrics.webhookAccepted.of(family.name, request.endpointId).value =
        this.#options.clock.now() / 1_000;
      return family.name;
    } finally {
      release?.();
    }
  }

  /** Waits until there is memory for what a long body is parsed to: a verified delivery is not refused at once. */
  async #roomFor(request: WebhookRequest, body: Buffer): Promise<(() => void) | undefined> {
    if (body.length <= shortBody) return undefined;
    const endpoint = endpointCaller(request.family, request.endpointId);
    const release = await this.#options.ledger.awaitRoom(
      endpoint,
      'read',
      heapOfJson(body),
      this.#patienceMs,
    );
    if (!release) throw unavailable();
    return release;
  }

  #findFamily(request: WebhookRequest): WebhookFamily {
    const family = this.#families.get(request.family);
    if (!family || !this.#options.secrets.valid(request))
      throw new Refusal(404, 'ENDPOINT_UNKNOWN', 'There is no such subscription or endpoint here.');
    return family;
  }

  async #checkSignature(family: WebhookFamily, request: WebhookRequest, body: Buffer) {
    const { scheme } = family;
    const headers = headerValues(request, scheme.header);
    const now = this.#options.clock.now(); // its age when it came: it may have to wait for a rotation
    const faultUnder = (secrets: readonly string[] = []) =>
      findSignatureFault(scheme, headers, body, { secrets, now });
    let fault = faultUnder(this.#options.secrets.valid(request));
    // Another replica may just have stored a new secret, with its signal still on the way.
    if (fault === 'SIGNATURE_WRONG' && mayMatch(scheme, headers))
      fault = faultUnder(await this.#latestSecrets(family, request));
    if (fault) throw new Refusal(401, fault, signatureMessages[fault]);
  }

  /** The valid secrets, read anew. Undefined if they cannot be read, and nobody but the operator changes them. */
  async #latestSecrets({ name, rotates }: WebhookFamily, request: WebhookRequest) {
    const lacking = `The database did not answer${rotates ? ', or a rotation did not end,' : ''}`;
    try {
      return await withTimeout(this.#patienceMs, this.#options.secrets.latest(request), lacking);
    } catch (err) {
      // `TooManyWaiting` is not logged, since anybody can cause it.
      if (!(err instanceof TooManyWaiting))
        this.#warn('webhook secrets could not be reloaded', () => ({ err, family: name }), name);
      // The sender must retry: it may have signed with a rotated secret that is not known here yet.
      if (rotates) throw unavailable('The signature could not be checked now; send it again later.');
      return undefined;
    }
  }

  async #read(family: WebhookFamily, request: WebhookRequest, body: Buffer): Promise<Delivery> {
    const { clock, readLong } = this.#options;
    const receivedAt = new Date(clock.now()).toISOString();
    const reading =
      body.length > shortBody
        ? await readLong(family.name, body, receivedAt)
        : readDelivery(family.parse, body, receivedAt);
    if ('code' in reading) throw new Refusal(400, reading.code, reading.message);
    checkTypeHeader(family, request, reading.type);
    return {
      ...reading,
      family: family.name,
      endpointId: request.endpointId,
      receivedAt,
      signedAt: signedAt(headerValues(request, family.scheme.header)),
    };
  }

  #answerRefusal(refusal: Refusal, request: WebhookRequest, { body }: Received): WebhookAnswer {
    const { status, code, message, headers } = refusal;
    this.#options.recorder.refused(request, refusal, body);
    // A name from outside must not become a metric label.
    const family = this.#families.has(request.family) ? request.family : 'unknown';
    this.#metrics.webhooksRefused.of(family, code).value += 1;
    // Nor is an id from outside logged, unless it is that of a configured endpoint.
    const { endpointId } = request;
    const endpoint = this.#options.secrets.valid({ family, endpointId }) && { endpointId };
    // `UNAVAILABLE` is logged, if at all, with its cause where it arises.
    if (code !== 'UNAVAILABLE')
      this.#warn(
        'webhook refused',
        () => ({ family, ...endpoint, status, reason: code }),
        `${family} ${code}`,
      );
    return toAnswer(status, { error: { code, message } }, headers);
  }

  #notStored(err: unknown): Refusal {
    this.#tellFault('webhook could not be stored', () => ({ err }));
    return unavailable();
  }
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

function unavailable(message = 'The event could not be stored; send it again later.'): Refusal {
  return new Refusal(503, 'UNAVAILABLE', message, { 'retry-after': retryAfterSeconds });
}

function toAnswer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): WebhookAnswer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}
