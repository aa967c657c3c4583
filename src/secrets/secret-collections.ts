// Secret references as they are kept.
import { type Collection, defineCollection } from '../store/collection.ts';
import type { AuthConfig, ManagerType } from './manager.ts';

export interface SecretReferenceBody {
  readonly name: string;
  readonly description?: string;
  readonly managerType: ManagerType;
  /** Encrypted as a whole. */
  readonly auth: AuthConfig;
  readonly path: string;
  /** The member that is meant, of secrets that have members. */
  readonly key?: string;
  /** Ids of the workspaces that see it; undefined: all do. */
  readonly workspaces?: readonly string[];
  /** Hosts that calls may send it to, as `isAllowedHost` reads them; undefined: not stated. */
  readonly hosts?: readonly string[];
  readonly tags?: Readonly<Record<string, string>>;
  /** The tags as one text, by which lists are filtered. */
  readonly tagText?: string;
  /** Name and slug in lower case, by which lists are searched. */
  readonly searchText: string;
  /** Who made it: a user's id, or a key's. */
  readonly createdBy: string;
}

export const secretReferences: Collection<SecretReferenceBody> = defineCollection<SecretReferenceBody>({
  name: 'secret_references',
  schemaVersion: 1,
  noticed: true,
  fields: [
    { name: 'managerType', type: 'text' },
    { name: 'tagText', type: 'text', nullable: true },
    { name: 'searchText', type: 'text' },
  ],
  unique: [{ fields: ['slug'], per: 'organisation' }],
  secret: ['auth'],
});

/** All collections of this room. */
export const secretCollections: readonly Collection<object>[] = [secretReferences];
