/** The search of the documentation: finds sections that have all words, in an index that is fetched when it is needed. */
const input = document.getElementById('search');
const results = document.getElementById('results');
const most = 12;
let index;

const load = () => (index ??= fetch('/docs/search.json').then((response) => response.json()));

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_.:-]+/gu) ?? [];

/** How well a section has these words: 0 if one is missing; those of headings count more than those of texts. */
function score({ title, heading, text }, words) {
  const [inTitle, inHeading, inText] = [title, heading, text].map((part) => part.toLowerCase());
  let sum = 0;
  for (const word of words) {
    const found =
      (inHeading.includes(word) && 8) || (inTitle.includes(word) && 4) || (inText.includes(word) && 1);
    if (!found) return 0;
    sum += found;
  }
  return sum;
}

/** Some words around the first that was found, which is marked. */
function excerpt(text, word) {
  const at = text.toLowerCase().indexOf(word);
  const shown = document.createElement('span');
  if (at < 0) shown.textContent = text.slice(0, 100);
  else {
    const mark = document.createElement('mark');
    mark.textContent = text.slice(at, at + word.length);
    shown.append(text.slice(Math.max(0, at - 50), at), mark, text.slice(at + word.length, at + 70));
  }
  return shown;
}

function item(section, words) {
  const link = document.createElement('a');
  link.href = `${section.address}#${section.anchor}`;
  const title = document.createElement('strong');
  title.textContent =
    section.heading === section.title ? section.title : `${section.title} › ${section.heading}`;
  link.append(title, excerpt(section.text, words[0]));
  return link;
}

async function search() {
  const words = wordsOf(input.value);
  results.hidden = words.length === 0;
  if (words.length === 0) return;
  const sections = await load();
  const found = sections
    .map((section) => ({ section, points: score(section, words) }))
    .filter(({ points }) => points > 0)
    .toSorted((a, b) => b.points - a.points)
    .slice(0, most);
  results.replaceChildren(...found.map(({ section }) => item(section, words)));
  if (found.length === 0) results.textContent = 'Nothing was found.';
}

/** Moves between the field and the results. */
function move(event) {
  const places = [input, ...results.querySelectorAll('a')];
  const at = places.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (at < 0 || step === undefined) return;
  event.preventDefault();
  places[Math.min(Math.max(at + step, 0), places.length - 1)].focus();
}

function close() {
  results.hidden = true;
}

input.addEventListener('input', () => void search());
input.addEventListener('focus', () => void search());
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  } else if (event.key === 'Escape') close();
  else if (event.key === 'Enter' && document.activeElement === input) results.querySelector('a')?.click();
  else move(event);
});
document.addEventListener('click', ({ target }) => {
  if (!target.closest('search') || target.closest('#results a')) close();
});

// Where there is room, the list of pages is open, and stays so.
const menu = document.querySelector('.menu');
const wide = matchMedia('(min-width: 60rem)');
const fit = () => (menu.open = wide.matches);
wide.addEventListener('change', fit);
fit();
