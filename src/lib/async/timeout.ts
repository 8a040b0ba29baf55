/**
 * Settles as `work` does, or rejects if that takes longer than `ms`; the error begins with `lacking`, for example 'The
 * database did not answer'. The work itself goes on.
 */
export async function withTimeout<T>(ms: number, work: Promise<T>, lacking: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${lacking} within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
