/** A text in an answer, and the objects that its name or dotted path led through, innermost first. */
export interface FoundText {
  readonly text: string;
  readonly within: readonly Fields[];
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Finds the text under one of these names in an answer of undocumented shape: at the top, in `data`, or in another
 * member if exactly one has such a text. A name may be a dotted path.
 */
export function findText(answer: unknown, names: readonly string[]): FoundText | undefined {
  if (!isFields(answer)) return undefined;
  const lookIn = (place: unknown) => names.map((name) => follow(place, name)).find(Boolean);
  const found = lookIn(answer) ?? lookIn(answer['data']);
  if (found) return found;
  // Of two texts, one may be the value that is no longer valid.
  const [only, ...others] = Object.values(answer).flatMap((place) => lookIn(place) ?? []);
  return others.length === 0 ? only : undefined;
}

/** Tries the name as that of a member, then as a dotted path. */
function follow(place: unknown, name: string): FoundText | undefined {
  if (!isFields(place)) return undefined;
  const text = memberOf(place, name);
  if (typeof text === 'string' && text !== '') return { text, within: [place] };
  const dot = name.indexOf('.');
  const found = dot < 0 ? undefined : follow(memberOf(place, name.slice(0, dot)), name.slice(dot + 1));
  return found && { text: found.text, within: [...found.within, place] };
}

function memberOf(place: Fields, name: string): unknown {
  return Object.hasOwn(place, name) ? place[name] : undefined;
}

/** Arrays too: an index is the name of a member. */
function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** An id is a non-empty string; a whole number is accepted and turned into one. */
export function readId(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}
