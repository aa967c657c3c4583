// What the services of prompts and of partials do alike: both have a document of their own, and versions.
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { versionSlug } from '../../prompts/prompt-collections.ts';
import type { Collection, JsonObject } from '../../store/collection.ts';
import type {
  Condition,
  Document,
  DocumentPage,
  DocumentStore,
  WriteOperation,
} from '../../store/documents.ts';
import {
  CREATED_MEANWHILE,
  collectionNamed,
  firstCollection,
  keepDefault,
  type WorkspaceScope,
} from '../collections/default.ts';
import { callerOf, found, ownWorkspace, targetScope } from '../kit/caller.ts';
import { newestFirst, type PageRequest } from '../kit/lists.ts';
import { insertOf, newDocument, type Resource, resource, tenantOf } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { slugOf } from '../kit/slug.ts';
import type { PromptsDeps } from './deps.ts';

/** What has versions. */
interface OwnerBody {
  readonly name: string;
  readonly latest: number;
  readonly published: number;
}

interface VersionBody {
  readonly number: number;
}

/** One kind of things with versions. */
export interface VersionedKind<B extends OwnerBody, V extends VersionBody> {
  readonly collection: Collection<B>;
  readonly versions: Collection<V>;
  /** In words, as refusals name it. */
  readonly noun: string;
  /** The field of a version that has the id of what it is a version of. */
  readonly owner: string;
  /** What the audit log shows. */
  readonly shown: (document: Document<B>, version: Document<V>) => JsonObject;
}

/** Before and after a change. */
export type VersionPair<V extends object> = readonly [Document<V>, Document<V>];

interface GivenList extends PageRequest {
  readonly search?: string | undefined;
  readonly collectionId?: string | undefined;
  readonly workspaceId?: string | undefined;
}

interface GivenNew {
  readonly name: string;
  readonly collectionId?: string | undefined;
}

/** The operations of one kind. */
export function versionedOperations<B extends OwnerBody, V extends VersionBody>(
  deps: PromptsDeps,
  { collection, versions, noun, owner, shown }: VersionedKind<B, V>,
) {
  const { documents, directory } = deps;
  const stored = resource(deps, { collection, noun });

  const versionOf = (document: Document<B>, asked: string | number | undefined) =>
    findVersion(documents, versions, document, asked);

  return {
    changed: stored.changed,
    versionOf,

    find: (call: Call, id: string, workspaceId: string | undefined): Promise<Document<B>> =>
      stored.find(targetScope(directory, callerOf(call), workspaceId), id),

    /** The workspace of a new one. @throws GatewayError validation_failed */
    scopeFor(call: Call, workspaceId: string | undefined): WorkspaceScope {
      const caller = callerOf(call);
      const { organisationId } = caller;
      return { organisationId, workspaceId: ownWorkspace(directory, caller, workspaceId) };
    },

    /** A version that is not stored yet. */
    newVersion: (document: Document<B>, body: V, at: number): Document<V> =>
      newDocument(versions, tenantOf(document), body, at, { slug: versionSlug(document.id, body.number) }),

    /** Stores a new one with its first version, in the named collection or else the default one. */
    async create(
      call: Call,
      scope: WorkspaceScope,
      { name, collectionId: given }: GivenNew,
      bodyIn: (collectionId: string) => B,
      firstVersion: (id: string) => V,
    ): Promise<{ readonly made: Document<B>; readonly version: Document<V> }> {
      const collectionId =
        given === undefined ? firstCollection(deps, scope).id : await collectionNamed(deps, scope, given);
      const made = stored.draft(scope, bodyIn(collectionId), { slug: slugOf('pp', name, 10) });
      const version = newDocument(versions, scope, firstVersion(made.id), made.createdAt, {
        slug: versionSlug(made.id, 1),
      });
      const options = { also: [insertOf(versions, version)], after: shown(made, version) };
      await retryOnConflict(
        async () => stored.create(call, made, { ...options, first: await keepDefault(deps, scope) }),
        CREATED_MEANWHILE,
      );
      return { made, version };
    },

    /** Writes what changed of the document itself, with a version's writes. */
    async update(
      call: Call,
      before: Document<B>,
      after: Document<B>,
      [was, is]: VersionPair<V>,
      also: readonly WriteOperation[] = [],
    ): Promise<void> {
      await stored.update(call, before, after, {
        also,
        before: shown(before, was),
        after: shown(after, is),
      });
    },

    async archive(call: Call, before: Document<B>): Promise<void> {
      await stored.archive(call, before, { before: shown(before, await versionOf(before, 'default')) });
    },

    page: (call: Call, request: GivenList): Promise<DocumentPage<B>> => pageOf(deps, stored, call, request),

    versionPage: (document: Document<B>, request: PageRequest): Promise<DocumentPage<V>> =>
      documents.page(tenantOf(document), versions, {
        ...newestFirst(request),
        filter: [{ field: owner, op: 'eq', value: document.id }],
      }),
  };
}

/** A version by number, "latest" or "default" (also when absent): the published one. @throws GatewayError not_found */
async function findVersion<V extends object>(
  documents: DocumentStore,
  versions: Collection<V>,
  document: Document<OwnerBody>,
  asked: string | number | undefined,
): Promise<Document<V>> {
  const { latest, published } = document.body;
  const number = asked === undefined || asked === 'default' ? published : asked === 'latest' ? latest : asked;
  const slug = versionSlug(document.id, Number(number));
  return found(await documents.get(tenantOf(document), versions, slug), 'version');
}

/** A page, of a collection and by a part of the name. @throws GatewayError validation_failed */
async function pageOf<B extends object>(
  deps: PromptsDeps,
  stored: Resource<B>,
  call: Call,
  request: GivenList,
): Promise<DocumentPage<B>> {
  const scope: TenantScope = targetScope(deps.directory, callerOf(call), request.workspaceId);
  const filter: Condition[] = [];
  if (request.search !== undefined) filter.push({ field: 'name', op: 'contains', value: request.search });
  if (request.collectionId !== undefined) {
    const value = await collectionNamed(deps, scope, request.collectionId);
    filter.push({ field: 'collectionId', op: 'eq', value });
  }
  return stored.page(scope, request, { filter });
}
