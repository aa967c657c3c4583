// Identity providers in memory, following the change feed: one that is disabled or deleted ends its sessions everywhere.
import type { Document } from '../../store/documents.ts';
import { Replica } from '../../store/replica.ts';
import { type IdentityProviderBody, identityProviders } from './identity-provider-collection.ts';

/** The identity provider of the settings: it is no document. */
export const SETTINGS_PROVIDER = 'settings';

export class IdentityProviders {
  readonly replica: Replica<IdentityProviderBody> = new Replica(identityProviders, {
    row: (document) => document,
    nameOf: ({ slug }) => slug,
  });

  /** One that people may sign in by. @param idOrSlug within the organisation */
  enabled(organisationId: string, idOrSlug: string): Document<IdentityProviderBody> | undefined {
    const found = this.replica.named(organisationId, idOrSlug) ?? this.replica.get(organisationId, idOrSlug);
    return found?.body.isEnabled ? found : undefined;
  }

  /** Those that people may sign in by, by name. */
  listOf(organisationId: string): readonly Document<IdentityProviderBody>[] {
    return [...this.replica.of(organisationId).values()]
      .filter(({ body }) => body.isEnabled)
      .sort((a, b) => (a.body.name < b.body.name ? -1 : 1));
  }

  /** Whether one names the secret reference. @returns it in words */
  userOfSecret(organisationId: string, referenceId: string): string | undefined {
    const all = [...this.replica.of(organisationId).values()];
    const found = all.find(({ body }) =>
      body.secretMappings?.some(({ secretReferenceId }) => secretReferenceId === referenceId),
    );
    return found && `the identity provider ${found.slug ?? found.id}`;
  }
}
