// What the control plane keeps of prompts. Contents are in versions, which never change; what changes is in the
// prompt's own document, which every instance has in memory.
import { type Collection, defineCollection, type JsonObject } from '../store/collection.ts';

/** A folder of prompts. */
export interface CollectionBody {
  readonly name: string;
  readonly parentId?: string;
  /** The collection that every new workspace has. */
  readonly isDefault?: true;
}

/** A name for versions. */
export interface LabelBody {
  readonly name: string;
  readonly description?: string;
  readonly colorCode?: string;
}

/** A prompt without its contents. */
export interface PromptBody {
  readonly name: string;
  readonly collectionId: string;
  /** The number of the latest version; they count from 1. */
  readonly latest: number;
  readonly published: number;
  /** The published version's. */
  readonly model?: string;
  /** By label: the version that has it. */
  readonly labels?: Readonly<Record<string, number>>;
  /** A stored provider given without a new version: versions up to this one have it. Absent slug: none. */
  readonly provider?: { readonly slug?: string; readonly through: number };
  /** As callers write it. */
  readonly metadata?: JsonObject;
}

/** What a version of a prompt is made of. Objects are kept as callers write them. */
export interface PromptContent {
  readonly string: string;
  readonly parameters?: JsonObject;
  readonly model?: string;
  /** A stored provider, by slug. */
  readonly virtualKey?: string;
  readonly functions?: readonly JsonObject[];
  readonly tools?: readonly JsonObject[];
  readonly toolChoice?: string | JsonObject;
  readonly isRawTemplate?: true;
}

/** A version; its slug is made by `versionSlug`. */
export interface PromptVersionBody {
  readonly promptId: string;
  readonly number: number;
  readonly description?: string;
  readonly content: PromptContent;
}

/** A partial without its content. */
export interface PartialBody {
  readonly name: string;
  readonly collectionId: string;
  readonly latest: number;
  readonly published: number;
}

/** A version of a partial; its slug is made by `versionSlug`. */
export interface PartialVersionBody {
  readonly partialId: string;
  readonly number: number;
  readonly description?: string;
  readonly string: string;
}

/** A version's slug. That it is unique keeps two changes at once from making the same version. */
export function versionSlug(ownerId: string, number: number): string {
  return `${ownerId}@${number}`;
}

export const promptCollections: Collection<CollectionBody> = defineCollection<CollectionBody>({
  name: 'prompt_collections',
  schemaVersion: 1,
  inWorkspace: { name: 'collections', blocks: false },
  noticed: true,
  fields: [
    { name: 'name', type: 'text', searched: true },
    { name: 'parentId', type: 'text', nullable: true },
    { name: 'isDefault', type: 'integer', nullable: true },
  ],
  unique: [
    { fields: ['slug'], per: 'organisation' },
    { fields: ['isDefault'], per: 'workspace' },
  ],
});

export const labels: Collection<LabelBody> = defineCollection<LabelBody>({
  name: 'labels',
  schemaVersion: 1,
  inWorkspace: { name: 'labels', blocks: false },
  noticed: true,
  fields: [{ name: 'name', type: 'text', searched: true }],
  unique: [{ fields: ['name'], per: 'workspace' }],
});

export const prompts: Collection<PromptBody> = defineCollection<PromptBody>({
  name: 'prompts',
  schemaVersion: 1,
  inWorkspace: { name: 'prompts', blocks: true },
  noticed: true,
  fields: [
    { name: 'name', type: 'text', searched: true },
    { name: 'collectionId', type: 'text' },
  ],
  unique: [{ fields: ['slug'], per: 'organisation' }],
});

export const promptVersions: Collection<PromptVersionBody> = defineCollection<PromptVersionBody>({
  name: 'prompt_versions',
  schemaVersion: 1,
  fields: [{ name: 'promptId', type: 'text' }],
  unique: [{ fields: ['slug'], per: 'organisation' }],
});

export const partials: Collection<PartialBody> = defineCollection<PartialBody>({
  name: 'prompt_partials',
  schemaVersion: 1,
  inWorkspace: { name: 'prompt partials', blocks: true },
  noticed: true,
  fields: [
    { name: 'name', type: 'text', searched: true },
    { name: 'collectionId', type: 'text' },
  ],
  unique: [{ fields: ['slug'], per: 'organisation' }],
});

export const partialVersions: Collection<PartialVersionBody> = defineCollection<PartialVersionBody>({
  name: 'prompt_partial_versions',
  schemaVersion: 1,
  fields: [{ name: 'partialId', type: 'text' }],
  unique: [{ fields: ['slug'], per: 'organisation' }],
});

/** All collections of this room. */
export const promptRoomCollections: readonly Collection<object>[] = [
  promptCollections,
  labels,
  partials,
  prompts,
  promptVersions,
  partialVersions,
];
