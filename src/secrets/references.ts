// Secret references in memory: filled from the store, following its changes, asked within an organisation only.
import type { Document } from '../store/documents.ts';
import { Replica } from '../store/replica.ts';
import { type SecretReferenceBody, secretReferences } from './secret-collections.ts';

export type SecretReferenceDocument = Document<SecretReferenceBody>;

export class SecretReferences {
  #tellGone: (document: SecretReferenceDocument) => void = () => {};
  readonly replica: Replica<SecretReferenceBody> = new Replica(secretReferences, {
    row: (document) => document,
    nameOf: ({ slug }) => slug,
    changed: (_now, before) => before && this.#tellGone(before),
  });

  /** Who is told of references that were changed or archived, as they were before. */
  onGone(tell: (document: SecretReferenceDocument) => void): void {
    this.#tellGone = tell;
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
    const found = this.replica.named(organisationId, idOrSlug) ?? this.replica.get(organisationId, idOrSlug);
    if (found === undefined) return undefined;
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
