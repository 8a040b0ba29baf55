import { useEffect, useState } from 'react';

/** Whether the gateway can serve. */
export type HealthState = 'unknown' | 'ok' | 'draining' | 'no database' | 'unreachable';

/** The calls to one service since the gateway started. */
export interface ServiceFigures {
  readonly calls: number;
  readonly failed: number;
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
export function useServices(): ReadonlyMap<string, ServiceFigures> | undefined {
  return useRepeated(readServices, none);
}

const none: ReadonlyMap<string, ServiceFigures> = new Map();

function useRepeated<Value>(read: () => Promise<Value>, first: Value): Value {
  const [value, setValue] = useState(first);
  useEffect(() => {
    let isLeft = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      const now = await read();
      if (isLeft) return;
      setValue(now);
      timer = setTimeout(() => void look(), everyMs);
    };
    void look();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [read]);
  return value;
}

const states: readonly unknown[] = ['ok', 'draining', 'no database'];

async function readHealth(): Promise<HealthState> {
  try {
    const { status } = (await (await fetch('/readyz')).json()) as { readonly status?: unknown };
    return states.includes(status) ? (status as HealthState) : 'unreachable';
  } catch {
    return 'unreachable';
  }
}

async function readServices(): Promise<ReadonlyMap<string, ServiceFigures> | undefined> {
  try {
    const response = await fetch('/metrics');
    return response.ok ? servicesIn(await response.text()) : undefined;
  } catch {
    return undefined;
  }
}

const line = /^trivium_upstream_(calls_total|resting)\{(.*)\} (\d+)/gm;

/** The services' figures in Prometheus' text format. */
function servicesIn(text: string): ReadonlyMap<string, ServiceFigures> {
  const services = new Map<string, ServiceFigures>();
  for (const [, name, labels = '', value] of text.matchAll(line)) {
    const service = /upstream="([^"]*)"/.exec(labels)?.[1] ?? '';
    const { calls = 0, failed = 0, isResting = false } = services.get(service) ?? {};
    const many = Number(value);
    const isFailure = !/status="[234]/.test(labels);
    services.set(
      service,
      name === 'resting'
        ? { calls, failed, isResting: many > 0 }
        : { calls: calls + many, failed: failed + (isFailure ? many : 0), isResting },
    );
  }
  return services;
}
