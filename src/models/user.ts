/** The user behind a session, as `GET /me` gives it (`apis/notes.md` §2). */
export interface User {
  readonly kind: 'User';
  /** The global id. */
  readonly id: string;
  readonly upstreamId: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: string;
}
