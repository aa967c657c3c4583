// Who calls: found out from the headers alone, before anything of the body is read.
import type { IncomingMessage } from 'node:http';
import type { Call } from '../call/call.ts';
import type { GatewayError } from '../lib/errors.ts';

/** What judges callers. */
export interface KnownDeps {
  /** Finds out who calls, from the headers alone; false: no valid key. */
  readonly identify: (call: Call) => boolean | Promise<boolean>;
  /** Told of calls without a valid key. @returns why one is refused at once, when too many come from its address */
  readonly refuse: (call: Call, req: IncomingMessage) => GatewayError | undefined;
  /** Told of requests with a valid key. */
  readonly prove: (req: IncomingMessage) => void;
}

/** Whether the caller has a valid key. @throws GatewayError rate_limited */
export function isKnown(deps: KnownDeps, call: Call, req: IncomingMessage): boolean | Promise<boolean> {
  const known = deps.identify(call);
  return typeof known === 'boolean'
    ? judged(deps, call, req, known)
    : known.then((yes) => judged(deps, call, req, yes));
}

/** @throws GatewayError rate_limited for one of too many calls without a valid key */
function judged(deps: KnownDeps, call: Call, req: IncomingMessage, known: boolean): boolean {
  if (known) deps.prove(req);
  else {
    const error = deps.refuse(call, req);
    if (error !== undefined) throw error;
  }
  return known;
}
