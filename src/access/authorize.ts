// Whether a principal may call a method: scopes and kinds of the access annotation.
import type { Access } from '../../gen/gateway/options/v2/options_pb.ts';
import { KeyKind as KeyKindProto } from '../../gen/gateway/options/v2/options_pb.ts';
import type { KeyKind, Principal } from '../call/principal.ts';
import { fail } from '../lib/errors.ts';
import { isPerson } from './roles.ts';
import { scopesOf } from './scopes.ts';

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
      const takes = KINDS.filter((kind) => allowed.has(kinds[kind])).map(keyOf);
      if (ofSessions) takes.push('a person who has signed in');
      throw fail(
        'forbidden',
        `${keyOf(principal.kind)} may not call this operation: it takes ${takes.join(' or ')}`,
      );
    }
    if (forPeople && principal.kind === 'workspace-user' && !isPerson(principal)) {
      throw fail('forbidden', 'a key that is nobody’s may not call this operation: it takes a person’s role');
    }
    if (!scopes.some((scope) => principal.scopes.has(scope))) {
      throw fail(
        'forbidden',
        `the key lacks the scope ${scopes.join(' or ')}${whoHolds(principal.kind, scopes)}`,
      );
    }
  };
}

const KINDS = Object.keys(kinds) as readonly KeyKind[];
const NAMES: Readonly<Record<KeyKind, string>> = {
  'organisation-service': 'an admin key (organisation-service)',
  'workspace-service': 'a workspace key (workspace-service)',
  'workspace-user': 'a person’s key (workspace-user)',
};

function keyOf(kind: KeyKind): string {
  return NAMES[kind];
}

/** Which kind of key is meant, where the caller's kind can never have the scopes. */
function whoHolds(kind: KeyKind, scopes: readonly string[]): string {
  const may = (one: KeyKind): boolean => scopes.some((scope) => scopesOf(one).includes(scope));
  if (may(kind)) return `: it is ${keyOf(kind)} that was made without it`;
  const holders = KINDS.filter(may);
  return holders.length === 0
    ? ''
    : `: it is ${keyOf(kind)}, and this operation takes ${holders.map(keyOf).join(' or ')}`;
}
