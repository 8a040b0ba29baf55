import type { ClientConfig } from 'pg';
import type { Logger } from 'pino';
import { createCoalescedRead } from '../../lib/async/coalesced-read.js';
import { HostProbe, type Finding, type Host } from './host-probe.js';
import { UnfitServer, type TimelineFence } from './timeline.js';

/** How often all hosts are asked. */
const roundMs = 1_000;
const pauseMs = 100;

/** The servers that are asked, and the fence that keeps connections off older timelines. */
export interface PrimaryFinderOptions {
  /** Those of the address, in order. */
  readonly hosts: readonly Host[];
  /** Shared by all that connect to this database. */
  readonly fence: TimelineFence;
  readonly log: Logger;
}

/**
 * Knows which of several servers accepts writes on the highest timeline, by asking all of them every second. A single
 * one is never asked: its address may lead to another server, which each new connection checks.
 */
export class PrimaryFinder {
  /** Asks all hosts; callers at the same time share a round. Never rejects. */
  readonly look = createCoalescedRead(() => this.#round(), { pauseMs, maxWaiting: Infinity });
  readonly #probes: readonly HostProbe[];
  readonly #fence: TimelineFence;
  readonly #log: Logger;
  #current: Host | undefined;
  /** Whether there has been one to use. */
  #isStarted = false;
  #findings: readonly Finding[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** Why there is none to write to, as it was logged. */
  #trouble: string | undefined;

  constructor({ hosts, fence, log }: PrimaryFinderOptions) {
    this.#probes = hosts.length > 1 ? hosts.map((host) => new HostProbe(host)) : [];
    this.#current = hosts.length > 1 ? undefined : hosts[0];
    this.#fence = fence;
    this.#log = log;
  }

  /** The name of the server to use; undefined while there is none. */
  get place(): string | undefined {
    return this.#current?.name;
  }

  /** How to connect to the server to use. Throws an `UnfitServer` while there is none. */
  get config(): ClientConfig {
    if (this.#current) return this.#current.config;
    throw new UnfitServer(this.#trouble ?? 'no host has been asked yet');
  }

  /** What each of several hosts said last, in words. */
  get report(): readonly string[] {
    return this.#findings.map((finding) => describe(finding, finding.host === this.#current));
  }

  /** Looks for the server to use, and from then on every second. Throws an `UnfitServer` if there is none. */
  async start(): Promise<void> {
    if (this.#probes.length === 0) return;
    await this.look();
    void this.config;
    this.#timer = setInterval(() => void this.look(), roundMs).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    for (const probe of this.#probes) probe.stop();
  }

  async #round(): Promise<void> {
    if (this.#probes.length === 0) return;
    const findings = await Promise.all(this.#probes.map((probe) => probe.ask()));
    if (this.#isStopped) return; // they were silent because of that
    this.#findings = findings;
    for (const { timeline } of this.#findings) this.#fence.see(timeline);
    const writers = this.#findings.filter(
      (finding) => isOnTimeline(finding, this.#fence.highest) && !this.#mayBeOld(finding),
    );
    const [first] = writers;
    if (!first) return this.#miss();
    if (writers.some(({ started }) => started !== first.started)) return this.#refuseAll(writers);
    this.#use((writers.find(({ host }) => host === this.#current) ?? first).host);
  }

  /**
   * Whether it may be an old primary, which only this process, as it starts, cannot tell by its timeline. It was given up
   * by its standby, and a host that might know more is silent. What it takes would not be acknowledged anyway.
   */
  #mayBeOld({ isForsaken }: Finding): boolean {
    return !this.#isStarted && isForsaken && this.#findings.some(({ state }) => state === 'silent');
  }

  #use(host: Host): void {
    if (this.#current !== host && this.#findings.length > 0)
      this.#log.info(
        { host: host.name, timeline: this.#fence.highest },
        'the database is written to at this host',
      );
    this.#current = host;
    this.#isStarted = true;
    this.#trouble = undefined;
  }

  /** The one in use may only be out of reach for a moment; what connects to it finds out. */
  #miss(): void {
    const trouble = `no host accepts writes: ${this.report.join('; ')}`;
    if (this.#trouble === undefined) this.#log.error(`the database: ${trouble}`);
    this.#trouble = trouble;
    if (this.#current && isUnfit(this.#findings, this.#current)) this.#current = undefined;
  }

  /** Two that were promoted each have a log of their own: to choose one would lose what the other has. */
  #refuseAll(writers: readonly Finding[]): void {
    const names = writers.map(({ host }) => host.name).join(' and ');
    const trouble = `${names} both accept writes on timeline ${writers[0]!.timeline}: stop the wrong one`;
    if (this.#trouble !== trouble) this.#log.error(`the database: ${trouble}`);
    this.#trouble = trouble;
    this.#current = undefined;
    this.#fence.clear();
  }
}

function isOnTimeline({ state, timeline }: Finding, highest: number): boolean {
  return state === 'writer' && (timeline === 0 || timeline === highest);
}

function isUnfit(findings: readonly Finding[], host: Host): boolean {
  return findings.some((finding) => finding.host === host && finding.state !== 'silent');
}

function describe({ host, state, timeline, isForsaken, fault }: Finding, isUsed: boolean): string {
  const at = timeline === 0 ? '' : ` (timeline ${timeline})`;
  if (state === 'silent') return `${host.name} cannot be reached: ${fault}`;
  if (state === 'standby') return `${host.name} is a standby${at}`;
  if (isUsed) return `${host.name} accepts writes${at}`;
  const reason = isForsaken ? 'waits for a standby that is away' : 'is not used';
  return `${host.name} accepts writes, but ${reason}${at}`;
}
