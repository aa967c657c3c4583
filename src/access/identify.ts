// Identifies the caller before the body is read: the body of an unauthenticated call is never read.

import type { Call } from '../call/call.ts';
import { readTimeout } from '../lib/request-timeout.ts';
import { authenticate, type Callers } from './authenticate.ts';

/**
 * Whether the headers carry a valid key or token; then the call's `identity` is set. Why not is for the auth interceptor to
 * say. A promise for a token that was not seen before.
 */
export function identify(call: Call, callers: Callers): boolean | Promise<boolean> {
  try {
    const { principal, key, providerCredential } = authenticate(
      call.headers,
      callers,
      call.arrivedAt,
      call.source.connection,
    );
    if (!(principal instanceof Promise)) {
      call.identity = { principal, key, providerCredential };
      return true;
    }
    const verified = principal.then(
      (verified) => {
        call.identity = { principal: verified, key, providerCredential };
        return true;
      },
      () => false,
    );
    return withinCallersTime(call, verified);
  } catch {
    return false;
  }
}

/** Answers false when the caller's own time is up first: the interceptors then end the call with 408. */
function withinCallersTime(call: Call, verified: Promise<boolean>): Promise<boolean> {
  const timeoutMs = timeoutOf(call);
  if (timeoutMs === undefined) return verified;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, timeoutMs - call.elapsedMs()), false);
  });
  return Promise.race([verified, late]).finally(() => clearTimeout(timer));
}

/** A header that cannot be read bounds nothing here; the deadline interceptor refuses it. */
function timeoutOf(call: Call): number | undefined {
  try {
    return readTimeout(call.headers);
  } catch {
    return undefined;
  }
}
