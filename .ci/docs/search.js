/** The search of the documentation: finds the sections that have most words, in an index that is fetched when it is needed. */
const input = document.getElementById('search');
const results = document.getElementById('results');
const most = 12;
let index;

const load = () =>
  (index ??= fetch('/docs/search.json')
    .then((response) => response.json())
    .catch(() => (index = undefined))); // the next word tries again

/** Words that say nothing of what is looked for. */
const fillers = new Set(
  'a an and are by can do does for from get got has have how i in is it me my of on now or should that the to was what when where which why with'.split(
    ' ',
  ),
);

/** The words to look for; those of a question that matter, if there are such. */
function wordsOf(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_](?:[\p{L}\p{N}_.:-]*[\p{L}\p{N}_])?/gu) ?? [];
  const telling = words.filter((word) => !fillers.has(word));
  return telling.length > 0 ? telling : words;
}

/** How well a section has these words: each counts most in the heading, and more in the title than in the text. */
function match({ title, heading, text }, words) {
  const [inTitle, inHeading, inText] = [title, heading, text].map((part) => part.toLowerCase());
  const points = words.map(
    (word) =>
      (inHeading.includes(word) && 8) || (inTitle.includes(word) && 4) || (inText.includes(word) && 1) || 0,
  );
  return {
    found: points.filter((one) => one > 0).length,
    points: points.reduce((sum, one) => sum + one, 0),
  };
}

/** Some words around the first that was found, which is marked. */
function excerpt(text, word) {
  const at = text.toLowerCase().indexOf(word);
  const shown = document.createElement('span');
  if (at < 0) shown.textContent = text.slice(0, 100);
  else {
    const mark = document.createElement('mark');
    const end = at + word.length;
    mark.textContent = text.slice(at, end);
    // Whole words: what is cut is left out.
    const before = text.slice(Math.max(0, at - 50), at).replace(at > 50 ? /^\S*\s/ : '', at > 50 ? '… ' : '');
    const after = text.slice(end, at + 70);
    shown.append(before, mark, at + 70 < text.length ? `${after.replace(/\s\S*$/, '')} …` : after);
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
  if (!sections) {
    results.textContent = 'The documentation cannot be reached.';
    return;
  }
  const found = sections
    .map((section) => ({ section, ...match(section, words) }))
    .filter((one) => one.found >= words.length / 2)
    .toSorted((a, b) => b.found - a.found || b.points - a.points)
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
  else if (event.key === 'Enter' && document.activeElement === input && !results.hidden)
    results.querySelector('a')?.click();
  else move(event);
});
// Else it would cover what has the focus.
document.querySelector('search').addEventListener('focusout', ({ currentTarget, relatedTarget }) => {
  if (relatedTarget && !currentTarget.contains(relatedTarget)) close();
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
