// What the control plane keeps for model calls.
import { type Collection, defineCollection, type JsonObject } from '../store/collection.ts';
import type { Bounded } from '../store/set-above.ts';

/** A config and its content. */
export interface ConfigBody {
  readonly name: string;
  /** As callers write it. It may hold credentials. */
  readonly config: JsonObject;
  /** Of the content. */
  readonly versionId: string;
  /** The one that calls of its workspace take when they select nothing. Absent: no. */
  readonly isDefault?: true;
  /** Id of the user who made it, or of the key. */
  readonly ownerId: string;
  readonly updatedBy: string;
}

/** A content that a config has or had; its id is the version's. */
export interface ConfigVersionBody {
  readonly configId: string;
  readonly name: string;
  readonly config: JsonObject;
  readonly updatedBy: string;
}

export const configs: Collection<ConfigBody> = defineCollection<ConfigBody>({
  name: 'configs',
  schemaVersion: 1,
  inWorkspace: { name: 'configs', blocks: true },
  noticed: true,
  fields: [
    { name: 'name', type: 'text', searched: true },
    { name: 'isDefault', type: 'integer', nullable: true },
  ],
  unique: [
    { fields: ['slug'], per: 'organisation' },
    { fields: ['isDefault'], per: 'workspace' },
  ],
  secret: ['config'],
});

export const configVersions: Collection<ConfigVersionBody> = defineCollection<ConfigVersionBody>({
  name: 'config_versions',
  schemaVersion: 1,
  fields: [{ name: 'configId', type: 'text' }],
  secret: ['config'],
});

/** What a guardrail checks and what follows, as callers write it. Parameters may hold credentials. */
export interface GuardrailContent {
  readonly checks: readonly JsonObject[];
  readonly actions: JsonObject;
}

/** A guardrail of a workspace, or of the organisation when the document has none. */
export interface GuardrailBody extends GuardrailContent, Bounded {
  readonly name: string;
  /** Of checks and actions. */
  readonly versionId: string;
  /** Id of the user who made it, or of the key. */
  readonly ownerId: string;
  readonly updatedBy: string;
}

/** Checks and actions that a guardrail has or had; its id is the version's. */
export interface GuardrailVersionBody extends GuardrailContent {
  readonly guardrailId: string;
  readonly name: string;
  readonly updatedBy: string;
}

export const guardrails: Collection<GuardrailBody> = defineCollection<GuardrailBody>({
  name: 'guardrails',
  schemaVersion: 1,
  inWorkspace: { name: 'guardrails', blocks: true },
  noticed: true,
  fields: [{ name: 'name', type: 'text' }],
  unique: [{ fields: ['slug'], per: 'organisation' }],
  secret: ['checks', 'actions'],
});

export const guardrailVersions: Collection<GuardrailVersionBody> = defineCollection<GuardrailVersionBody>({
  name: 'guardrail_versions',
  schemaVersion: 1,
  fields: [{ name: 'guardrailId', type: 'text' }],
  secret: ['checks', 'actions'],
});

/** A name that calls give as their model. Its slug is the name. */
export interface ModelAliasBody {
  readonly name: string;
  /** The saved config that calls go by: its id, and the slug that it keeps. */
  readonly configId: string;
  readonly configSlug: string;
  readonly description?: string;
}

export const modelAliases: Collection<ModelAliasBody> = defineCollection<ModelAliasBody>({
  name: 'model_aliases',
  schemaVersion: 1,
  inWorkspace: { name: 'model aliases', blocks: false },
  noticed: true,
  fields: [{ name: 'configId', type: 'text' }],
  unique: [{ fields: ['slug'], per: 'workspace' }],
});

/** All collections of this room. */
export const configCollections: readonly Collection<object>[] = [
  configs,
  configVersions,
  guardrails,
  guardrailVersions,
  modelAliases,
];
