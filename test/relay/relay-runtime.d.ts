/** The small part of Relay's runtime that these tests use; the package has no types. */
declare module 'relay-runtime' {
  export interface ConcreteRequest {
    readonly fragment: ReaderFragment;
    readonly operation: unknown;
    readonly params: RequestParameters;
  }
  export interface RequestParameters {
    readonly name: string;
    readonly text: string | null;
  }
  export interface ReaderFragment {
    readonly kind: string;
    readonly name: string;
  }
  export interface Selector {
    readonly kind: string;
  }
  export interface OperationDescriptor {
    readonly fragment: Selector;
    readonly request: unknown;
  }
  export type Variables = Readonly<Record<string, unknown>>;

  export interface RelayEnvironment {
    retain(operation: OperationDescriptor): { dispose(): void };
    /** What a component reads from the store. */
    lookup(selector: Selector): { readonly data: unknown; readonly isMissingData: boolean };
  }

  export const Network: {
    create(fetchFn: (request: RequestParameters, variables: Variables) => Promise<object>): object;
  };
  export const RecordSource: new () => object;
  export const Store: new (source: object) => object;
  export const Environment: new (parts: {
    readonly network: object;
    readonly store: object;
  }) => RelayEnvironment;
  export function createOperationDescriptor(
    request: ConcreteRequest,
    variables: Variables,
  ): OperationDescriptor;
  /** Where to read the fragment, given the data of its parent. */
  export function getSingularSelector(fragment: ReaderFragment, parent: unknown): Selector;
  export function fetchQuery(
    environment: RelayEnvironment,
    request: ConcreteRequest,
    variables: Variables,
  ): { toPromise(): Promise<unknown> };
  export function commitMutation(
    environment: RelayEnvironment,
    config: {
      readonly mutation: ConcreteRequest;
      readonly variables: Variables;
      readonly onCompleted: (response: unknown) => void;
      readonly onError: (error: Error) => void;
    },
  ): { dispose(): void };
  export const ConnectionHandler: {
    /** The id of a connection in the store. */
    getConnectionID(parentId: string, key: string, filters?: Variables): string;
  };
}
