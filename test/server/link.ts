import { connect, createServer, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A link to this server that lets through so many bytes a second of what comes from there; gives its address. */
export async function openLink(url: string, bytesPerSecond: number): Promise<string> {
  const link = createServer((near) => {
    const far = connect(Number(new URL(url).port), '127.0.0.1');
    near.pipe(far);
    let due = performance.now();
    far.on('data', (data) => {
      near.write(data);
      far.pause();
      due = Math.max(due, performance.now() - 100) + (data.length / bytesPerSecond) * 1000;
      setTimeout(() => far.resume(), due - performance.now());
    });
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const)
      end.on('error', () => undefined).on('close', () => other.destroy());
  });
  await new Promise<void>((resolve) => link.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void link.close());
  return `http://127.0.0.1:${(link.address() as AddressInfo).port}`;
}
