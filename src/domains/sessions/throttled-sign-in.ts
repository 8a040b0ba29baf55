import { foldAscii, foldLoosely } from '../../lib/case-fold.js';
import type { Clock } from '../../lib/clock.js';
import type { RateLimit } from '../../lib/rate-limit.js';
import { digest, type Sealer } from '../../lib/sealer.js';
import { createWarnings, type Warn } from '../../lib/telemetry/rate-limited-log.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Database } from '../../store/database.js';
import { createKeyv } from '../../store/sealed-keyv.js';
import { UpstreamError } from '../../upstream/errors.js';
import { createFamiliarNetworks, type FamiliarNetworks } from './familiar-networks.js';
import { Throttle } from './sign-in-throttle.js';

/** Who wants to sign in, and from where. */
export interface SignInAttempt {
  readonly email: string;
  readonly network: string;
  /** Called with what is left of the limits of failures, once the attempt counts, however it ends. */
  readonly onLimits?: ((limits: readonly RateLimit[]) => void) | undefined;
}

/** Between two warnings: anybody can cause refused sign-ins. */
const quietMs = 60_000;
const attackedAddress =
  'sign-ins for one address are refused after ten failures: somebody may be guessing its password';
const crowdedNetwork =
  'sign-ins from one network are refused after a hundred failures: if it is the network of a proxy, see TRUST_PROXY';

const tooManyFailed = 'Too many failed sign-ins; try again later.';
const serviceFailing = 'The notes service failed at too many sign-ins; try again later.';
const serviceLimit = 'sign-in-service';
/** Clients are told of the service's failures only once they count. */
const isTold = ({ name, remaining }: RateLimit) => name !== serviceLimit || remaining === 0;

/** In characters: no address is as long, and what is longer counts as one. */
const maxAddress = 1_000;
/** The same for all spellings that the service may take for one address. */
const alike = (email: string) => digest(email.length > maxAddress ? '' : foldLoosely(email));

const isWrong = (settled: PromiseSettledResult<unknown>) =>
  settled.status === 'fulfilled' && settled.value === 'WRONG_CREDENTIALS';

/** Whether the service was asked, and failed. */
const hasFailed = (settled: PromiseSettledResult<unknown>) =>
  settled.status === 'rejected' && settled.reason instanceof UpstreamError && settled.reason.uncertain;

/** Bounds the sign-ins that fail: of one address, from one network, and those at which the service fails. */
export class ThrottledSignIn {
  readonly #byAddress: Throttle;
  readonly #byNetwork: Throttle;
  /** Of those at which the service fails. Shorter: its failures may be its own. */
  readonly #failing: Throttle;
  readonly #familiar: FamiliarNetworks;
  readonly #warnSeldom: Warn;

  constructor(options: {
    readonly database: Database;
    readonly sealer: Sealer;
    readonly clock: Clock;
    readonly telemetry: Telemetry;
  }) {
    const { clock, telemetry } = options;
    this.#warnSeldom = createWarnings(telemetry, { quietMs });
    const window = { windowMs: 15 * 60_000, clock, refusal: tooManyFailed };
    const onRefused = (message: string) => () => this.#warnSeldom(message, () => ({ audit: true }));
    this.#byAddress = new Throttle({
      ...window,
      name: 'sign-in',
      limit: 10,
      onRefused: onRefused(attackedAddress),
    });
    this.#byNetwork = new Throttle({
      ...window,
      name: 'sign-in-network',
      limit: 100,
      onRefused: onRefused(crowdedNetwork),
    });
    this.#failing = new Throttle({
      name: serviceLimit,
      windowMs: 60_000,
      clock,
      limit: 20,
      refusal: serviceFailing,
    });
    this.#familiar = createFamiliarNetworks({
      keyv: createKeyv({ ...options, namespace: 'networks' }),
      clock,
    });
  }

  /** Runs `exchange` when its turn comes; `RATE_LIMITED` after too many failures. */
  attempt<T>(
    { email, network, onLimits }: SignInAttempt,
    exchange: () => Promise<T | 'WRONG_CREDENTIALS'>,
  ): Promise<T | 'WRONG_CREDENTIALS'> {
    const limits = [() => this.#byNetwork.limitOf(network)];
    const onKeys = (key: string, failingKey: string) => {
      limits.unshift(() => this.#byAddress.limitOf(key));
      limits.push(() => this.#failing.limitOf(failingKey));
    };
    return this.#byNetwork
      .attempt(network, () => this.#attemptFrom(network, email, exchange, onKeys), isWrong)
      .finally(() => onLimits?.(limits.map((limit) => limit()).filter(isTold)));
  }

  /**
   * Where an address is familiar, neither guesses from elsewhere lock it, nor its neighbours' sign-ins at which the
   * service fails. The wrong passwords of its network do.
   */
  async #attemptFrom<T>(
    network: string,
    email: string,
    exchange: () => Promise<T | 'WRONG_CREDENTIALS'>,
    onKeys: (key: string, failingKey: string) => void,
  ): Promise<T | 'WRONG_CREDENTIALS'> {
    const pair = digest(`${digest(foldAscii(email.trim()))} ${network}`);
    const isFamiliar = await this.#familiar.has(pair);
    const [key, failingKey] = isFamiliar ? [pair, pair] : [alike(email), network];
    onKeys(key, failingKey);
    const run = () => this.#failing.attempt(failingKey, exchange, hasFailed);
    const outcome = await this.#byAddress.attempt(key, run, isWrong);
    if (outcome !== 'WRONG_CREDENTIALS') await this.#remember(pair);
    return outcome;
  }

  /** Never rejects: there is a session by now, which nobody could end without its token. */
  async #remember(pair: string): Promise<void> {
    try {
      await this.#familiar.add(pair);
    } catch (err) {
      this.#warnSeldom('the network of a sign-in could not be stored', () => ({ err }));
    }
  }
}
