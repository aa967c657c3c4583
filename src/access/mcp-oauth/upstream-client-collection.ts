// The clients that the gateway has registered at upstreams' authorization servers (RFC 7591).
import { type Collection, defineCollection } from '../../store/collection.ts';

export interface UpstreamClientBody {
  readonly integrationId: string;
  readonly issuer: string;
  readonly redirectUri: string;
  readonly clientId: string;
  /** Sealed at rest. */
  readonly secret?: { readonly clientSecret: string };
  readonly authMethod?: string;
  /** Unix milliseconds; absent: it does not expire. */
  readonly expiresAt?: number;
}

export const upstreamClients: Collection<UpstreamClientBody> = defineCollection<UpstreamClientBody>({
  name: 'mcp_oauth_clients',
  schemaVersion: 1,
  fields: [
    { name: 'integrationId', type: 'text' },
    { name: 'issuer', type: 'text' },
  ],
  unique: [{ fields: ['integrationId', 'issuer'], per: 'organisation' }],
  secret: ['secret'],
});
