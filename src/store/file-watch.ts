import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';

const lookMs = 1_000;

/** Notices that a file is removed, moved or replaced: a process that has it open would keep writing to the old one. */
export interface FileWatch {
  /** Resolves with an error that says so. */
  readonly gone: Promise<Error>;
  stop(): void;
}

/** Looks every second at the file at `path`, which exists. */
export function watchFile(path: string): FileWatch {
  const { dev, ino } = statSync(path);

  async function isStillThere(): Promise<boolean> {
    try {
      const found = await stat(path);
      return found.dev === dev && found.ino === ino;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ENOENT'; // any other error may pass
    }
  }

  let timer: NodeJS.Timeout;
  const gone = new Promise<Error>((resolve) => {
    const look = async () => {
      if (!(await isStillThere())) resolve(new Error(`The database file ${path} was removed or replaced.`));
    };
    timer = setInterval(() => void look(), lookMs).unref();
  });
  return { gone, stop: () => clearInterval(timer) };
}
