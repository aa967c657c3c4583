// What /providers and /virtual-keys share: both read and write one collection.
import { randomUUID } from 'node:crypto';
import { type ProviderBody, storedProviders } from '../../access/providers/provider-collections.ts';
import { tagConditions } from '../../access/providers/tags.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Document,
  type DocumentPage,
  insertOperation,
  type PageQuery,
  updateOperation,
} from '../../store/documents.ts';
import { PROVIDER_RULES } from '../kit/bound-rules.ts';
import { bounded, setAboveCaller, setByHigher } from '../kit/bounds.ts';
import { callerOf, organisationOf, targetWorkspace } from '../kit/caller.ts';
import { newestFirst, type PageRequest } from '../kit/lists.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { slugOf } from '../kit/slug.ts';
import { wantedTags } from '../kit/tags.ts';
import type { ProviderDeps } from './deps.ts';

type Stored = Document<ProviderBody>;

/** Elements of a page by default. */
const PAGE_SIZE = 50;
const PREFIX = 40;

/** One view of the collection. */
export interface View {
  /** What the audit log shows of one. */
  readonly shown: (document: Stored) => JsonObject;
  /** In words, as refusals name it. */
  readonly name: string;
  /** Whether organisation keys must name the workspace. */
  readonly perWorkspace: boolean;
}

/** Which one, as requests carry it. */
interface Named {
  readonly slug: string;
  readonly workspaceId?: string | undefined;
  readonly resetUsage?: boolean | undefined;
}

/** The operations of a view. */
export function storedProviderOperations(deps: ProviderDeps, { shown, name, perWorkspace }: View) {
  const { documents, changes, directory, now } = deps;

  async function find(caller: Principal, { slug, workspaceId: given }: Named): Promise<Stored> {
    const workspaceId = targetWorkspace(directory, caller, given, { required: perWorkspace });
    const scope = { organisationId: caller.organisationId, workspaceId };
    const stored = await documents.get(scope, storedProviders, slug);
    const found = stored ?? fixedIn(deps, scope).find((one) => one.slug === slug || one.id === slug);
    if (found === undefined) throw fail('not_found', `there is no such ${name}`);
    return found;
  }

  return {
    find: (call: Call, named: Named): Promise<Stored> => find(callerOf(call), named),

    /** Writes a new one. @throws GatewayError conflict for a slug that is taken. */
    async make(
      call: Call,
      workspaceId: string,
      slug: string | undefined,
      given: ProviderBody,
    ): Promise<Stored> {
      const caller = callerOf(call);
      const body = bounded(deps, caller, PROVIDER_RULES, undefined, given);
      const { organisationId } = caller;
      const createdAt = now();
      const document = {
        id: randomUUID(),
        workspaceId,
        slug: slug ?? slugOf('', body.name, PREFIX),
        createdAt,
        body,
      };
      const after: Stored = {
        ...document,
        organisationId,
        updatedAt: createdAt,
        version: 1,
        status: 'active',
        schemaVersion: storedProviders.schemaVersion,
      };
      await changes.commit(call, organisationOf(caller), [insertOperation(storedProviders, document)], {
        ...targetOf(after),
        after: shown(after),
      });
      return after;
    },

    /** A page, newest first. */
    async list(
      call: Call,
      request: PageRequest & {
        readonly workspaceId?: string | undefined;
        readonly tags?: string | undefined;
      },
    ): Promise<DocumentPage<ProviderBody>> {
      const caller = callerOf(call);
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId, { required: perWorkspace });
      const scope = { organisationId: caller.organisationId, workspaceId };
      const tags = tagConditions(wantedTags(request.tags));
      const query = newestFirst({ ...request, pageSize: request.pageSize ?? PAGE_SIZE });
      const page = await documents.page(scope, storedProviders, { ...query, filter: tags });
      return withFixed(page, query, tags.length > 0 ? [] : fixedIn(deps, scope));
    },

    /** Reads, works out and writes a body. */
    async update(
      call: Call,
      named: Named,
      change: (before: Stored, at: number) => ProviderBody,
    ): Promise<Stored> {
      const caller = callerOf(call);
      return retryOnConflict(async () => {
        const before = await find(caller, named);
        const updatedAt = now();
        if (named.resetUsage === true) checkReset(deps, caller, before);
        const body = bounded(
          deps,
          caller,
          PROVIDER_RULES,
          before.body,
          change(before, updatedAt),
          'workspace',
        );
        const after = { ...before, body, updatedAt };
        const operation = updateOperation(storedProviders, before.id, before.version, { body, updatedAt });
        await changes.commit(call, organisationOf(caller), [operation], {
          ...targetOf(after),
          before: shown(before),
          after: shown(after),
        });
        return after;
      });
    },

    async archive(call: Call, named: Named): Promise<void> {
      const caller = callerOf(call);
      await retryOnConflict(async () => {
        const before = await find(caller, named);
        const order = { version: before.version, updatedAt: now() };
        await changes.commit(
          call,
          organisationOf(caller),
          [archiveOperation(storedProviders, before.id, order)],
          { ...targetOf(before), before: shown(before) },
        );
      });
    },
  };
}

/** Providers of the environment, which no store has. */
function fixedIn({ replica }: ProviderDeps, { organisationId, workspaceId }: TenantScope): Stored[] {
  return replica.fixedOf(organisationId, workspaceId);
}

/** The page with those at the end of the list that no store has. */
function withFixed(
  page: DocumentPage<ProviderBody>,
  { page: number = 0, pageSize = PAGE_SIZE }: PageQuery,
  fixed: readonly Stored[],
): DocumentPage<ProviderBody> {
  const from = Math.max(0, number * pageSize - page.total);
  const more = fixed.slice(from, from + pageSize - page.documents.length);
  return { ...page, total: page.total + fixed.length, documents: [...page.documents, ...more] };
}

/** Usage that starts again from zero is a loosened limit. @throws GatewayError forbidden. */
function checkReset({ directory }: ProviderDeps, caller: Principal, { body }: Stored): void {
  const limits = body.usageLimits;
  const set = setAboveCaller(directory, caller, body, 'usage_limits', limits, 'workspace');
  if (set !== undefined) throw setByHigher('reset_usage', set, 'its usage is theirs to reset');
}

function targetOf({ id, workspaceId, body }: Stored) {
  return { id, name: body.name, workspaceId };
}
