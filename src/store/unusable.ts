/**
 * A database that cannot be used, told in a sentence for the operator, which holds no password. As an error with a
 * `code` it is shown without its stack.
 */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
  readonly code = 'DATABASE_UNUSABLE';
}
