// Calls of the control plane as services get them, without a gateway around them.
import { LogsService } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { Call } from '../../../src/call/call.ts';
import type { Principal } from '../../../src/call/principal.ts';
import { GatewayHeaders, HeaderNames } from '../../../src/lib/gateway-headers.ts';

let lastOrganisation = 0;
/** An organisation that no other test has. */
export function freshOrganisation(): string {
  lastOrganisation++;
  return `org-audit-${process.pid}-${lastOrganisation}`;
}

export function principalOf(organisationId: string): Principal {
  return {
    organisationId,
    workspaceId: undefined,
    keyId: 'key-1',
    keyName: 'a key',
    kind: 'organisation-service',
    scopes: new Set(),
  };
}

/** A call by an organisation's key. */
export function callBy(organisationId: string): Call {
  const call = new Call(LogsService.method.listLogs, {
    protocol: 'rest',
    headers: new GatewayHeaders(new HeaderNames(['x-gateway-']), {}),
    httpMethod: 'POST',
    path: '/things',
    remote: '127.0.0.1',
  });
  call.principal = principalOf(organisationId);
  return call;
}
