// What a grant would be for: the MCP server that a resource indicator names, and the workspaces in which the person of a
// session may use it.
import { randomUUID } from 'node:crypto';
import type { Document } from '../../store/documents.ts';
import type { SessionBody } from '../sessions/session-collection.ts';
import { type OauthGrantBody, oauthGrants } from './grant-collection.ts';
import { MCP_SCOPE } from './grant-ring.ts';
import type { OauthDeps, ResourcePath } from './oauth-deps.ts';
import { OauthError } from './oauth-error.ts';

export interface GrantTarget {
  /** Undefined: all servers of the workspace. */
  readonly serverId: string | undefined;
  /** Of the server, for people. */
  readonly name: string | undefined;
  /** Ids of workspaces, at least one; more where the person chooses. */
  readonly workspaceIds: readonly string[];
}

type TargetDeps = Pick<OauthDeps, 'directory' | 'grants' | 'mcp' | 'pathOf' | 'admit'>;

/**
 * @param base where people reach the gateway
 * @param resource undefined: the client named none, and is asked for all servers of a workspace
 * @throws OauthError invalid_target, the same for what is not there and what is not allowed
 */
export function targetOf(
  deps: TargetDeps,
  session: Document<SessionBody>,
  base: string,
  resource: string | undefined,
): GrantTarget {
  const path = resource === undefined ? ANYWHERE : pathIn(deps, base, resource);
  const { organisationId } = session;
  const { directory } = deps;
  const named =
    path.workspace === undefined ? undefined : directory.workspace(organisationId, path.workspace)?.id;
  const isMeant = (id: string): boolean => path.workspace === undefined || id === named;
  if (path.slug === undefined) {
    const all = directory
      .workspaceIds(organisationId)
      .filter((id) => isMeant(id) && isAdmitted(deps, session, id));
    if (all.length === 0) throw noTarget();
    return { serverId: undefined, name: undefined, workspaceIds: all };
  }
  const server = deps.mcp.server(organisationId, path.slug);
  const isUsable = server?.slug === path.slug && server.isUsable && isMeant(server.workspaceId);
  if (server === undefined || !isUsable || !server.allowsUser(session.body.userId)) throw noTarget();
  if (!isAdmitted(deps, session, server.workspaceId)) throw noTarget();
  return { serverId: server.id, name: server.name, workspaceIds: [server.workspaceId] };
}

const ANYWHERE = { slug: undefined, workspace: undefined };

/** @throws OauthError invalid_target */
function pathIn({ pathOf }: TargetDeps, base: string, resource: string): ResourcePath {
  const path = resource.startsWith(`${base}/`) ? pathOf(resource.slice(base.length)) : undefined;
  if (path === undefined || /[?#]/.test(resource))
    throw new OauthError('invalid_target', `resource: is no MCP server of ${base}`);
  return path;
}

/** Whether the person of a session may use MCP servers of a workspace by a grant. */
function isAdmitted(
  { grants, admit }: TargetDeps,
  { organisationId, body }: Document<SessionBody>,
  workspaceId: string,
): boolean {
  const principal = grants.principalOf({
    id: randomUUID(),
    organisationId,
    workspaceId,
    version: 1,
    status: 'active',
    createdAt: 0,
    updatedAt: 0,
    schemaVersion: oauthGrants.schemaVersion,
    body: grantBody(body, { expiresAt: Number.MAX_SAFE_INTEGER }),
  });
  if (principal === undefined) return false;
  try {
    admit(principal);
    return true;
  } catch {
    return false;
  }
}

/** A grant of the person of a session. */
export function grantBody(
  { userId, keyId, keyHash, role }: SessionBody,
  given: Partial<OauthGrantBody>,
): OauthGrantBody {
  return {
    clientId: '',
    clientKey: '',
    clientName: '',
    redirectHost: '',
    resource: '',
    scope: MCP_SCOPE,
    access: [],
    usedAt: 0,
    expiresAt: 0,
    ...(userId === undefined ? {} : { userId }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(keyHash === undefined ? {} : { keyHash }),
    ...(role === undefined ? {} : { role }),
    ...given,
  };
}

function noTarget(): OauthError {
  return new OauthError('invalid_target', 'resource: there is no such MCP server that you may use');
}
