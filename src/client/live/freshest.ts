import { visit, type DocumentNode } from 'graphql';
import { responseName } from './root-fields.js';

/** How many entities are remembered; whose state is older than all of these is not going to be overtaken. */
const remembered = 10_000;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Keeps answers from going back in time: of each shipment and payment the state with the greatest `revision` is known,
 * and an older one that comes in later is brought up to date before any cache sees it. For what selects `revision`.
 */
export class Freshest {
  readonly #known = new Map<string, Fields>();

  /** The same data of an operation, or of a part of it, with the newest known state of each entity. */
  refresh<Value>(document: DocumentNode, data: Value): Value {
    return this.#refresh(objectsOf(document), data);
  }

  /** Forgets all: somebody else signed in. */
  clear(): void {
    this.#known.clear();
  }

  #refresh<Value>(objects: ReadonlySet<string>, value: Value): Value {
    if (Array.isArray(value)) return value.map((item: unknown) => this.#refresh(objects, item)) as Value;
    if (typeof value !== 'object' || value === null) return value;
    const own: Fields = Object.fromEntries(
      Object.entries(value).map(([name, field]: [string, unknown]) => [
        name,
        objects.has(name) ? this.#refresh(objects, field) : field,
      ]),
    );
    const { id, revision } = own;
    return (typeof id === 'string' && typeof revision === 'number' ? this.#newest(id, own) : own) as Value;
  }

  #newest(id: string, fields: Fields): Fields {
    const known = this.#known.get(id);
    if (known && Number(known['revision']) > Number(fields['revision'])) {
      const newer = Object.entries(known).filter(([name]) => name in fields);
      return { ...fields, ...Object.fromEntries(newer) };
    }
    this.#known.delete(id);
    // What another answer said of the same revision holds, too; what it said of an older one may not.
    const isSame = known?.['revision'] === fields['revision'];
    this.#known.set(id, { ...(isSame && known), ...scalars(fields) });
    const [oldest] = this.#known.keys();
    if (this.#known.size > remembered && oldest !== undefined) this.#known.delete(oldest);
    return fields;
  }
}

/** What a state has besides the connections below it. */
function scalars(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, field]) => typeof field !== 'object' || field === null),
  );
}

const objectNames = new WeakMap<DocumentNode, ReadonlySet<string>>();

/** The names of the fields of which an operation selects some: any other is a scalar, of which even JSON stays as it is. */
function objectsOf(document: DocumentNode): ReadonlySet<string> {
  const known = objectNames.get(document);
  if (known) return known;
  const names = new Set<string>();
  visit(document, { Field: (field) => void (field.selectionSet && names.add(responseName(field))) });
  objectNames.set(document, names);
  return names;
}
