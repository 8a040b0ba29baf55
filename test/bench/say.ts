/** Prints a line. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`);
