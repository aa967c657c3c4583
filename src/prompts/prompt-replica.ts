// Prompts, partials, labels and collections in memory, without contents: it follows the stores' change notices (see
// follow.ts) and is asked within a tenant only.

import type { TenantScope } from '../call/scope.ts';
import type { Collection } from '../store/collection.ts';
import type { Document } from '../store/documents.ts';
import { type FollowDeps, follow } from '../store/follow.ts';
import {
  type CollectionBody,
  type LabelBody,
  labels,
  type PartialBody,
  type PromptBody,
  partials,
  promptCollections,
  prompts,
  REPLICATED_COLLECTIONS,
} from './prompt-collections.ts';
import { universalLabels } from './universal-labels.ts';

/** How many of a kind there are in a collection, and when one of them last changed. */
export interface Contained {
  readonly count: number;
  /** Unix milliseconds. */
  readonly lastUpdatedAt: number | undefined;
}

/** Active documents of one collection, found by id, by slug and by what they are in. */
class Rows<B extends object> {
  readonly #byId = new Map<string, Document<B>>();
  readonly #bySlug = new Map<string, string>();
  readonly #byGroup = new Map<string, Map<string, Document<B>>>();
  readonly #groupOf: (document: Document<B>) => string | undefined;

  constructor(groupOf: (document: Document<B>) => string | undefined) {
    this.#groupOf = groupOf;
  }

  apply(document: Document<B>): void {
    const { id, status } = document;
    const before = this.#byId.get(id);
    if (before !== undefined) {
      if (this.#bySlug.get(slugKey(before)) === id) this.#bySlug.delete(slugKey(before));
      this.#byGroup.get(this.#groupOf(before) ?? '')?.delete(id);
      this.#byId.delete(id);
    }
    if (status === 'archived') return;
    this.#byId.set(id, document);
    if (document.slug !== undefined) this.#bySlug.set(slugKey(document), id);
    const group = this.#groupOf(document);
    if (group === undefined) return;
    const members = this.#byGroup.get(group) ?? new Map<string, Document<B>>();
    this.#byGroup.set(group, members.set(id, document));
  }

  /** Of one workspace, by id or slug. */
  find({ organisationId, workspaceId }: TenantScope, idOrSlug: string): Document<B> | undefined {
    const found =
      this.#byId.get(idOrSlug) ?? this.#byId.get(this.#bySlug.get(`${organisationId} ${idOrSlug}`) ?? '');
    const own = found?.organisationId === organisationId && found.workspaceId === workspaceId;
    return own ? found : undefined;
  }

  group(key: string): Iterable<Document<B>> {
    return this.#byGroup.get(key)?.values() ?? [];
  }
}

/** The snapshot. */
export class PromptReplica {
  readonly #prompts = new Rows<PromptBody>(({ body }) => body.collectionId);
  readonly #partials = new Rows<PartialBody>(({ body }) => body.collectionId);
  readonly #labels = new Rows<LabelBody>(({ workspaceId }) => workspaceId);
  readonly #collections = new Rows<CollectionBody>(({ body }) => body.parentId);

  /** Reads everything and follows its changes; resolves with how to stop. @throws GatewayError store_unavailable */
  follow(deps: Omit<FollowDeps, 'collections' | 'apply'>): Promise<() => void> {
    return follow({
      ...deps,
      collections: REPLICATED_COLLECTIONS,
      apply: (collection, document) => this.apply(collection, document),
    });
  }

  /** Takes a document of one of its collections as it is now, archived ones too. Versions only go up: see follow.ts. */
  apply({ name }: Pick<Collection<object>, 'name'>, document: Document<object>): void {
    if (name === prompts.name) this.#prompts.apply(slim(document as Document<PromptBody>));
    else if (name === partials.name) this.#partials.apply(document as Document<PartialBody>);
    else if (name === labels.name) this.#labels.apply(document as Document<LabelBody>);
    else if (name === promptCollections.name) this.#collections.apply(document as Document<CollectionBody>);
  }

  /** An active prompt of a workspace, by id or slug; another workspace's is none. */
  prompt(tenant: TenantScope, idOrSlug: string): Document<PromptBody> | undefined {
    return this.#prompts.find(tenant, idOrSlug);
  }

  /** An active partial of a workspace, by id or slug. */
  partial(tenant: TenantScope, idOrSlug: string): Document<PartialBody> | undefined {
    return this.#partials.find(tenant, idOrSlug);
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
    return universal?.name ?? this.#labels.find(tenant, id)?.body.name;
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

function slugKey({ organisationId, slug }: Document<object>): string {
  return `${organisationId} ${slug}`;
}
