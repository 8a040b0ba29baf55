/**
 * A database that cannot be used, told in a sentence for the operator, which holds no password. By its `code` it is
 * known for an error to be shown without its stack.
 */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
  readonly code = 'DATABASE_UNUSABLE';
}
