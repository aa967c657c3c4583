// What a session may do: what its key may, or what its user's role lets it.
import type { Principal } from '../../call/principal.ts';
import type { Document } from '../../store/documents.ts';
import type { Directory } from '../directory.ts';
import type { KeyRecord } from '../key-record.ts';
import { INFERENCE_SCOPES, scopesOf } from '../scopes.ts';
import type { SessionBody } from './session-collection.ts';

const PERSON: ReadonlySet<string> = new Set(scopesOf('workspace-user'));
const NOTHING: ReadonlySet<string> = new Set();
const ORGANISATION: ReadonlySet<string> = withInference(scopesOf('organisation-service'));
/** An organisation key's scopes with those of model calls: made once for each set, which many keys share. */
const extended = new WeakMap<ReadonlySet<string>, ReadonlySet<string>>();

/** The key's principal; undefined when the key is gone, has expired, or has another secret than the one that was used. */
export function keyPrincipal(
  key: KeyRecord | undefined,
  { id, body }: { readonly id: string; readonly body: Pick<SessionBody, 'keyHash'> },
  now: number,
): Principal | undefined {
  if (key === undefined || (key.expiresAt !== undefined && key.expiresAt <= now)) return undefined;
  const isPrevious = key.previous?.hash === body.keyHash && now < (key.previous?.until ?? 0);
  if (key.hash !== body.keyHash && !isPrevious) return undefined;
  const { principal } = key;
  const scopes = principal.kind === 'organisation-service' ? extend(principal.scopes) : principal.scopes;
  return { ...principal, scopes, sessionId: id };
}

/**
 * A user's principal: owners and admins reach the organisation, members the workspace that the call names or the first
 * of theirs. Members without a place in it are signed in and may do nothing. Undefined for users who are gone.
 */
export function userPrincipal(
  directory: Directory,
  { id, organisationId, body: { userId = '' } }: Document<SessionBody>,
  workspace: string | undefined,
): Principal | undefined {
  const user = directory.user(organisationId, userId);
  if (user === undefined) return undefined;
  const common = { organisationId, userId, keyId: id, keyName: user.body.email, sessionId: id };
  if (user.body.role !== 'member')
    return { ...common, workspaceId: undefined, kind: 'organisation-service', scopes: ORGANISATION };
  const places = directory.placesOf(userId).map(({ workspaceId }) => workspaceId);
  const named = workspace === undefined ? undefined : directory.workspace(organisationId, workspace)?.id;
  const workspaceId = workspace === undefined ? places[0] : places.find((place) => place === named);
  if (workspaceId === undefined) return { ...common, workspaceId, kind: 'workspace-user', scopes: NOTHING };
  return { ...common, workspaceId, kind: 'workspace-user', scopes: PERSON };
}

function extend(scopes: ReadonlySet<string>): ReadonlySet<string> {
  const known = extended.get(scopes);
  if (known !== undefined) return known;
  const made = withInference(scopes);
  extended.set(scopes, made);
  return made;
}

function withInference(scopes: Iterable<string>): ReadonlySet<string> {
  return new Set([...scopes, ...INFERENCE_SCOPES]);
}
