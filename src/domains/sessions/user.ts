import { toGlobalId } from '../../graphql/global-id.js';
import type { User } from '../../models/user.js';

/** The user that a profile describes. */
export function toUser({ upstreamId, email, name, createdAt }: Omit<User, 'kind' | 'id'>): User {
  return { kind: 'User', id: toGlobalId('User', upstreamId), upstreamId, email, name, createdAt };
}
