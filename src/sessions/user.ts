import { toGlobalId } from '../relay.js';
import type { User } from './model.js';

/** The user whom a profile tells of. */
export function toUser({ upstreamId, email, name, createdAt }: Omit<User, 'kind' | 'id'>): User {
  return { kind: 'User', id: toGlobalId('User', upstreamId), upstreamId, email, name, createdAt };
}
