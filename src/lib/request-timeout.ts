// x-gateway-request-timeout: how long a caller gives a whole call, streams included.
import { fail, type GatewayError, invalidHeader } from './errors.ts';
import type { GatewayHeaders } from './gateway-headers.ts';

/** Longest time that a caller may ask for: a day, in milliseconds. */
export const MAX_TIMEOUT_MS = 86_400_000;

/** The header in milliseconds; undefined when absent. @throws GatewayError invalid_header. */
export function readTimeout(headers: GatewayHeaders): number | undefined {
  const text = headers.get('request-timeout');
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (ms < 1 || ms > MAX_TIMEOUT_MS) {
    throw invalidHeader(
      `${headers.names.canonical}request-timeout`,
      `must be a whole number of milliseconds, 1 to ${MAX_TIMEOUT_MS}`,
    );
  }
  return ms;
}

/** The error of a call that has timed out. */
export function timedOut(ms: number): GatewayError {
  return fail('request_timeout', `the request exceeded its timeout of ${ms} ms`);
}
