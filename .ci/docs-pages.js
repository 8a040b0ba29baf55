/**
 * Renders the documentation for the gateway to serve at `/docs`: README, what it links to at the root of the repository,
 * and everything under `docs/`, each as a page, with a navigation, and an index for the search.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

const roots = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

/** What every page loads. */
const assets = ['docs.css', 'search.js', 'own-address.js'];

/** The files that the pages are made from. */
export function docsSources() {
  const options = { recursive: true, encoding: 'utf8', withFileTypes: true };
  const under = existsSync('docs') ? readdirSync('docs', options) : [];
  const files = under.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const own = ['.ci/docs-pages.js', ...assets.map((asset) => join('.ci/docs', asset))];
  return [...roots.filter((path) => existsSync(path)), ...own, ...files.toSorted()];
}

/** Where a file of the repository is served; undefined if it is not. */
function addressOf(path) {
  if (path === 'README.md') return '/docs';
  if (path.startsWith('docs/pictures/')) return `/${path}`;
  if (!path.endsWith('.md')) return undefined;
  const name = path.slice(0, -'.md'.length);
  return `/docs/${name.startsWith('docs/') ? name.slice('docs/'.length).replace(/README$/, 'all') : name.toLowerCase()}`;
}

/** The anchor that a heading gets, as GitHub makes it. */
function anchorOf(heading) {
  const text = heading.trim().toLowerCase();
  return text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
}

const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text) => text.replaceAll(/[&<>"]/g, (character) => escapes[character]);

/** A short piece of code, which breaks between the words of a long name rather than within one. */
const codespan = ({ text }) => `<code>${escape(text).replaceAll(/[_/,]|(?=\{)/g, '$&<wbr>')}</code>`;

/** A relative link of a page as it is served; undefined if it leads to a file that is not. */
function linkOf(path, link) {
  if (/^[a-z]+:/.test(link) || link.startsWith('#')) return link;
  const [target, anchor] = link.split('#');
  const address = addressOf(posix.normalize(posix.join(dirname(path), target)));
  return address === undefined || anchor === undefined ? address : `${address}#${anchor}`;
}

/** Renders a page's Markdown by `marked`; `sections` gets the text below each heading. */
function render(marked, path, text, sections) {
  marked.use({
    renderer: {
      heading({ tokens, depth, text: heading }) {
        const id = anchorOf(heading);
        const shown = this.parser.parseInline(tokens);
        const link =
          depth > 1 ? ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>` : '';
        return `<h${depth} id="${id}">${shown}${link}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const to = linkOf(path, href);
        const shown = this.parser.parseInline(tokens);
        return to === undefined ? shown : `<a href="${escape(to)}">${shown}</a>`;
      },
      image({ href, text: alt }) {
        return `<img src="${escape(linkOf(path, href) ?? href)}" alt="${escape(alt)}" loading="lazy">`;
      },
      table({ header, rows }) {
        const cells = (row, tag) =>
          row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('');
        const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n');
        return `<div class="table" tabindex="0"><table><thead><tr>${cells(header, 'th')}</tr></thead><tbody>${body}</tbody></table></div>\n`;
      },
      code: ({ text: source, lang }) =>
        `<pre tabindex="0"><code${lang ? ` class="language-${escape(lang)}"` : ''}>${escape(source)}</code></pre>\n`,
      codespan,
      html: ({ text: html }) => (html.startsWith('<!--') ? '' : html),
    },
  });
  const tokens = marked.lexer(text);
  for (const token of tokens) {
    if (token.type === 'heading')
      sections.push({ heading: token.text, anchor: anchorOf(token.text), text: '' });
    else if (token.type !== 'html' && sections.length > 0) sections.at(-1).text += ` ${token.raw}`;
  }
  return marked.parser(tokens);
}

const capitalised = (text) => (text === 'urql' ? text : text[0].toUpperCase() + text.slice(1));

/** The groups of the navigation: those of the index in README. */
function navigationOf(readme) {
  const [, index = ''] = readme.split('\n## Documentation\n');
  const groups = [];
  for (const line of index.split('\n## ')[0].split(/\n(?=For |- )/)) {
    if (line.startsWith('For ')) groups.push({ title: line.trim().replace(/:$/, ''), links: [] });
    for (const [, title, path] of line.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g))
      groups.at(-1)?.links.push({ title: capitalised(title), address: addressOf(path) });
  }
  return groups;
}

function navigation(groups, address) {
  const link = ({ title, address: to }) =>
    `<li><a href="${to}"${to === address ? ' aria-current="page"' : ''}>${escape(title)}</a></li>`;
  const group = ({ title, links }) => `<h2>${escape(title)}</h2><ul>${links.map(link).join('')}</ul>`;
  return groups.map(group).join('\n');
}

/** Links within a page of several sections. */
function contents(sections) {
  const links = sections.slice(1).filter(({ anchor }) => anchor !== '');
  if (links.length < 3) return '';
  const items = links.map(
    ({ heading, anchor }) => `<li><a href="#${anchor}">${escape(plain(heading))}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`;
}

/** Markdown without its marks. */
const plain = (text) =>
  text
    .replaceAll(/\]\([^)]*\)/g, ' ')
    .replaceAll(/[`*|[\]#>]|-{3,}/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

function layout({ title, address, groups, body, sections }) {
  const name = title === 'Trivium' ? 'Trivium' : `${escape(plain(title))} · Trivium`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/docs.css">
<script src="/docs/search.js" defer></script>
<script src="/docs/own-address.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="/docs"${address === '/docs' ? ' aria-current="page"' : ''}>Trivium</a>
<search><label for="search">Search</label><input id="search" type="search" placeholder="Search the documentation ( / )" autocomplete="off" aria-controls="results"><div id="results" aria-live="polite" hidden></div></search>
<nav class="places" aria-label="Other pages"><a href="/">Console</a><a href="/graphql">Explorer</a></nav>
</header>
<div class="columns">
<details class="menu"><summary>All pages</summary><nav aria-label="Documentation">
${navigation(groups, address)}
</nav></details>
<main id="content">
${body}</main>
${contents(sections)}
</div>
</body>
</html>
`;
}

/** Renders all pages into the folder `out`. */
export async function buildDocs(out) {
  const { Marked } = await import('marked'); // a start whose build is fresh has no need of it, and may lack it
  const paths = docsSources().filter((path) => path.endsWith('.md'));
  const groups = navigationOf(readFileSync('README.md', 'utf8'));
  const index = [];
  for (const path of paths) {
    const sections = [];
    const body = render(new Marked(), path, readFileSync(path, 'utf8'), sections);
    const address = addressOf(path);
    const title = sections[0]?.heading ?? path;
    const file = join(out, `${address === '/docs' ? 'index' : address.slice('/docs/'.length)}.html`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, layout({ title, address, groups, body, sections }));
    for (const { heading, anchor, text } of sections)
      index.push({ address, title: plain(title), heading: plain(heading), anchor, text: plain(text) });
  }
  writeFileSync(join(out, 'search.json'), JSON.stringify(index));
  for (const asset of assets) cpSync(join('.ci/docs', asset), join(out, asset));
  if (existsSync('docs/pictures')) cpSync('docs/pictures', join(out, 'pictures'), { recursive: true });
}
