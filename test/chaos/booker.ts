import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import type { Booking, Shown } from './check-bookings.js';
import { askUntilAnswered, type AskingOptions } from './ask-until-answered.js';

/** Clients that book with idempotency keys, and retry until they get an answer. */
export interface Booker {
  bookings(): readonly Booking[];
  /** Starts no new bookings, and waits at most so long for those in progress. */
  finish(maxMs: number): Promise<void>;
}

export interface BookerOptions extends Omit<AskingOptions, 'patienceMs' | 'stopped'> {
  readonly sandbox: Sandbox;
  readonly token: string;
}

interface Asked extends Omit<Booking, 'booked'> {
  readonly answers: Shown[];
  readonly refusals: string[];
}

const pauseMs = [50, 600] as const;
const patienceMs = 8_000;
/** How the service answers some bookings: late, or with an answer that is cut although it has booked. */
const acts = [
  { kind: 'delay', ms: 300 },
  { kind: 'delay', ms: 1_000 },
  { kind: 'cut', afterBytes: 10 },
] as const;

const query = `mutation ($input: CreateAppointmentInput!) {
  createAppointment(input: $input) { appointment { id upstreamId confirmation } errors { code } }
}`;

/** Starts booking. */
export function startBooker({ url, random, sandbox, token }: BookerOptions): Booker {
  const asked: Asked[] = [];
  const inProgress = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  const askingOptions = { url, random, patienceMs, stopped: stopping.signal };
  let finishing = false;

  async function ask(booking: Asked, input: object): Promise<void> {
    const answer = await askUntilAnswered(askingOptions, {
      query,
      variables: { input },
      token,
      read: ({ data }) =>
        data?.createAppointment as { appointment: Shown | null; errors: { code: string }[] } | undefined,
    });
    if (answer?.appointment) booking.answers.push(answer.appointment);
    booking.refusals.push(...(answer?.errors.map(({ code }) => code) ?? []));
  }

  /** Some bookings are sent several times at once, some again after the answer. */
  async function book(): Promise<void> {
    const key = randomUUID();
    const booking: Asked = { patient: `Patient/${key}`, answers: [], refusals: [] };
    asked.push(booking);
    const input = {
      status: 'BOOKED',
      start: '2026-11-21T09:30:00Z',
      end: '2026-11-21T10:00:00Z',
      participants: [{ actor: { reference: booking.patient }, status: 'ACCEPTED' }],
      idempotencyKey: key,
    };
    const again = random.chance(0.3);
    const copies = random.whole(1, 3);
    if (random.chance(0.3))
      sandbox.faults.add({ service: 'appointments', method: 'POST', times: 1, act: random.pick(acts) });
    await Promise.all(Array.from({ length: copies }, () => ask(booking, input)));
    if (again && !stopping.signal.aborted) await ask(booking, input);
  }

  async function run(): Promise<void> {
    while (!finishing) {
      const work = book().finally(() => inProgress.delete(work));
      inProgress.add(work);
      await sleep(random.between(...pauseMs));
    }
  }

  const running = run();
  return {
    bookings() {
      const booked = new Map<string, string[]>();
      for (const { id, participant } of sandbox.appointments.booked) {
        const patient = participant[0]!.actor.reference;
        booked.set(patient, [...(booked.get(patient) ?? []), id]);
      }
      return asked.map((booking) => ({ ...booking, booked: booked.get(booking.patient) ?? [] }));
    },
    async finish(maxMs) {
      finishing = true;
      await running;
      const timer = setTimeout(() => stopping.abort(), maxMs);
      await Promise.all(inProgress);
      clearTimeout(timer);
    },
  };
}
