/**
 * The database cannot be used. The message is a sentence for the operator and contains no password; by the `code` the
 * process knows to print it without a stack.
 */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
  readonly code = 'DATABASE_UNUSABLE';
}
