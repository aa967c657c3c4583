// Identity providers of organisations as they are stored.
import { type Collection, defineCollection } from '../../store/collection.ts';
import type { StoredMapping } from '../providers/provider-collections.ts';

export interface IdentityProviderBody {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Encrypted. Absent where a secret reference holds it. */
  readonly clientSecret?: string;
  /** What is shown of it. */
  readonly clientSecretMask?: string;
  /** One at the most, whose target is `client_secret`. */
  readonly secretMappings?: readonly StoredMapping[];
  readonly scopes: string;
  readonly groupsClaim: string;
  /** `first_sight`: who has neither an account nor an invitation gets an account. */
  readonly accounts: 'invited' | 'first_sight';
  /** Lower case; absent: addresses of all domains. */
  readonly emailDomains?: readonly string[];
  readonly isEnabled: boolean;
  /** What signing out ends; absent: the session of the identity provider too, where it can be. */
  readonly signOut?: 'provider' | 'gateway';
  /** Id of the user or key that made it. */
  readonly createdBy: string;
}

export const identityProviders: Collection<IdentityProviderBody> = defineCollection<IdentityProviderBody>({
  name: 'identity_providers',
  schemaVersion: 1,
  noticed: true,
  unique: [{ fields: ['slug'], per: 'organisation' }],
  secret: ['clientSecret'],
});
