/** The small part of it that is used here; the package brings no types. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: { readonly accept?: string } });
    /** The one of these types that the client likes best. */
    mediaType(available: readonly string[]): string | undefined;
  }
}
