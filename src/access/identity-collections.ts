// What identity keeps in the document store.

import type { KeyKind } from '../call/principal.ts';
import { type Collection, defineCollection, type JsonObject } from '../store/collection.ts';
import type { Bounded } from '../store/set-above.ts';
import { auditEntries, auditHeads } from './audit/entry.ts';
import { jwtSettings } from './jwt/collection.ts';
import { encryptionKeys } from './key-bundle.ts';
import { MCP_COLLECTIONS } from './mcp/mcp-collections.ts';
import { oauthGrants } from './oauth/grant-collection.ts';
import { PROVIDER_COLLECTIONS } from './providers/provider-collections.ts';
import { SCIM_COLLECTIONS } from './scim/scim-collections.ts';
import type { SecurityCategory, SecuritySettings } from './security-settings.ts';
import { sessions } from './sessions/session-collection.ts';
import { identityProviders } from './sign-in/identity-provider-collection.ts';

/** The tenant. */
export interface OrganisationBody {
  /** Unique in the deployment. */
  readonly handle: string;
  readonly name: string;
  /** As callers write them, e.g. `user_api_key_max_ttl`. */
  readonly settings?: JsonObject;
  readonly defaults?: JsonObject;
  readonly securitySettings?: SecuritySettings;
  /** Categories that workspaces may decide for themselves; all when absent. */
  readonly openToWorkspaces?: readonly SecurityCategory[];
}

/** A part of a tenant. Objects are kept as callers write them. */
export interface WorkspaceBody extends Bounded {
  readonly name: string;
  readonly description?: string;
  readonly icon?: string;
  /** The name in the form that is unique among an organisation's active ones. Older documents have none. */
  readonly uniqueName?: string;
  /** The one that its organisation begins with. */
  readonly isDefault?: boolean;
  readonly defaults?: JsonObject;
  readonly usageLimits?: readonly JsonObject[];
  readonly rateLimits?: readonly JsonObject[];
  /** Only what differs from the organisation's. */
  readonly securitySettings?: SecuritySettings;
  readonly settings?: JsonObject;
}

/** Roles in an organisation. */
export type OrganisationRole = 'owner' | 'admin' | 'member';
/** Roles in a workspace. */
export type WorkspaceRole = 'admin' | 'manager' | 'member';

/** A person of an organisation. */
export interface UserBody {
  /** In lower case. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: OrganisationRole;
  /** Groups of an identity provider made a member an admin. */
  readonly roleFrom?: GroupSource;
  /** Deactivated by an identity provider: the directory does not know the user, so keys and sessions do not count. */
  readonly inactive?: true;
  /** What an identity provider keeps of the user. */
  readonly scim?: ScimUser;
}

/** Where groups come from: `scim`, or the id of an identity provider for sign-in. */
export type GroupSource = string;

/** A user's attributes of RFC 7643. */
export interface ScimUser {
  readonly userName: string;
  /** In lower case: unique in the organisation. */
  readonly userNameKey: string;
  readonly externalId?: string;
  /** `active` was taken away and is not told. */
  readonly withoutActive?: true;
  /** The others, as the schemas name them; at most 32 KB. */
  readonly attributes: JsonObject;
}

/** A user's place in the workspace that the document belongs to. */
export interface MemberBody {
  readonly userId: string;
  readonly role: WorkspaceRole;
  /** The user's: lists are filtered by it. */
  readonly email: string;
  /** Groups gave the role; `own` is the one that was given by hand before. */
  readonly fromGroups?: { readonly source: GroupSource; readonly own?: WorkspaceRole };
}

/** What is kept of a secret. */
export interface KeySecret {
  /** Keyed hash of the secret. */
  readonly hash: string;
  /** Its first four characters and its length. */
  readonly hint: string;
  /** As it is shown: see keyMask. Keys that are older than masks have none. */
  readonly mask?: string;
}

/** When a key is due for a new secret. */
export interface KeyRotation {
  readonly period?: 'weekly' | 'monthly';
  readonly periodDays?: number;
  /** Unix milliseconds; absent when no further rotation is planned. */
  readonly nextAt?: number;
  /** How long the previous secret continues to work, in milliseconds. */
  readonly transitionMs: number;
}

/** An API key without its secret. Objects are kept as callers write them; times are Unix milliseconds. */
export interface ApiKeyBody extends KeySecret, Bounded {
  readonly name: string;
  readonly description?: string;
  readonly kind: KeyKind;
  /** The owner of the key, for the kind workspace-user. */
  readonly userId?: string;
  readonly scopes: readonly string[];
  /** Which of the first start's keys it is. */
  readonly bootstrap?: 'admin' | 'workspace';
  /** `auto`: made by the gateway itself; by a caller when absent. */
  readonly creationMode?: 'api' | 'ui' | 'auto';
  /** Absent: never. */
  readonly expiresAt?: number;
  /** A maximum of the workspace or organisation bounded the expiry. */
  readonly expiryEnforced?: true;
  /** The secret before the last rotation, and until when it works. */
  readonly previous?: KeySecret & { readonly until: number };
  readonly rotation?: KeyRotation;
  readonly rateLimits?: readonly JsonObject[];
  readonly usageLimits?: JsonObject;
  /** When usage was last reset by hand. */
  readonly usageResetAt?: number;
  readonly defaults?: JsonObject;
  readonly alertEmails?: readonly string[];
}

export const organisations: Collection<OrganisationBody> = defineCollection<OrganisationBody>({
  name: 'organisations',
  schemaVersion: 1,
  noticed: true,
  fields: [{ name: 'handle', type: 'text', global: true }],
  secret: ['settings.alert_webhook_secret'],
});

export const workspaces: Collection<WorkspaceBody> = defineCollection<WorkspaceBody>({
  name: 'workspaces',
  schemaVersion: 1,
  noticed: true,
  fields: [
    { name: 'name', type: 'text' },
    { name: 'uniqueName', type: 'text', nullable: true },
  ],
  unique: [
    { fields: ['uniqueName'], per: 'organisation' },
    { fields: ['slug'], per: 'organisation' },
  ],
  sortable: ['name'],
});

export const apiKeys: Collection<ApiKeyBody> = defineCollection<ApiKeyBody>({
  name: 'api_keys',
  schemaVersion: 1,
  inWorkspace: { name: 'API keys', blocks: true },
  noticed: true,
  fields: [
    { name: 'name', type: 'text', searched: true },
    // Lists of some kinds look through all in the order of time.
    { name: 'kind', type: 'text', searched: true },
    { name: 'hash', type: 'text', global: true },
    { name: 'bootstrap', type: 'text', nullable: true },
    { name: 'userId', type: 'text', nullable: true },
    { name: 'configId', type: 'text', nullable: true, path: 'defaults.config_id' },
  ],
  // When instances start together on an empty store, one makes the first keys.
  unique: [{ fields: ['bootstrap'], per: 'organisation' }],
  sortable: ['name'],
});

/** The secret of a key that the gateway made itself; the document has the key's id. */
export interface FirstKeyBody {
  /** Empty once the key was used. */
  readonly secret: string;
}

export const firstKeys: Collection<FirstKeyBody> = defineCollection<FirstKeyBody>({
  name: 'first_keys',
  schemaVersion: 1,
  secret: ['secret'],
});

export const users: Collection<UserBody> = defineCollection<UserBody>({
  name: 'users',
  schemaVersion: 1,
  noticed: true,
  fields: [
    { name: 'email', type: 'text' },
    { name: 'role', type: 'text' },
    { name: 'userNameKey', type: 'text', nullable: true, path: 'scim.userNameKey' },
    { name: 'externalId', type: 'text', nullable: true, path: 'scim.externalId' },
  ],
  unique: [
    { fields: ['email'], per: 'organisation' },
    { fields: ['userNameKey'], per: 'organisation' },
  ],
  sortable: ['email'],
});

/** An invitation. */
export interface InviteBody {
  /** In lower case. */
  readonly email: string;
  readonly role: 'admin' | 'member';
  /** `expired` follows from `expiresAt`. */
  readonly state: 'pending' | 'accepted' | 'cancelled';
  /** The address while the invitation is pending: no two of them are. */
  readonly pendingEmail?: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  readonly acceptedAt?: number;
  /** SHA-256 of the link's token, in hexadecimal digits. */
  readonly tokenHash: string;
  /** Id of the key or of its user. */
  readonly invitedBy: string;
  readonly workspaces: readonly { readonly id: string; readonly role: WorkspaceRole }[];
  /** Of the API key that is made in each workspace. */
  readonly keyScopes?: readonly string[];
}

export const invites: Collection<InviteBody> = defineCollection<InviteBody>({
  name: 'user_invites',
  schemaVersion: 1,
  fields: [
    { name: 'email', type: 'text' },
    { name: 'role', type: 'text' },
    { name: 'state', type: 'text' },
    { name: 'pendingEmail', type: 'text', nullable: true },
    { name: 'expiresAt', type: 'integer' },
    { name: 'tokenHash', type: 'text', global: true },
  ],
  unique: [{ fields: ['pendingEmail'], per: 'organisation' }],
});

/** A place where the gateway runs. */
export interface DeploymentBody {
  readonly name: string;
  readonly description?: string;
  readonly type: 'production' | 'non-production';
  /** Ids. */
  readonly workspaces: readonly string[];
}

export const deployments: Collection<DeploymentBody> = defineCollection<DeploymentBody>({
  name: 'deployments',
  schemaVersion: 1,
  fields: [
    { name: 'name', type: 'text' },
    { name: 'type', type: 'text' },
  ],
  unique: [{ fields: ['slug'], per: 'organisation' }],
});

export const members: Collection<MemberBody> = defineCollection<MemberBody>({
  name: 'workspace_members',
  schemaVersion: 1,
  inWorkspace: { name: 'members', blocks: false },
  noticed: true,
  fields: [
    { name: 'userId', type: 'text' },
    { name: 'role', type: 'text' },
    { name: 'email', type: 'text' },
  ],
  unique: [{ fields: ['userId'], per: 'workspace' }],
});

/** All collections of this room. */
export const accessCollections: readonly Collection<object>[] = [
  organisations,
  workspaces,
  apiKeys,
  users,
  members,
  invites,
  deployments,
  auditEntries,
  auditHeads,
  encryptionKeys,
  firstKeys,
  sessions,
  identityProviders,
  jwtSettings,
  ...SCIM_COLLECTIONS,
  ...PROVIDER_COLLECTIONS,
  ...MCP_COLLECTIONS,
  oauthGrants,
];
