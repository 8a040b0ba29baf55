/** Handles the text of a message; resolves when what it asked for has ended. */
export type Take = (text: string) => Promise<void>;

/** What is under way for an id of the client's. */
interface UnderWay {
  /** Its client has completed it. */
  left: boolean;
  /** What the client has asked for since under the same id. */
  next?: string | undefined;
}

/**
 * Lets an id be used again as soon as it is completed. graphql-ws takes it to be free then, though what had it may still
 * be under way, and would mix the two: what asks for it anew waits here until the one before has ended. `leave` hastens
 * that. A second one that waits would be one too many: `refuse` closes the socket, as the protocol has it.
 */
export function keepIdsApart(
  take: Take,
  { leave, refuse }: { leave(id: string): void; refuse(): void },
): Take {
  const underWay = new Map<string, UnderWay>();

  async function run(id: string, text: string): Promise<void> {
    const state: UnderWay = { left: false };
    underWay.set(id, state);
    try {
      await take(text);
    } finally {
      underWay.delete(id);
    }
    if (state.next !== undefined) await run(id, state.next);
  }

  return (text) => {
    const { type, id } = parse(text);
    if (typeof id !== 'string' || (type !== 'subscribe' && type !== 'complete')) return take(text);
    const state = underWay.get(id);
    if (type === 'complete') {
      const waited = state?.next !== undefined;
      if (state) Object.assign(state, { left: true, next: undefined });
      if (waited) return Promise.resolve();
      leave(id);
      return take(text);
    }
    if (!state) return run(id, text);
    if (!state.left) return take(text);
    if (state.next !== undefined) refuse();
    else state.next = text;
    return Promise.resolve();
  };
}

/** What of a message tells the id it is about; graphql-ws says what is wrong with one that is none. */
function parse(text: string): { readonly type?: unknown; readonly id?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
}
