// What /providers and /virtual-keys share: both read and write one collection.
import { type ProviderBody, storedProviders } from '../../access/providers/provider-collections.ts';
import { tagConditions } from '../../access/providers/tags.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, DocumentPage } from '../../store/documents.ts';
import { PROVIDER_RULES } from '../kit/bound-rules.ts';
import { bounded, setAboveCaller, setByHigher } from '../kit/bounds.ts';
import { callerOf, found, targetWorkspace } from '../kit/caller.ts';
import type { PageRequest } from '../kit/lists.ts';
import { resource } from '../kit/resource.ts';
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
  const { documents, directory } = deps;
  const stored = resource(deps, { collection: storedProviders, noun: name, shown });

  const scopeFor = (caller: Principal, given: string | undefined): TenantScope => {
    const workspaceId = targetWorkspace(directory, caller, given, { required: perWorkspace });
    return { organisationId: caller.organisationId, workspaceId };
  };

  async function find(caller: Principal, { slug, workspaceId }: Named): Promise<Stored> {
    const scope = scopeFor(caller, workspaceId);
    const kept = await documents.get(scope, storedProviders, slug);
    return found(kept ?? fixedIn(deps, scope).find((one) => one.slug === slug || one.id === slug), name);
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
      const scope = { organisationId: caller.organisationId, workspaceId };
      return stored.create(call, stored.draft(scope, body, { slug: slug ?? slugOf('', body.name, PREFIX) }));
    },

    /** A page, newest first. */
    async list(
      call: Call,
      request: PageRequest & {
        readonly workspaceId?: string | undefined;
        readonly tags?: string | undefined;
      },
    ): Promise<DocumentPage<ProviderBody>> {
      const scope = scopeFor(callerOf(call), request.workspaceId);
      const filter = tagConditions(wantedTags(request.tags));
      const { currentPage = 0, pageSize = PAGE_SIZE } = request;
      const page = await stored.page(scope, { currentPage, pageSize }, { filter });
      return withFixed(page, currentPage, pageSize, filter.length > 0 ? [] : fixedIn(deps, scope));
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
        if (named.resetUsage === true) checkReset(deps, caller, before);
        const given = change(before, deps.now());
        const body = bounded(deps, caller, PROVIDER_RULES, before.body, given, 'workspace');
        return stored.update(call, before, stored.changed(before, body));
      });
    },

    async archive(call: Call, named: Named): Promise<void> {
      await retryOnConflict(async () => stored.archive(call, await find(callerOf(call), named)));
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
  number: number,
  pageSize: number,
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
