import { expect } from 'vitest';

/** Resolves once a gateway that was told to stop no longer accepts connections. */
export async function refusesConnections(url: string): Promise<void> {
  const connecting = async () => {
    try {
      return (await fetch(`${url}/livez`)).status;
    } catch (error) {
      return ((error as Error).cause as NodeJS.ErrnoException).code;
    }
  };
  await expect.poll(connecting, { interval: 5 }).toBe('ECONNREFUSED');
}
