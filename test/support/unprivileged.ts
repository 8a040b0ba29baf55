/**
 * A command and its arguments, so that the process may not write where its user may not. Root may write everywhere, by a
 * capability that the process is started without; it may still read everything, as a checkout of root's own needs.
 */
export function unprivileged(
  command: string,
  args: readonly string[],
): readonly [command: string, args: readonly string[]] {
  if (process.getuid?.() !== 0) return [command, args];
  return ['setpriv', ['--bounding-set=-dac_override', command, ...args]];
}
