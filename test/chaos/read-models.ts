import { postGraphql } from '../drain/requests.js';
import type { Listed } from './check-bookings.js';
import type { Fields } from './expected.js';

/** The gateway's read models, as it shows them. */
export interface ReadModels {
  readonly shipments: readonly Fields[];
  readonly payments: readonly Fields[];
  readonly appointments: readonly Listed[];
}

const lists = {
  shipments: 'shipmentId status carrier trackingNumber stage updatedAt',
  payments: 'paymentId amount currency status livemode updatedAt',
  appointments: 'id upstreamId confirmation participants { actor { reference } }',
} as const;

/** Reads all of them from the gateway at this address. */
export async function fetchReadModels(url: string, token: string): Promise<ReadModels> {
  const [shipments, payments, appointments] = await Promise.all([
    readAll<Fields>(url, token, 'shipments'),
    readAll<Fields>(url, token, 'payments'),
    readAll<Listed>(url, token, 'appointments'),
  ]);
  return { shipments, payments, appointments };
}

interface Page<T> {
  readonly nodes: readonly T[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}

async function readAll<T>(url: string, token: string, list: keyof typeof lists): Promise<readonly T[]> {
  const query = `query ($after: String) {
    page: ${list}(first: 100, after: $after) { nodes { ${lists[list]} } pageInfo { hasNextPage endCursor } }
  }`;
  const all: T[] = [];
  for (let after: string | null = null; ;) {
    const { data, errors } = await postGraphql(url, query, { after }, { token });
    if (errors) throw new Error(`The ${list} are not shown: ${JSON.stringify(errors)}`);
    const { nodes, pageInfo } = data.page as Page<T>;
    all.push(...nodes);
    if (!pageInfo.hasNextPage) return all;
    after = pageInfo.endCursor;
  }
}
