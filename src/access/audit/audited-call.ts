// What an audit entry records of a call: who, where from, which action.

import type { DescMethod } from '@bufbuild/protobuf';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { ActorType, AuditActor, AuditRecord } from './entry.ts';
import { maskText } from './secrets.ts';

/** How a call's parts are read. */
export interface CallReaders {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** The caller's address: the peer's, or what a trusted proxy says. */
  readonly addressOf: (call: Call) => string;
  /** The person a principal acts for as people know them, and their role; undefined when nothing is known. */
  readonly userOf?: ((principal: Principal) => { name: string; role: string } | undefined) | undefined;
}

/** Everything but the target, the outcome and the changes. */
export type AuditedCall = Pick<
  AuditRecord,
  | 'at'
  | 'actor'
  | 'action'
  | 'resourceType'
  | 'requestId'
  | 'operation'
  | 'protocol'
  | 'method'
  | 'path'
  | 'clientIp'
>;

/** The action of a method that is audited as none: only the request of an unknown caller is recorded. */
export const AUTHENTICATE = 'authenticate';

/** @param principal who it is told of; the call's own unless it was refused as such */
export function auditedCall(
  call: Call,
  { now, addressOf, userOf }: CallReaders,
  principal: Principal | undefined = call.principal,
  method: DescMethod = call.method,
): AuditedCall {
  const { source } = call;
  const { audit } = annotationsOf(method);
  return {
    at: now(),
    actor: principal === undefined ? ANONYMOUS : actorOf(principal, userOf?.(principal)),
    action: audit.none ? AUTHENTICATE : audit.verb,
    resourceType: audit.resource,
    requestId: call.id,
    operation: `${method.parent.typeName}/${method.name}`,
    protocol: source.protocol,
    method: source.httpMethod,
    path: maskText(source.path),
    clientIp: addressOf(call),
  };
}

const ANONYMOUS: AuditActor = { type: 'anonymous', id: '', name: '', keyId: '', role: '' };

/** The gateway itself. */
const SYSTEM: AuditActor = { type: 'system', id: '', name: 'gateway', keyId: '', role: '' };

/** What is recorded of an action that the gateway does on its own, or by a command of its operator. */
export function systemAction(
  at: number,
  action: string,
  resourceType: string,
  target: AuditRecord['target'],
): AuditRecord {
  return {
    at,
    actor: SYSTEM,
    action,
    resourceType,
    target,
    workspaceId: '',
    outcome: 'allowed',
    reason: '',
    detail: '',
    statusCode: 200,
    requestId: '',
    operation: '',
    protocol: 'command',
    method: '',
    path: '',
    clientIp: '',
    changes: [],
    changesTruncated: false,
  };
}

/** A person of the directory, a person known only to the issuer of their token, or a service's key. */
function actorOf(principal: Principal, user: { name: string; role: string } | undefined): AuditActor {
  const { userId, keyId, keyName, kind, token } = principal;
  const person = userId ?? token?.user;
  const type: ActorType = person === undefined ? 'api_key' : 'user';
  const role = user?.role ?? token?.role ?? kind;
  return { type, id: person ?? keyId, name: user?.name ?? keyName, keyId, role };
}
