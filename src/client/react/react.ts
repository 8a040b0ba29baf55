import {
  createContext,
  createElement,
  useCallback,
  useContext,
  useMemo,
  useSyncExternalStore,
  type FunctionComponent,
  type ReactNode,
} from 'react';
import type { Session, Trivium, TriviumError } from '../core/trivium.js';
import { createLiveEntity, unknownEntity, type LiveEntity, type LiveEntityState } from '../live/entity.js';
import {
  createLiveList,
  emptyList,
  type Families,
  type Family,
  type LiveList,
  type LiveListState,
} from '../live/store.js';
import { onViewer } from '../live/viewer.js';
import { awaitSession, sessionFailure } from './await-session.js';

export type { LiveEntityState } from '../live/entity.js';
export type { Families, Family, LiveListState } from '../live/store.js';

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

/** What a server renders, and a page at first: who is signed in is between the browser and the gateway. */
const unknownSession: Session = { status: 'unknown', viewer: null, ended: false };

/** The session, why it is not known yet, and what changes it. */
export type SessionResult = Session & { readonly error: TriviumError | undefined } & Pick<
    Trivium,
    'signIn' | 'signOut'
  >;

const stayUnaware = () => () => {};

/**
 * The session, as it is now. If that is not known, the gateway is asked who is signed in, again and again until it
 * answers; until then `error` is the last failure.
 */
export function useSession(): SessionResult {
  const trivium = useTrivium();
  const session = useSyncExternalStore(
    trivium.onSession,
    () => trivium.session,
    () => unknownSession,
  );
  const isUnknown = session.status === 'unknown';
  const wait = useCallback((listener: () => void) => awaitSession(trivium, listener), [trivium]);
  const error = useSyncExternalStore(
    isUnknown ? wait : stayUnaware,
    () => sessionFailure(trivium),
    () => undefined,
  );
  return useMemo(
    () => ({ ...session, error, signIn: trivium.signIn, signOut: trivium.signOut }),
    [trivium, session, error],
  );
}

/** A live list, and what asks for more of it. */
export type LiveListResult<State> = LiveListState<State> & Pick<LiveList<State>, 'more' | 'reload'>;

/**
 * A list of shipments or payments that is kept up to date: rows change, come, go, and take their places as the gateway's
 * own list has them. If rows leave until fewer than `first` are left, and there are more, it asks for these. While it is
 * not shown nothing is asked; shown again, it goes on where it was. Lists of one client with the same filter and `first`
 * are one.
 *
 * @example
 * const { entities, more, hasMore } = useLiveList('shipments', { filter: { stage: 'IN_TRANSIT' } });
 */
export function useLiveList<F extends Family>(
  family: F,
  options: { readonly filter?: Families[F]['filter']; readonly first?: number } = {},
): LiveListResult<Families[F]['entity']> {
  const trivium = useTrivium();
  const key = JSON.stringify([family, options.filter ?? null, options.first ?? null]);
  const list = useKept(trivium, key, () => createLiveList(trivium, family, options));
  const state = useSyncExternalStore<LiveListState<Families[F]['entity']>>(
    list.listen,
    () => list.state,
    () => emptyList,
  );
  return useMemo(() => ({ ...state, more: list.more, reload: list.reload }), [state, list]);
}

/** A live entity, and what asks for it again. */
export type LiveEntityResult<State> = LiveEntityState<State> & Pick<LiveEntity<State>, 'reload'>;

/** One shipment or payment by the service's own id, kept up to date. */
export function useLive<F extends Family>(family: F, id: string): LiveEntityResult<Families[F]['entity']> {
  const trivium = useTrivium();
  const key = JSON.stringify([family, id]);
  const entity = useKept(trivium, key, () => createLiveEntity(trivium, family, id));
  const state = useSyncExternalStore<LiveEntityState<Families[F]['entity']>>(
    entity.listen,
    () => entity.state,
    () => unknownEntity,
  );
  return useMemo(() => ({ ...state, reload: entity.reload }), [state, entity]);
}

/** What is live by its key for whoever is signed in, the same for as long as a component shows it. */
function useKept<Value>(trivium: Trivium, key: string, create: () => Value): Value {
  useSession(); // so that the component is rendered when somebody else signs in
  const store = storeOf(trivium);
  // Not asked for anew by each render: where more are shown than are kept, that would never come to rest.
  return useMemo(() => kept(store, key, create), [store, key]);
}

type Store = Map<string, unknown>;

const stores = new WeakMap<Trivium, Store>();

/** What is live for whoever is signed in; somebody else begins with an empty one. */
function storeOf(trivium: Trivium): Store {
  const known = stores.get(trivium);
  if (known) return known;
  const store: Store = new Map();
  stores.set(trivium, store);
  onViewer(trivium, () => stores.set(trivium, new Map()));
  return store;
}

/** How many lists and entities are kept, for when they are shown again. */
const maxKept = 50;

/** What is live by its key, made once: what is not shown for long is let go. */
function kept<Value>(store: Store, key: string, create: () => Value): Value {
  const value = (store.get(key) as Value | undefined) ?? create();
  store.delete(key);
  store.set(key, value);
  const [oldest] = store.keys();
  if (store.size > maxKept && oldest !== undefined) store.delete(oldest);
  return value;
}
