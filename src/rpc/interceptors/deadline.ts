// Aborts a call when the time that its caller gave it (x-gateway-request-timeout) is up.
import { readTimeout, timedOut } from '../../lib/request-timeout.ts';
import type { Interceptor } from '../handler.ts';

/** The timer ends with the call (`Call.ended`). */
export function deadlineInterceptor(): Interceptor {
  return () => (next) => (input, call) => {
    const timeoutMs = readTimeout(call.headers);
    if (timeoutMs !== undefined) call.expireAfter(timeoutMs, () => timedOut(timeoutMs));
    return next(input, call);
  };
}
