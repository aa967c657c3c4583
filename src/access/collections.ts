// What identity keeps in the document store.
import { type Collection, defineCollection } from '../store/collection.ts';
import type { KeyKind } from './principal.ts';

/** The tenant. */
export interface OrganisationBody {
  /** Unique in the deployment. */
  readonly handle: string;
  readonly name: string;
}

/** A part of a tenant. */
export interface WorkspaceBody {
  readonly name: string;
}

/** An API key without its secret. */
export interface ApiKeyBody {
  readonly name: string;
  readonly kind: KeyKind;
  /** Keyed hash of the secret. */
  readonly hash: string;
  /** Its first four characters and its length. */
  readonly hint: string;
  readonly scopes: readonly string[];
  /** Which of the first start's keys it is. */
  readonly bootstrap?: 'admin' | 'workspace';
  /** Unix milliseconds; absent: never. */
  readonly expiresAt?: number;
}

export const organisations: Collection<OrganisationBody> = defineCollection<OrganisationBody>({
  name: 'organisations',
  schemaVersion: 1,
  fields: [{ name: 'handle', type: 'text', global: true }],
});

export const workspaces: Collection<WorkspaceBody> = defineCollection<WorkspaceBody>({
  name: 'workspaces',
  schemaVersion: 1,
  fields: [{ name: 'name', type: 'text' }],
  unique: [{ fields: ['slug'], per: 'organisation' }],
  sortable: ['name'],
});

export const apiKeys: Collection<ApiKeyBody> = defineCollection<ApiKeyBody>({
  name: 'api_keys',
  schemaVersion: 1,
  fields: [
    { name: 'name', type: 'text' },
    { name: 'kind', type: 'text' },
    { name: 'hash', type: 'text', global: true },
    { name: 'bootstrap', type: 'text', nullable: true },
  ],
  sortable: ['name'],
});

/** All collections of this room. */
export const accessCollections: readonly Collection<object>[] = [organisations, workspaces, apiKeys];
