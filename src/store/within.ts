/**
 * The outcome of `work`; if it takes longer than `ms`, a rejection that says `lacking`, what did not happen in that time.
 * The work itself goes on.
 */
export async function within<T>(ms: number, work: Promise<T>, lacking: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${lacking} within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
