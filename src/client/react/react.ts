import {
  createContext,
  createElement,
  useContext,
  useEffect,
  useMemo,
  useSyncExternalStore,
  type FunctionComponent,
  type ReactNode,
} from 'react';
import type { Session, Trivium } from '../core/trivium.js';
import { createLiveEntity, type LiveEntityState } from '../live/entity.js';
import {
  createLiveList,
  type Families,
  type Family,
  type LiveList,
  type LiveListState,
} from '../live/store.js';

const Context = createContext<Trivium | undefined>(undefined);

/** Gives the components below it a client. */
export const TriviumProvider: FunctionComponent<{
  readonly trivium: Trivium;
  readonly children?: ReactNode;
}> = ({ trivium, children }) => createElement(Context.Provider, { value: trivium }, children);

/** The client that the nearest `TriviumProvider` gives; throws if there is none. */
export function useTrivium(): Trivium {
  const trivium = useContext(Context);
  if (!trivium)
    throw new Error('useTrivium: there is no <TriviumProvider trivium={…}> above this component.');
  return trivium;
}

/** The session, as it is now; the gateway is asked who is signed in if that is not known. */
export function useSession(): Session & Pick<Trivium, 'signIn' | 'signOut'> {
  const trivium = useTrivium();
  const read = () => trivium.session;
  const session = useSyncExternalStore(trivium.onSession, read, read);
  useEffect(() => {
    // If nobody answers, the next query says so.
    if (session.status === 'unknown') void trivium.refresh().catch(() => {});
  }, [trivium, session.status]);
  return useMemo(
    () => ({ ...session, signIn: trivium.signIn, signOut: trivium.signOut }),
    [trivium, session],
  );
}

/** A live list, and what asks for more of it. */
export type LiveListResult<State> = LiveListState<State> & Pick<LiveList<State>, 'more' | 'reload'>;

/**
 * A list of shipments or payments that is kept up to date: rows change, come, go, and take their places as the gateway's
 * own list has them. While it is not shown nothing is asked; shown again, it goes on where it was. Lists of one client
 * with the same filter are one.
 *
 * @example
 * const { entities, more, hasMore } = useLiveList('shipments', { filter: { stage: 'IN_TRANSIT' } });
 */
export function useLiveList<F extends Family>(
  family: F,
  options: { readonly filter?: Families[F]['filter']; readonly first?: number } = {},
): LiveListResult<Families[F]['entity']> {
  const trivium = useTrivium();
  const { status, viewer } = useSession();
  const key = JSON.stringify([
    family,
    options.filter ?? null,
    options.first ?? null,
    status,
    viewer?.id ?? null,
  ]);
  const list = useKept(trivium, key, () => createLiveList(trivium, family, options));
  const read = () => list.state;
  const state = useSyncExternalStore(list.listen, read, read);
  return useMemo(() => ({ ...state, more: list.more, reload: list.reload }), [state, list]);
}

/** One shipment or payment by the service's own id, kept up to date. */
export function useLive<F extends Family>(family: F, id: string): LiveEntityState<Families[F]['entity']> {
  const trivium = useTrivium();
  const { status, viewer } = useSession();
  const key = JSON.stringify([family, id, status, viewer?.id ?? null]);
  const entity = useKept(trivium, key, () => createLiveEntity(trivium, family, id));
  const read = () => entity.state;
  return useSyncExternalStore(entity.listen, read, read);
}

/** What is live by its key, the same for as long as a component shows it. */
function useKept<Value>(trivium: Trivium, key: string, create: () => Value): Value {
  // Not asked for anew by each render: where more are shown than are kept, that would never come to rest.
  return useMemo(() => kept(trivium, key, create), [trivium, key]);
}

/** How many lists and entities are kept, for when they are shown again. */
const maxKept = 50;
const stores = new WeakMap<Trivium, Map<string, unknown>>();

/** What is live by its key, made once for each client: what is not shown for long is let go. */
function kept<Value>(trivium: Trivium, key: string, create: () => Value): Value {
  const store = stores.get(trivium) ?? new Map<string, unknown>();
  stores.set(trivium, store);
  const value = (store.get(key) as Value | undefined) ?? create();
  store.delete(key);
  store.set(key, value);
  const [oldest] = store.keys();
  if (store.size > maxKept && oldest !== undefined) store.delete(oldest);
  return value;
}
