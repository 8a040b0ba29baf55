import { connect, createServer, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Opens a proxy that passes on this many bytes a second of what the server sends; returns its URL. */
export async function openThrottledProxy(url: string, bytesPerSecond: number): Promise<string> {
  const proxy = createServer((near) => {
    const far = connect(Number(new URL(url).port), '127.0.0.1');
    near.pipe(far);
    let due = performance.now();
    far.on('data', (data) => {
      near.write(data);
      far.pause();
      due = Math.max(due, performance.now() - 100) + (data.length / bytesPerSecond) * 1000;
      setTimeout(() => far.resume(), Math.max(due - performance.now(), 0));
    });
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const)
      end.on('error', () => undefined).on('close', () => other.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}
