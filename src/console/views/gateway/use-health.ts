import { useEffect, useState } from 'react';

/** Whether the gateway can serve. */
export type HealthState = 'unknown' | 'ok' | 'draining' | 'no database' | 'unreachable';

/** The calls to one service since the gateway started. */
export interface ServiceFigures {
  readonly calls: number;
  readonly failed: number;
  /** None of the calls that were made last succeeded. */
  readonly isFailing: boolean;
  readonly isResting: boolean;
}

/** The services by the name that the figures have for them. */
export const serviceNames: Readonly<Record<string, string>> = {
  notes: 'Notes',
  appointments: 'Appointments',
  issuer: 'Token issuer of the appointments',
  payments: 'Payments, for rotations',
};

const everyMs = 5000;

/** What `/readyz` says, asked again every five seconds. */
export function useHealth(): HealthState {
  return useRepeated(readHealth, 'unknown');
}

/** What `/metrics` says of the services; undefined where it is not served at this address. */
export function useServices(): Services | undefined {
  return useRepeated<Services | undefined>(readServices, none);
}

type Services = ReadonlyMap<string, ServiceFigures>;

const none: Services = new Map();

/** What was read last, for a view that is opened again: what has changed since is seen at once. */
const known = new Map<unknown, unknown>();

/** Reads again and again; `read` is given what it read before. */
function useRepeated<Value>(read: (before: Value) => Promise<Value>, first: Value): Value {
  const [value, setValue] = useState(() => (known.get(read) ?? first) as Value);
  useEffect(() => {
    let isLeft = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let now = (known.get(read) ?? first) as Value;
    const look = async (): Promise<void> => {
      now = await read(now);
      if (isLeft) return;
      known.set(read, now);
      setValue(now);
      timer = setTimeout(() => void look(), everyMs);
    };
    void look();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [read, first]);
  return value;
}

const states: readonly unknown[] = ['ok', 'draining', 'no database'];

/** A gateway that gives no answer in time is not reached. */
const ask = (path: string): Promise<Response> => fetch(path, { signal: AbortSignal.timeout(everyMs) });

async function readHealth(): Promise<HealthState> {
  try {
    const { status } = (await (await ask('/readyz')).json()) as { readonly status?: unknown };
    return states.includes(status) ? (status as HealthState) : 'unreachable';
  } catch {
    return 'unreachable';
  }
}

async function readServices(before: Services | undefined): Promise<Services | undefined> {
  try {
    const response = await ask('/metrics');
    if (response.status === 404) return undefined;
    return response.ok ? servicesIn(await response.text(), before ?? none) : before;
  } catch {
    return before;
  }
}

const line = /^trivium_upstream_(calls_total|resting)\{(.*)\} (\d+)/gm;

/** The services' figures in Prometheus' text format, after those that were read before. */
export function servicesIn(text: string, before: Services): Services {
  const counts = new Map<string, { calls: number; failed: number; isResting: boolean }>();
  for (const [, name, labels = '', value] of text.matchAll(line)) {
    const service = /upstream="([^"]*)"/.exec(labels)?.[1] ?? '';
    const count = counts.get(service) ?? { calls: 0, failed: 0, isResting: false };
    counts.set(service, count);
    if (name === 'resting') count.isResting = Number(value) > 0;
    else count.calls += Number(value);
    if (name !== 'resting' && !/status="[234]/.test(labels)) count.failed += Number(value);
  }
  return new Map([...counts].map(([service, count]) => [service, compared(count, before.get(service))]));
}

function compared(
  now: Omit<ServiceFigures, 'isFailing'>,
  before: ServiceFigures | undefined,
): ServiceFigures {
  // With fewer calls than before, the gateway was started again.
  const isSame = before !== undefined && before.calls <= now.calls;
  const { calls, failed, isFailing } = isSame ? before : { calls: 0, failed: 0, isFailing: false };
  const isNew = now.calls !== calls;
  return { ...now, isFailing: isNew ? now.calls - calls === now.failed - failed : isFailing };
}
