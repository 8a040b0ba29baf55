import { parse, type DocumentNode } from 'graphql';
import type {
  Disposable,
  Environment,
  EnvironmentConfig,
  GraphQLResponse,
  INetwork,
  MutableRecordSource,
  OperationDescriptor,
  RecordSource,
  RecordSourceProxy,
  RecordSourceSelectorProxy,
  RequestParameters,
} from 'relay-runtime';
import { failureOf } from '../core/error.js';
import type { Answer, Sink, Trivium } from '../core/trivium.js';
import { ask } from '../live/ask.js';
import { Coverage } from '../live/coverage.js';
import { onViewer } from '../live/viewer.js';
import { Connections } from './connections.js';
import { relay } from './runtime.js';

/** What the environment sets itself; connections find an entity by its `id`. */
type Own = 'network' | 'store' | 'handlerProvider' | 'getDataID';

/** What a Relay environment may be given besides: all other options of Relay, too. */
export interface RelayOptions extends Omit<EnvironmentConfig, Own> {
  /** The documents by their ids, as Relay's compiler writes them with `persistConfig`, where it is set. */
  readonly documents?: Readonly<Record<string, string>>;
  /** What the store has at first, as `getStore().getSource().toJSON()` of another environment gives it. */
  readonly records?: ConstructorParameters<typeof RecordSource>[0];
}

/**
 * A Relay environment over `trivium`: one sign-in, operations over HTTP, subscriptions that resume. While a subscription
 * to all `shipmentUpdates` or `paymentUpdates` is mounted, every `@connection` of the family is live: rows change, come,
 * go, and take their places, and none goes back in time. For that `liveCursor` is selected beside the connection, in the
 * same fragment, and it and the subscription select `id revision updatedAt`, the service's own id, and what is filtered
 * by. When somebody else signs in, what is retained is asked for again, and all else is forgotten; so it is asked for when
 * the log can no longer be read from where the lists are. When nobody is signed in any more, the store is emptied.
 *
 * @example
 * const environment = createRelayEnvironment(createTrivium({ url: 'http://127.0.0.1:4000' }));
 */
export function createRelayEnvironment(
  trivium: Trivium,
  { documents = {}, ...others }: RelayOptions = {},
): Environment {
  const connections = new Connections();
  const retained: Parts['retained'] = new Map();
  const coverage = new Coverage({
    trivium,
    apply: (list, entity) => connections.apply(environment, list, entity),
    expired: () => void askAgain(),
  });
  const environment = create({ network: createNetwork(coverage, documents), connections, retained }, others);

  const shown = () => [...new Set(retained.values())];

  /** Resolves to whether all was answered; an error is that of whoever reads. */
  function askAgain(): Promise<boolean> {
    environment.commitUpdate(invalidate);
    const asked = shown().map((operation) => environment.execute({ operation }).toPromise());
    return Promise.all(asked).then(
      () => true,
      () => false,
    );
  }

  let viewers = 0;
  /**
   * Asks for all that is shown as somebody else. It stays until the answers take its place: a mounted component that
   * finds nothing breaks. If there is something that this person may not have, all is forgotten first.
   */
  async function askAsAnother(): Promise<void> {
    const mine = viewers;
    forgetUnshown(environment, shown());
    const areAnswered = await askAgain();
    if (mine !== viewers) return;
    if (areAnswered) return forgetUnshown(environment, shown());
    empty(environment);
    await askAgain();
  }

  onViewer(trivium, (isSignedIn) => {
    viewers += 1;
    coverage.clear();
    if (isSignedIn) void askAsAnother();
    else empty(environment);
  });
  return environment;
}

interface Parts {
  readonly network: INetwork;
  readonly connections: Connections;
  /** What is shown, by what retains it: the same may be retained more than once. */
  readonly retained: Map<Disposable, OperationDescriptor>;
}

/** An environment that knows which operations are shown. */
function create(
  { network, connections, retained }: Parts,
  { records, ...others }: Omit<RelayOptions, 'documents'>,
): Environment {
  const { DefaultHandlerProvider, Environment: Base, RecordSource, Store } = relay;
  class LiveEnvironment extends Base {
    override retain(operation: OperationDescriptor): Disposable {
      const retention = super.retain(operation);
      retained.set(retention, operation);
      return {
        dispose() {
          retained.delete(retention);
          retention.dispose();
        },
      };
    }
  }
  return new LiveEnvironment({
    ...others,
    network,
    store: new Store(new RecordSource(records)),
    handlerProvider: (handle) =>
      handle === 'connection' ? connections.handler : DefaultHandlerProvider(handle),
  });
}

/** Has all be asked for again when it is next shown. */
function invalidate(store: RecordSourceProxy): void {
  // It is left out in the types.
  (store as RecordSourceSelectorProxy).invalidateStore();
}

/** Forgets what these operations do not need: a store that retains them alone collects the rest of the records. */
function forgetUnshown(environment: Environment, operations: readonly OperationDescriptor[]): void {
  if (operations.length === 0) return empty(environment);
  const source = environment.getStore().getSource() as MutableRecordSource;
  const collector = new relay.Store(source, { gcReleaseBufferSize: 0, gcScheduler: (collect) => collect() });
  for (const operation of operations) collector.retain(operation);
  return collector.scheduleGC();
}

/** Forgets all that was answered. */
function empty(environment: Environment): void {
  const ids = environment.getStore().getSource().getRecordIDs();
  environment.commitUpdate((store) => {
    for (const id of ids) if (id !== store.getRoot().getDataID()) store.delete(id);
    invalidate(store);
  });
}

function createNetwork(coverage: Coverage, documents: Readonly<Record<string, string>>): INetwork {
  const parsed = new Map<string, DocumentNode>();
  function documentOf({ id, name, text }: RequestParameters): DocumentNode {
    const given = text ?? (id == null ? undefined : documents[id]);
    if (given === undefined)
      throw new Error(`createRelayEnvironment: \`documents\` has no text for ${name}, whose id is ${id}.`);
    const document = parsed.get(given) ?? parse(given, { noLocation: true });
    parsed.set(given, document);
    return document;
  }
  return relay.Network.create(
    (request, variables) => observe((sink) => ask(coverage, documentOf(request), variables, sink)),
    (request, variables) =>
      observe((sink) => {
        // For Relay an answer without data is the end, but it waits until somebody else is signed in.
        const next = (answer: Answer) => (answer.data == null ? warnOf(request, answer) : sink.next(answer));
        return coverage.subscribe(documentOf(request), variables, { ...sink, next });
      }),
  );
}

/** Says of a subscription that it waits for somebody with the grant: a session that has ended tells so itself. */
function warnOf({ name }: RequestParameters, answer: Answer): void {
  const { code, message } = failureOf(answer);
  if (code !== 'FORBIDDEN') return;
  // oxlint-disable-next-line no-console -- whoever develops the app is to read it
  console.warn(`@trivium/client: ${name} waits until somebody else signs in. ${message}`);
}

/** What `run` tells its sink, as Relay takes it. */
function observe(run: (sink: Sink) => () => void) {
  return relay.Observable.create<GraphQLResponse>((sink) =>
    run({
      next: (answer) => sink.next(answer as unknown as GraphQLResponse),
      // Relay would log an error that nobody waits for any more.
      error: (failure) => (sink.closed ? undefined : sink.error(failure)),
      complete: () => sink.complete(),
    }),
  );
}
