// Secret references in memory: filled from the store, following its changes, asked within an organisation only.
import type { Document } from '../store/documents.ts';
import { type FollowDeps, follow } from '../store/follow.ts';
import { type SecretReferenceBody, secretReferences } from './secret-collections.ts';

export type SecretReferenceDocument = Document<SecretReferenceBody>;

export class SecretReferences {
  readonly #byId = new Map<string, SecretReferenceDocument>();
  /** By organisation and slug. */
  readonly #ids = new Map<string, string>();
  #tellGone: (document: SecretReferenceDocument) => void = () => {};

  /** Reads everything and follows its changes; resolves with how to stop. @throws GatewayError store_unavailable */
  follow(deps: Omit<FollowDeps, 'collections' | 'apply'>): Promise<() => void> {
    return follow({
      ...deps,
      collections: [secretReferences],
      apply: (_collection, document) => this.apply(document as SecretReferenceDocument),
    });
  }

  /** Who is told of references that were changed or archived, as they were before. */
  onGone(tell: (document: SecretReferenceDocument) => void): void {
    this.#tellGone = tell;
  }

  /** Takes a reference as it is now, archived ones too. Versions only go up: see follow.ts. */
  apply(document: SecretReferenceDocument): void {
    const { id, organisationId, slug, status } = document;
    const before = this.#byId.get(id);
    const old = slugKey(organisationId, before?.slug ?? '');
    if (this.#ids.get(old) === id) this.#ids.delete(old);
    this.#byId.delete(id);
    if (before !== undefined) this.#tellGone(before);
    if (status !== 'active') return;
    this.#byId.set(id, document);
    this.#ids.set(slugKey(organisationId, slug ?? ''), id);
  }

  /**
   * A reference of the organisation, by id or slug, when the workspace sees it.
   * @param workspaceId undefined: it is the organisation itself that asks
   */
  find(
    organisationId: string,
    workspaceId: string | undefined,
    idOrSlug: string,
  ): SecretReferenceDocument | undefined {
    const id = this.#ids.get(slugKey(organisationId, idOrSlug)) ?? idOrSlug;
    const found = this.#byId.get(id);
    if (found === undefined || found.organisationId !== organisationId) return undefined;
    const { workspaces } = found.body;
    const seen = workspaceId === undefined || workspaces === undefined || workspaces.includes(workspaceId);
    return seen ? found : undefined;
  }
}

/**
 * Whether a secret may go to an origin.
 * @param hosts names and addresses for all ports, or with one; `*.example.com` for all names below it
 * @param origin scheme, host and port
 */
export function isAllowedHost(hosts: readonly string[], origin: string): boolean {
  const url = URL.parse(origin);
  if (url === null) return false;
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return hosts.some((pattern) => {
    const [, host = '', wanted = port] = /^(.*?)(?::(\d+))?$/.exec(pattern) ?? [];
    if (wanted !== port) return false;
    return host.startsWith('*.') ? url.hostname.endsWith(host.slice(1)) : url.hostname === host;
  });
}

function slugKey(organisationId: string, slug: string): string {
  return `${organisationId} ${slug}`;
}
