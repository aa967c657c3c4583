// Integrations and stored providers in memory: every model call that names one looks here, and makes no round
// trip. It follows the stores' change notices (see follow.ts) and is asked within a tenant only.
import type { TenantScope } from '../../call/scope.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import type { Document } from '../../store/documents.ts';
import { Replica } from '../../store/replica.ts';
import {
  type Credentials,
  type IntegrationBody,
  integrations,
  type ProviderBody,
  storedProviders,
} from './provider-collections.ts';
import { type UsableProvider, usableProvider } from './usable-provider.ts';
import { accessOf } from './workspace-access.ts';

interface ProviderReplicaDeps {
  readonly providerById: (id: string) => ProviderEntry | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Providers that are not stored, in the form of stored ones: each counts where no stored one has its slug. */
  readonly fixed?: readonly Document<ProviderBody>[] | undefined;
}

/** A usable provider and what it was made of. */
interface Made {
  readonly document: Document<ProviderBody>;
  readonly integration: Document<IntegrationBody> | undefined;
  readonly usable: UsableProvider | undefined;
}

/** Workspaces whose lists are kept. */
const MOST_LISTS = 1000;

export class ProviderReplica {
  readonly #deps: ProviderReplicaDeps;
  /** Lists by workspace, until something changes. */
  readonly #lists = new LruCache<readonly UsableProvider[]>(MOST_LISTS);
  readonly #integrations = new Replica(integrations, {
    row: (document) => document,
    changed: () => this.#lists.clear(),
  });
  readonly #providers = new Replica(storedProviders, {
    row: (document) => document,
    nameOf: ({ workspaceId, slug }) => `${workspaceId} ${slug}`,
    changed: (now, _before, { id }) => {
      if (now === undefined) this.#made.delete(id);
      this.#lists.clear();
    },
  });
  readonly replicas = [this.#integrations, this.#providers] as const;
  readonly #made = new Map<string, Made>();
  readonly #fixed = new Map<string, Document<ProviderBody>>();

  constructor(deps: ProviderReplicaDeps) {
    this.#deps = deps;
    for (const one of deps.fixed ?? [])
      this.#fixed.set(`${one.organisationId} ${one.workspaceId} ${one.slug}`, one);
  }

  /** A stored provider of the tenant's own workspace; whether it may be called is its to say. Undefined: there is none. */
  resolve({ organisationId, workspaceId }: TenantScope, slug: string): UsableProvider | undefined {
    const document =
      this.#providers.named(organisationId, `${workspaceId} ${slug}`) ??
      this.#fixed.get(`${organisationId} ${workspaceId} ${slug}`);
    if (document === undefined || workspaceId === undefined) return undefined;
    const { id, body } = document;
    const integration =
      body.integrationId === undefined
        ? undefined
        : this.#integrations.get(organisationId, body.integrationId);
    const made = this.#made.get(id);
    if (made?.document === document && made.integration === integration) return made.usable;
    const entry = this.#deps.providerById(body.aiProviderId);
    const usable = entry && usableProvider(document, integration, entry, this.#deps.now);
    this.#made.set(id, { document, integration, usable });
    return usable;
  }

  /** The stored providers of the tenant's own workspace, by slug; whether one may be called is its to say. */
  providersOf(tenant: TenantScope): readonly UsableProvider[] {
    const { organisationId, workspaceId } = tenant;
    const known = this.#lists.get(`${organisationId} ${workspaceId}`);
    if (known !== undefined) return known;
    const own: UsableProvider[] = [];
    const stored = [...this.#providers.of(organisationId).values()];
    for (const document of [...stored, ...this.fixedOf(organisationId, workspaceId)]) {
      if (document.workspaceId !== workspaceId) continue;
      const usable = this.resolve(tenant, document.slug ?? '');
      if (usable !== undefined) own.push(usable);
    }
    own.sort((a, b) => (a.slug < b.slug ? -1 : 1));
    this.#lists.set(`${organisationId} ${workspaceId}`, own);
    return own;
  }

  /** Providers that are not stored, of a workspace or of all of the organisation's. */
  fixedOf(organisationId: string, workspaceId: string | undefined): Document<ProviderBody>[] {
    return [...this.#fixed.values()].filter(
      (one) =>
        one.organisationId === organisationId &&
        (workspaceId === undefined || one.workspaceId === workspaceId) &&
        !this.hasSlug(organisationId, one.workspaceId ?? '', one.slug ?? ''),
    );
  }

  /**
   * Why a slug names nothing in the tenant's workspace although the organisation has such an integration; undefined: it
   * has none. What belongs to another workspace is not told.
   */
  unsharedAs({ organisationId }: TenantScope, slug: string): string | undefined {
    for (const { slug: own, body } of this.#integrations.of(organisationId).values())
      if (own === slug && body.level === 'organisation')
        return `the integration ${slug} is there, and is not shared with this workspace as a stored provider of this slug: PUT /integrations/${slug}/workspaces`;
    return undefined;
  }

  /** What a workspace sees of the organisation's integrations: its own, and those shared with it; newest first. */
  integrationsOf(organisationId: string, workspaceId: string): Document<IntegrationBody>[] {
    const seen: Document<IntegrationBody>[] = [];
    for (const document of this.#integrations.of(organisationId).values())
      if (accessOf(document, workspaceId).enabled) seen.push(document);
    return seen.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  }

  /** Ids of the workspaces that have a stored provider of an integration. */
  workspacesWith(organisationId: string, integrationId: string): ReadonlySet<string> {
    const workspaces = new Set<string>();
    for (const { workspaceId, body } of this.#providers.of(organisationId).values())
      if (body.integrationId === integrationId && workspaceId !== undefined) workspaces.add(workspaceId);
    return workspaces;
  }

  /** One thing of the organisation, in words, that has a value from a secret reference; undefined: none has. */
  userOfSecret(organisationId: string, referenceId: string): string | undefined {
    const uses = ({ body }: Document<Credentials>): boolean =>
      body.secretMappings?.some(({ secretReferenceId }) => secretReferenceId === referenceId) === true;
    for (const one of this.#integrations.of(organisationId).values())
      if (uses(one)) return `the integration ${one.slug}`;
    for (const one of this.#providers.of(organisationId).values())
      if (uses(one)) return `the virtual key ${one.slug}`;
    return undefined;
  }

  /** Whether a slug is taken in a workspace. */
  hasSlug(organisationId: string, workspaceId: string, slug: string): boolean {
    return this.#providers.named(organisationId, `${workspaceId} ${slug}`) !== undefined;
  }
}
