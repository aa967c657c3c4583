// What the services of MCP integrations and servers are made with.
import type { McpReplica } from '../../access/mcp/mcp-replica.ts';
import type { ClientTokens } from '../../access/mcp-oauth/client-tokens.ts';
import type { UserTokens } from '../../access/mcp-oauth/user-tokens.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import type { Secrets } from '../../secrets/secrets.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import type { MappingDeps } from '../secret-references/mappings.ts';

export interface McpDeps extends IdentityDeps, MappingDeps {
  readonly mcp: McpReplica;
  /** The way to servers outside. */
  readonly dialer: Pick<Dialer, 'stream' | 'check'>;
  readonly secrets: Pick<Secrets, 'resolve' | 'hostsOf'>;
  /** Programs that the operator's settings name, and sessions with them. @param url `stdio:<name>` */
  readonly programs: {
    readonly names: readonly string[];
    readonly fetchOf: (
      url: string,
      owner: string,
    ) => { readonly fetch: typeof fetch; readonly close: () => Promise<void> };
  };
  /** Users' tokens at upstreams. */
  readonly userTokens: Pick<UserTokens, 'bearer' | 'revoke'>;
  /** The gateway's own tokens there. */
  readonly clientTokens: Pick<ClientTokens, 'bearer'>;
  /** Where clients reach the gateway, without a slash at the end. */
  readonly publicUrl: () => string;
}
