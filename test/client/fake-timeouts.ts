import { onTestFinished, vi } from 'vitest';

/** Has `AbortSignal.timeout` go by the fake timers, until the test has finished. */
export function fakeTimeouts(): void {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const late = new AbortController();
    setTimeout(() => late.abort(new DOMException('late', 'TimeoutError')), ms);
    return late.signal;
  });
  onTestFinished(() => timeout.mockRestore());
}

/** Answers nothing; rejects as `fetch` does when the signal is aborted. */
export function neverAnswered(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}
