// Contents of versions, which never change: read from the store once, then kept in memory within a bound.

import type { TenantScope } from '../call/scope.ts';
import type { Collection } from '../store/collection.ts';
import type { Document, DocumentStore } from '../store/documents.ts';
import { type CompiledPrompt, compilePrompt } from './compiled-prompt.ts';
import {
  type PartialVersionBody,
  type PromptVersionBody,
  partialVersions,
  promptVersions,
  versionSlug,
} from './prompt-collections.ts';
import type { Template } from './template/nodes.ts';
import { parseTemplate } from './template/parse.ts';

/** Characters of contents that are kept. */
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** What a kept content costs in addition to its text. */
const OVERHEAD = 1024;

interface Kept {
  readonly value: Promise<unknown>;
  cost: number;
}

export class Contents {
  readonly #documents: Pick<DocumentStore, 'get'>;
  readonly #most: number;
  /** In the order of use, the most recently used last. */
  readonly #kept = new Map<string, Kept>();
  #cost = 0;

  /** @param most characters that are kept */
  constructor(documents: Pick<DocumentStore, 'get'>, most: number = MOST_CHARACTERS) {
    this.#documents = documents;
    this.#most = most;
  }

  /** A version of a prompt. @throws GatewayError store_unavailable; validation_failed for a template that cannot be read */
  prompt(tenant: TenantScope, promptId: string, number: number): Promise<CompiledPrompt | undefined> {
    return this.#take(tenant, promptVersions, promptId, number, ({ body }: Document<PromptVersionBody>) => ({
      value: compilePrompt(body.content),
      characters: JSON.stringify(body.content).length,
    }));
  }

  /** A version of a partial. @throws as prompt */
  partial(tenant: TenantScope, partialId: string, number: number): Promise<Template | undefined> {
    return this.#take(
      tenant,
      partialVersions,
      partialId,
      number,
      ({ body }: Document<PartialVersionBody>) => ({
        value: parseTemplate(body.string, 'string'),
        characters: body.string.length,
      }),
    );
  }

  #take<B extends object, T>(
    { organisationId, workspaceId }: TenantScope,
    collection: Collection<B>,
    ownerId: string,
    number: number,
    make: (document: Document<B>) => { readonly value: T; readonly characters: number },
  ): Promise<T | undefined> {
    const slug = versionSlug(ownerId, number);
    const key = `${organisationId} ${workspaceId} ${collection.name} ${slug}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept.value as Promise<T | undefined>;
    }
    const entry: Kept = {
      cost: 0,
      value: this.#documents
        .get({ organisationId, workspaceId }, collection, slug)
        .then((document) => {
          if (document === undefined) {
            this.#drop(key, entry);
            return undefined;
          }
          const { value, characters } = make(document);
          this.#charge(key, entry, characters + OVERHEAD);
          return value;
        })
        .catch((error: unknown) => {
          this.#drop(key, entry);
          throw error;
        }),
    };
    this.#kept.set(key, entry);
    return entry.value as Promise<T | undefined>;
  }

  /** How many versions are kept. */
  get size(): number {
    return this.#kept.size;
  }

  #charge(key: string, entry: Kept, cost: number): void {
    if (this.#kept.get(key) !== entry) return;
    entry.cost = cost;
    this.#cost += cost;
    for (const [oldest, other] of this.#kept) {
      if (this.#cost <= this.#most) break;
      this.#drop(oldest, other);
    }
  }

  #drop(key: string, entry: Kept): void {
    if (this.#kept.get(key) !== entry) return;
    this.#kept.delete(key);
    this.#cost -= entry.cost;
  }
}
