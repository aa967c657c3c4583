// What SCIM keeps: tokens of identity providers, their groups, and which roles groups give.
import { type Collection, defineCollection } from '../../store/collection.ts';

/** A token for /scim/v2; times are Unix milliseconds. */
export interface ScimTokenBody {
  readonly name: string;
  /** Keyed hash of the token. */
  readonly hash: string;
  /** As it is shown. */
  readonly mask: string;
  /** Id of the user or of the key that made it. */
  readonly createdBy: string;
  /** Absent: never. */
  readonly expiresAt?: number;
}

export const scimTokens: Collection<ScimTokenBody> = defineCollection<ScimTokenBody>({
  name: 'scim_tokens',
  schemaVersion: 1,
  fields: [{ name: 'hash', type: 'text', global: true }],
});

/** A group of an identity provider. */
export interface ScimGroupBody {
  readonly displayName: string;
  /** The name in lower case: unique in the organisation. */
  readonly nameKey: string;
  readonly externalId?: string;
  /** Ids of users, at most 10,000. */
  readonly members: readonly string[];
}

export const scimGroups: Collection<ScimGroupBody> = defineCollection<ScimGroupBody>({
  name: 'scim_groups',
  schemaVersion: 1,
  noticed: true,
  fields: [
    { name: 'nameKey', type: 'text' },
    { name: 'externalId', type: 'text', nullable: true },
  ],
  unique: [{ fields: ['nameKey'], per: 'organisation' }],
});

/** The role that a group's members have. The document is the organisation's, also for a workspace's role. */
export interface ScimMappingBody {
  readonly groupId: string;
  /** Absent: the role is one of the organisation, and `admin` or `member`. */
  readonly place?: string;
  readonly role: 'admin' | 'manager' | 'member';
  /** The group and the place: unique in the organisation. */
  readonly pair: string;
}

export const scimMappings: Collection<ScimMappingBody> = defineCollection<ScimMappingBody>({
  name: 'scim_mappings',
  schemaVersion: 1,
  fields: [
    { name: 'groupId', type: 'text' },
    { name: 'pair', type: 'text' },
  ],
  unique: [{ fields: ['pair'], per: 'organisation' }],
});

/** All collections of SCIM. */
export const SCIM_COLLECTIONS: readonly Collection<object>[] = [scimTokens, scimGroups, scimMappings];
