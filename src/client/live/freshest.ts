/** How many entities are remembered; whose state is older than all of these is not going to be overtaken. */
const remembered = 10_000;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Keeps answers from going back in time: of each shipment and payment the state with the greatest `revision` is known,
 * and an older one that comes in later is brought up to date before any cache sees it. For what selects `revision`.
 */
export class Freshest {
  readonly #known = new Map<string, Fields>();

  /** The same answer, with the newest known state of each entity. */
  refresh<Value>(value: Value): Value {
    if (Array.isArray(value)) return value.map((item: unknown) => this.refresh(item)) as Value;
    if (typeof value !== 'object' || value === null) return value;
    const fields = value as Fields;
    const own = Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, this.refresh(field)]),
    );
    const { id, revision } = fields;
    return (typeof id === 'string' && typeof revision === 'number' ? this.#newest(id, own) : own) as Value;
  }

  /** Forgets all: somebody else signed in. */
  clear(): void {
    this.#known.clear();
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
