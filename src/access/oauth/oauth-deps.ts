// What the authorization server is made with.
import type { Principal } from '../../call/principal.ts';
import type { DocumentStore } from '../../store/documents.ts';
import type { SystemChanges } from '../audit/system-changes.ts';
import type { Directory } from '../directory.ts';
import type { KeyHasher } from '../key-hash.ts';
import type { McpReplica } from '../mcp/mcp-replica.ts';
import type { SessionRing } from '../sessions/session-ring.ts';
import type { ClientAssertions } from './client-assertion.ts';
import type { ClientDocuments } from './client-documents.ts';
import type { GrantRing } from './grant-ring.ts';
import type { RegisteredClients } from './registered-clients.ts';

/** A path of the MCP gateway: which server, of which workspace. */
export interface ResourcePath {
  /** Undefined: all servers of the workspace. */
  readonly slug: string | undefined;
  /** Id or slug; undefined: not named. */
  readonly workspace: string | undefined;
}

export interface OauthDeps {
  readonly documents: DocumentStore;
  readonly systemChanges: SystemChanges;
  readonly directory: Directory;
  readonly sessions: Pick<SessionRing, 'visitorOf' | 'site'>;
  readonly grants: GrantRing;
  readonly mcp: Pick<McpReplica, 'server'>;
  readonly hasher: KeyHasher;
  readonly registered: RegisteredClients;
  readonly clientDocuments: ClientDocuments;
  readonly assertions: ClientAssertions;
  /** 32 bytes, the same for all instances. */
  readonly secret: Uint8Array;
  /** Undefined for a path that is none of the MCP gateway. */
  readonly pathOf: (path: string) => ResourcePath | undefined;
  /** Whether the caller may use MCP. @throws GatewayError forbidden */
  readonly admit: (principal: Principal) => void;
  /** How long an access token counts, in milliseconds. */
  readonly accessMs: number;
  /** How long a grant counts after its tokens were last renewed, in milliseconds. */
  readonly grantMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}
