// The services of analytics over a store alone, called by an organisation's key.
import { AnalyticsGraphsService } from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { Directory } from '../../../src/access/directory.ts';
import type { AnalyticsDeps } from '../../../src/admin/analytics/deps.ts';
import { Call } from '../../../src/call/call.ts';
import { GatewayHeaders, HeaderNames } from '../../../src/lib/gateway-headers.ts';

/** What the services need, of a store. No workspace is looked up. */
export function overStore(store: AnalyticsDeps['store']): AnalyticsDeps {
  return {
    store,
    flush: async () => {},
    directory: new Directory(),
    documents: {} as AnalyticsDeps['documents'],
    now: Date.now,
  };
}

/** A call by a key of the organisation `org-1`. */
export function anyCall(): Call {
  const call = new Call(AnalyticsGraphsService.method.getRequestsGraph, {
    protocol: 'in-process',
    httpMethod: 'GET',
    path: '/analytics',
    remote: '127.0.0.1',
    headers: new GatewayHeaders(new HeaderNames(['x-gateway-']), {}),
  });
  call.principal = {
    organisationId: 'org-1',
    workspaceId: undefined,
    keyId: 'k',
    keyName: 'k',
    kind: 'organisation-service',
    scopes: new Set(['analytics.view']),
  };
  return call;
}
