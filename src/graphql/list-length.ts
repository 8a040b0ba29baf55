import { GatewayError } from './errors.js';

/** Throws `BAD_USER_INPUT` for a list, of this name, of more values than it may have; null and undefined pass. */
export function checkListLength(
  name: string,
  values: readonly unknown[] | null | undefined,
  most: number,
): void {
  if (values && values.length > most)
    throw new GatewayError(
      'BAD_USER_INPUT',
      `\`${name}\` has ${values.length} values; at most ${most} are allowed.`,
    );
}
