// Integrations and stored providers in memory: every model call that names one looks here, and makes no round
// trip. It follows the stores' change notices (see follow.ts) and is asked within a tenant only.
import type { TenantScope } from '../../call/scope.ts';
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
}

/** A usable provider and what it was made of. */
interface Made {
  readonly document: Document<ProviderBody>;
  readonly integration: Document<IntegrationBody> | undefined;
  readonly usable: UsableProvider | undefined;
}

export class ProviderReplica {
  readonly #deps: ProviderReplicaDeps;
  readonly #integrations = new Replica(integrations, { row: (document) => document });
  readonly #providers = new Replica(storedProviders, {
    row: (document) => document,
    nameOf: ({ workspaceId, slug }) => `${workspaceId} ${slug}`,
    changed: (now, _before, { id }) => now ?? this.#made.delete(id),
  });
  readonly replicas = [this.#integrations, this.#providers] as const;
  readonly #made = new Map<string, Made>();

  constructor(deps: ProviderReplicaDeps) {
    this.#deps = deps;
  }

  /** A stored provider of the tenant's own workspace; whether it may be called is its to say. Undefined: there is none. */
  resolve({ organisationId, workspaceId }: TenantScope, slug: string): UsableProvider | undefined {
    const document = this.#providers.named(organisationId, `${workspaceId} ${slug}`);
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

  /** The stored providers of the tenant's own workspace; whether one may be called is its to say. */
  providersOf(tenant: TenantScope): UsableProvider[] {
    const { organisationId, workspaceId } = tenant;
    const own: UsableProvider[] = [];
    for (const document of this.#providers.of(organisationId).values()) {
      if (document.workspaceId !== workspaceId) continue;
      const usable = this.resolve(tenant, document.slug ?? '');
      if (usable !== undefined) own.push(usable);
    }
    return own.sort((a, b) => (a.slug < b.slug ? -1 : 1));
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
