/** The small part of it that is used here; the package comes without types. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: { readonly accept?: string } });
    /** The one of these types that the client prefers. */
    mediaType(available: readonly string[]): string | undefined;
  }
}
