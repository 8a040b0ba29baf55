import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A page of the documentation. */
export interface Page {
  /** Its path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** A fenced example in a page. */
export interface Example {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

const pathsIn = (folder: string, options = {}) =>
  readdirSync(folder, { encoding: 'utf8', ...options })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** Every page: those at the root of the repository, and those under `docs/`. */
export const pages: readonly Page[] = [...pathsIn('.'), ...pathsIn('docs', { recursive: true })]
  .toSorted()
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }));

const fence = /^(`{3,})(\S*)[^\n]*\n([^]*?)^\1$/gm;

/** Every fenced example, in order of pages. */
export const examples: readonly Example[] = pages.flatMap(({ path, text }) =>
  Array.from(text.matchAll(fence)).map(([, , language, source]) => ({
    page: path,
    language: language!,
    text: source!,
  })),
);

/** A page by its path; throws if there is none. */
export function pageOf(path: string): Page {
  const page = pages.find((candidate) => candidate.path === path);
  if (page === undefined) throw new Error(`There is no page ${path}.`);
  return page;
}

/** The text of a page without its fenced examples. */
export function proseOf({ text }: Page): string {
  return text.replaceAll(fence, '');
}

/** The examples in this language that contain these words; throws if there is none. */
export function examplesIn(language: string, words = ''): readonly Example[] {
  const found = examples.filter((example) => example.language === language && example.text.includes(words));
  if (found.length === 0) throw new Error(`No page has an example in ${language} with ${words}.`);
  return found;
}

/** The address that the examples use. */
export const exampleAddress = '127.0.0.1:4000';
