// Prompts, partials, labels and collections in memory, without contents: it follows the stores' change notices (see
// follow.ts) and is asked within a tenant only.

import type { TenantScope } from '../call/scope.ts';
import type { Collection } from '../store/collection.ts';
import type { Document } from '../store/documents.ts';
import { Replica } from '../store/replica.ts';
import {
  type CollectionBody,
  labels,
  type PartialBody,
  type PromptBody,
  partials,
  promptCollections,
  prompts,
} from './prompt-collections.ts';
import { universalLabels } from './universal-labels.ts';

/** How many of a kind there are in a collection, and when one of them last changed. */
export interface Contained {
  readonly count: number;
  /** Unix milliseconds. */
  readonly lastUpdatedAt: number | undefined;
}

/** The snapshot. */
export class PromptReplica {
  readonly #prompts = replicaOf(prompts, ({ body }) => body.collectionId, slim);
  readonly #partials = replicaOf(partials, ({ body }) => body.collectionId);
  readonly #labels = replicaOf(labels, ({ workspaceId }) => workspaceId);
  readonly #collections = replicaOf(promptCollections, ({ body }) => body.parentId);
  readonly replicas = [this.#collections, this.#labels, this.#partials, this.#prompts] as const;

  /** An active prompt of a workspace, by id or slug; another workspace's is none. */
  prompt(tenant: TenantScope, idOrSlug: string): Document<PromptBody> | undefined {
    return own(this.#prompts, tenant, idOrSlug);
  }

  /** An active partial of a workspace, by id or slug. */
  partial(tenant: TenantScope, idOrSlug: string): Document<PartialBody> | undefined {
    return own(this.#partials, tenant, idOrSlug);
  }

  /** Id of a workspace's label, its own or one that every workspace has. */
  labelId({ organisationId, workspaceId = '' }: TenantScope, name: string): string | undefined {
    const universal = universalLabels(organisationId).find((label) => label.name === name);
    if (universal !== undefined) return universal.id;
    for (const { id, body } of this.#labels.group(workspaceId)) if (body.name === name) return id;
    return undefined;
  }

  /** Name of a workspace's label. */
  labelName(tenant: TenantScope, id: string): string | undefined {
    const universal = universalLabels(tenant.organisationId).find((label) => label.id === id);
    return universal?.name ?? own(this.#labels, tenant, id)?.body.name;
  }

  promptsIn(collectionId: string): Contained {
    return contained(this.#prompts.group(collectionId));
  }

  partialsIn(collectionId: string): Contained {
    return contained(this.#partials.group(collectionId));
  }

  collectionsIn(collectionId: string): Contained {
    return contained(this.#collections.group(collectionId));
  }

  /** The collections in a collection, newest first. */
  children(collectionId: string): Document<CollectionBody>[] {
    return [...this.#collections.group(collectionId)].sort(
      (a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1),
    );
  }
}

function replicaOf<B extends object>(
  collection: Collection<B>,
  groupOf: (document: Document<B>) => string | undefined,
  row = (document: Document<B>) => document,
): Replica<B> {
  return new Replica(collection, { row, groupOf, nameOf: ({ slug }) => slug });
}

/** Of one workspace, by id or slug. */
function own<B extends object>(
  replica: Replica<B>,
  { organisationId, workspaceId }: TenantScope,
  idOrSlug: string,
): Document<B> | undefined {
  const found = replica.find(organisationId, idOrSlug);
  return found?.workspaceId === workspaceId ? found : undefined;
}

/** Metadata may be long, and no call needs it. */
function slim(document: Document<PromptBody>): Document<PromptBody> {
  const { metadata: _, ...body } = document.body;
  return { ...document, body };
}

function contained(documents: Iterable<Document<object>>): Contained {
  let count = 0;
  let lastUpdatedAt: number | undefined;
  for (const { updatedAt } of documents) {
    count++;
    lastUpdatedAt = Math.max(lastUpdatedAt ?? 0, updatedAt);
  }
  return { count, lastUpdatedAt };
}
