import { GatewayError } from './errors.js';

/** The arguments of a connection, as clients give them. */
export interface PageArguments {
  readonly first?: number | null;
  readonly after?: string | null;
  readonly last?: number | null;
  readonly before?: string | null;
}

/** The maximum size of a page, and its default, for every connection. */
export const maxPageSize = 100;
/** The size of a page where neither `first` nor `last` is given. */
export const defaultPageSize = 20;
/** The maximum number of entities that a router may ask for at once: it does not divide what it needs. */
export const maxEntities = 1_000;

/** How many rows from which end: `first`/`last` outside 0…100, or both at once, is `BAD_USER_INPUT`. */
export function pageSize({ first, last }: PageArguments): {
  readonly size: number;
  readonly backward: boolean;
} {
  if (first != null && last != null)
    throw new GatewayError('BAD_USER_INPUT', 'Give `first` or `last`, not both.');
  checkSize('first', first);
  checkSize('last', last);
  return { size: first ?? last ?? defaultPageSize, backward: last != null };
}

function checkSize(name: string, size: number | null | undefined): void {
  if (size != null && (size < 0 || size > maxPageSize))
    throw new GatewayError('BAD_USER_INPUT', `\`${name}\` is ${size}; it must be from 0 to ${maxPageSize}.`);
}
