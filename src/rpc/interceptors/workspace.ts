// The workspace that the caller of an operation of the control plane names: in the query or the body over REST, in a field
// of the message or the metadata x-gateway-workspace-id over every protocol.
import type { Message } from '@bufbuild/protobuf';
import type { Directory } from '../../access/directory.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { invalidField } from '../../lib/errors.ts';
import {
  checked,
  isWorkspaceAside,
  WORKSPACE_FIELD,
  type WorkspaceUse,
  workspaceUseOf,
} from '../../rest/named-workspace.ts';
import { type Handler, type Interceptor, isStream } from '../handler.ts';

/** A workspace that never is: what is looked for in it is not found. */
const NOWHERE = '00000000-0000-0000-0000-000000000000';

type Fields = { workspaceId?: string | undefined; workspaceSlug?: string | undefined };

export function workspaceInterceptor(directory: Directory): Interceptor {
  return (method) => {
    const use = workspaceUseOf(method);
    if (use === undefined) return ofSessions(directory);
    // A field in the path names the resource itself.
    const absorbs = (use === 'resource' || use === 'inference') && !isWorkspaceAside(method);
    return (next) => (input, call) => {
      if (call.principal === undefined || isStream(input) || typeof input === 'function')
        return next(input, call);
      const fields = input as Message & Fields;
      const given = namedBy(call, absorbs ? fields.workspaceId : undefined);
      if (given !== undefined) {
        if (absorbs) fields.workspaceId = undefined;
        apply(directory, use, call, call.principal, fields, given);
      } else if (use === 'inference' && call.principal.workspaceId === undefined) {
        throw invalidField(WORKSPACE_FIELD, 'is needed with an organisation key', 'required');
      }
      return next(input, call);
    };
  };
}

/** Model calls: keys have their workspace, and sessions of an organisation name one in the metadata. */
function ofSessions(directory: Directory): (next: Handler) => Handler {
  return (next) => (input, call) => {
    const { principal } = call;
    if (principal?.sessionId === undefined || principal.workspaceId !== undefined) return next(input, call);
    const given = checked(call.headers.get('workspace-id'));
    if (given === undefined)
      throw invalidField(
        WORKSPACE_FIELD,
        'is needed: name a workspace in x-gateway-workspace-id',
        'required',
      );
    const found = directory.workspace(principal.organisationId, given);
    if (found === undefined) throw invalidField(WORKSPACE_FIELD, 'names no workspace of the caller');
    call.principal = { ...principal, workspaceId: found.id, visiting: true };
    return next(input, call);
  };
}

function apply(
  directory: Directory,
  use: WorkspaceUse,
  call: Call,
  principal: Principal,
  fields: Fields,
  given: string,
): void {
  const { organisationId } = principal;
  const found = directory.workspace(organisationId, given)?.id;
  const own = found !== undefined && (principal.workspaceId ?? found) === found;
  switch (use) {
    case 'resource':
      call.place = { ...principal, workspaceId: own ? found : NOWHERE, ...(own ? { visiting: true } : {}) };
      return;
    case 'field':
      fields.workspaceId = same(directory, organisationId, fields.workspaceId, given);
      return;
    case 'slug':
      fields.workspaceSlug = same(directory, organisationId, fields.workspaceSlug, given);
      return;
    case 'organisation':
    case 'inference':
    case 'caller':
      if (!own) throw invalidField(WORKSPACE_FIELD, 'names no workspace of the caller');
      // The data plane asks the principal itself.
      if (use === 'inference') call.principal = { ...principal, workspaceId: found, visiting: true };
      if (use === 'caller') call.place = { ...principal, workspaceId: found, visiting: true };
  }
}

/** The workspace that the call names, wherever it does. @throws GatewayError validation_failed when it names two */
function namedBy(call: Call, field: string | undefined): string | undefined {
  const names = [call.namedWorkspace, checked(call.headers.get('workspace-id')), checked(field)];
  const [first, ...others] = new Set(names.filter((name) => name !== undefined));
  if (others.length > 0)
    throw invalidField(WORKSPACE_FIELD, 'must be the same as the header x-gateway-workspace-id');
  return first;
}

/** @throws GatewayError validation_failed when two names are of two workspaces */
function same(
  directory: Directory,
  organisationId: string,
  field: string | undefined,
  given: string,
): string {
  const idOf = (name: string): string => directory.workspace(organisationId, name)?.id ?? name;
  if (!field) return given;
  if (idOf(field) === idOf(given)) return field;
  throw invalidField(WORKSPACE_FIELD, 'names another workspace than the request does elsewhere');
}
