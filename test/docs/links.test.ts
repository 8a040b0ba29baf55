import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { marked } from 'marked';
import { startTestbed } from '../support/testbed.js';
import { examples, pageOf, pages, proseOf, type Page } from './pages.js';

/** The anchor that a heading gets, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

const anchorsIn = (page: Page) =>
  Array.from(proseOf(page).matchAll(/^#+ (.*)$/gm)).map(([, heading]) => anchorOf(heading!));

/** Where the links and pictures of a page lead, in whatever way they are written. */
function linksIn({ text }: Page): readonly string[] {
  const links: string[] = [];
  void marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type === 'link' || token.type === 'image')
      links.push((token as { readonly href: string }).href);
    if (token.type !== 'html') return;
    for (const [, link] of token.raw.matchAll(/\b(?:href|src)="([^"]*)"/g)) links.push(link!);
  });
  return links;
}

/** The relative links of a page that lead nowhere. */
function brokenLinks(page: Page): readonly string[] {
  return linksIn(page)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = normalize(join(dirname(page.path), path));
      if (!existsSync(target)) return true;
      if (anchor === undefined) return false;
      if (path !== '' && !path.endsWith('.md')) return true;
      return !anchorsIn(path === '' ? page : pageOf(target)).includes(anchor);
    });
}

/** Pages for other readers than those of the documentation. */
const readmes = ['examples/react/README.md', 'src/client/README.md'].map((path) => ({
  path,
  text: readFileSync(path, 'utf8'),
}));

test.for([...pages, ...readmes].map((page): [string, Page] => [page.path, page]))(
  'every link in %s leads somewhere',
  ([, page]) => {
    expect(brokenLinks(page)).toEqual([]);
  },
);

test('the check of links finds a broken one', () => {
  const text =
    '# Here\n\n[a](nowhere.md) [b](README.md#nowhere) [c](README.md) [d](#here) [e](https://example.com)\n' +
    '[f](none.md "title") [g][ref] <a href="gone.md">h</a> [i](compose.yaml#gateway) `[j](code.md)`\n\n[ref]: away.md\n';
  expect(brokenLinks({ path: 'page.md', text })).toEqual([
    'nowhere.md',
    'README.md#nowhere',
    'none.md',
    'away.md',
    'gone.md',
    'compose.yaml#gateway',
  ]);
});

test('README links to every page of docs', () => {
  const { text } = pageOf('README.md');
  const listed = pages.map(({ path }) => path).filter((path) => /^docs\/(?!decisions\/)/.test(path));
  expect(listed.length).toBeGreaterThan(15);
  expect(listed.filter((path) => !text.includes(`](${path})`))).toEqual([]);
});

test('README and ARCHITECTURE are short', () => {
  expect(statSync('README.md').size).toBeLessThanOrEqual(8 * 1024);
  expect(statSync('ARCHITECTURE.md').size).toBeLessThanOrEqual(10 * 1024);
});

test('the index of decisions has each of them', () => {
  const { text } = pageOf('docs/decisions/README.md');
  const paths = pages.map(({ path }) => path).filter((path) => /^docs\/decisions\/(?!README)/.test(path));
  expect(paths.filter((path) => !text.includes(`](${basename(path)})`))).toEqual([]);
});

test('every example is in a language that a test runs or checks', () => {
  const checked = ['dotenv', 'graphql', 'html', 'sh', 'ts', 'tsx', 'json', 'promql', 'text'];
  const others = examples.filter(({ language }) => !checked.includes(language));
  expect(others.map(({ page, language }) => `${language} in ${page}`)).toEqual([]);
});

describe('what the pages name exists', () => {
  const text = pages.map((page) => page.text).join('\n');

  test('files and folders', () => {
    const named = Array.from(text.matchAll(/`((?:src|schema|test|docs|\.ci)\/[\w./-]*)`/g)).map(
      ([, path]) => path!,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  test('npm scripts', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };
    const named = new Set(
      Array.from(text.matchAll(/\bnpm (?:run )?([a-z][a-z:-]*)/g))
        .map(([, name]) => name!)
        .filter((name) => !['ci', 'init', 'install', 'pack'].includes(name)),
    );
    expect(named.size).toBeGreaterThan(5);
    expect([...named].filter((name) => !(name in scripts))).toEqual([]);
  });

  test('routes', async () => {
    const testbed = await startTestbed();
    const named = ['/livez', '/readyz', '/schema.graphql'];
    expect(named.filter((path) => !text.includes(`${path}\``))).toEqual([]);
    const answers = await Promise.all(named.map((path) => fetch(testbed.url + path)));
    await testbed.stop();
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
