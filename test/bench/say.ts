/** A line for whoever started the benchmark. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`);
