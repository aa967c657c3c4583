// Calls for tests of what works on a call without a gateway around it.
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { Call, type CallSource } from '../../src/call/call.ts';
import type { CallRecord } from '../../src/call/call-record.ts';
import type { Principal } from '../../src/call/principal.ts';
import { GatewayHeaders, HeaderNames } from '../../src/lib/gateway-headers.ts';

const names = new HeaderNames(['x-gateway-']);

export interface GivenCall {
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly principal?: Partial<Principal>;
  readonly record?: Partial<CallRecord>;
  /** Members of the call itself. */
  readonly members?: Partial<
    Pick<Call, 'traceId' | 'arrivedAt' | 'presentedKey' | 'providerCredential' | 'defaultMetadata'>
  >;
  readonly held?: Call['account']['held'];
}

/** A chat completion over REST of a workspace's key. */
export function callWith(given: GivenCall = {}): Call {
  const source: CallSource = {
    protocol: 'rest',
    headers: new GatewayHeaders(names, given.headers ?? {}),
    httpMethod: 'POST',
    path: given.path ?? '/v1/chat/completions',
    remote: '127.0.0.1',
  };
  const call = new Call(ChatService.method.createChatCompletion, source, given.id);
  call.principal = {
    organisationId: 'org',
    workspaceId: 'ws',
    keyId: 'key',
    keyName: 'key',
    kind: 'workspace-service',
    scopes: new Set(),
    ...given.principal,
  };
  call.account.held = given.held;
  Object.assign(call.record, given.record);
  return Object.assign(call, given.members);
}
