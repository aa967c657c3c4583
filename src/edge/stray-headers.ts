// Ids for an answer to a request that never became a call: every answer carries them.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';

export function strayHeaders(names: HeaderNames, req: IncomingMessage): [string, string][] {
  const prefix = new GatewayHeaders(names, req.headers).callerPrefix;
  return [
    [`${prefix}request-id`, randomUUID()],
    [`${prefix}trace-id`, randomUUID()],
  ];
}
