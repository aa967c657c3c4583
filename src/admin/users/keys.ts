// A person's keys and places are archived with the person.
import { apiKeys, members } from '../../access/identity-collections.ts';
import type { Wanted } from '../kit/archive-found.ts';

/** A user's keys: in one workspace or in all, as the scope is. */
export function keysOf(userId: string): Wanted {
  return { collection: apiKeys, filter: [{ field: 'userId', op: 'eq', value: userId }] };
}

/** A user's places in workspaces. */
export function placesOf(userId: string): Wanted {
  return { collection: members, filter: [{ field: 'userId', op: 'eq', value: userId }] };
}
