import { isObject } from '../../lib/json.js';
import type { Breathe } from './admission.js';

/** The text of an answer as `JSON.stringify` makes it, root field by root field: others are served in between. */
export async function answerText(answer: object, breathe: Breathe): Promise<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(answer) as [string, unknown][]) {
    if (value === undefined) continue;
    const text = name === 'data' && isObject(value) ? await dataText(value, breathe) : JSON.stringify(value);
    members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(',')}}`;
}

async function dataText(data: object, breathe: Breathe): Promise<string> {
  const fields: string[] = [];
  for (const [name, value] of Object.entries(data) as [string, unknown][]) {
    const pause = breathe();
    if (pause) await pause;
    if (value !== undefined) fields.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  return `{${fields.join(',')}}`;
}
