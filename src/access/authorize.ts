// Whether a principal may call a method: scopes and kinds of the access annotation.
import type { Access } from '../../gen/gateway/options/v2/options_pb.ts';
import { KeyKind as KeyKindProto } from '../../gen/gateway/options/v2/options_pb.ts';
import type { KeyKind, Principal } from '../call/principal.ts';
import { fail } from '../lib/errors.ts';
import { isPerson } from './roles.ts';

const kinds: Readonly<Record<KeyKind, KeyKindProto>> = {
  'organisation-service': KeyKindProto.ORGANISATION_SERVICE,
  'workspace-service': KeyKindProto.WORKSPACE_SERVICE,
  'workspace-user': KeyKindProto.WORKSPACE_USER,
};

/** The check that an access annotation asks for, made once per method. @throws GatewayError forbidden. */
export function accessCheck(access: Access): (principal: Principal) => void {
  const allowed = new Set(access.kinds);
  const { scopes } = access;
  // What services may not do in their workspace is also refused to keys without a person.
  const forPeople = allowed.has(KeyKindProto.WORKSPACE_USER) && !allowed.has(KeyKindProto.WORKSPACE_SERVICE);
  const ofSessions = allowed.has(KeyKindProto.SESSION);
  if (access.authenticated) return () => {};
  return (principal) => {
    const isSession = ofSessions && principal.sessionId !== undefined;
    if (allowed.size > 0 && !isSession && !allowed.has(kinds[principal.kind])) {
      throw fail('forbidden', `a key of the kind ${principal.kind} may not call this operation`);
    }
    if (forPeople && principal.kind === 'workspace-user' && !isPerson(principal)) {
      throw fail('forbidden', 'a key that is nobody’s may not call this operation: it takes a person’s role');
    }
    if (!scopes.some((scope) => principal.scopes.has(scope))) {
      throw fail('forbidden', `the key lacks the scope ${scopes.join(' or ')}`);
    }
  };
}
