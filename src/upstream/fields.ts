/** A text of an answer, and the objects on the way to it, that which it is a member of first. */
export interface FoundText {
  readonly text: string;
  readonly within: readonly Fields[];
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The text that one of these names leads to in an answer whose shape is not shown: from its top, from `data`, or from
 * another member of it if just one has such a text. A name may be a path, with dots between its steps.
 */
export function findText(answer: unknown, names: readonly string[]): FoundText | undefined {
  if (!isFields(answer)) return undefined;
  const lookIn = (place: unknown) => names.map((name) => follow(place, name)).find(Boolean);
  const found = lookIn(answer) ?? lookIn(answer['data']);
  if (found) return found;
  // Of two texts one may be what is no longer valid.
  const [only, ...others] = Object.values(answer).flatMap((place) => lookIn(place) ?? []);
  return others.length === 0 ? only : undefined;
}

/** The name is that of a member, or the first step of it is. */
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

/** A list as well: its items are members by their number. */
function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
