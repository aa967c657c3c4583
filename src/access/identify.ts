// Identifies the caller before the body is read: the body of an unauthenticated call is never read.

import type { Call } from '../call/call.ts';
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
    return principal.then(
      (verified) => {
        call.identity = { principal: verified, key, providerCredential };
        return true;
      },
      () => false,
    );
  } catch {
    return false;
  }
}
