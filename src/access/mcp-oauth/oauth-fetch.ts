// The firewalled fetch of OAuth at servers outside: bounded in time and bytes, and a redirect is an error.
import { type DialedFetchOptions, dialedFetch } from '../../lib/egress/dialed-fetch.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';

/** Longest wait for each answer, in milliseconds. */
export const STEP_MS = 10_000;
const FETCH = { headTimeoutMs: STEP_MS, idleTimeoutMs: STEP_MS, maxBytes: 256 * 1024 };

export interface OauthFetch {
  readonly fetch: typeof fetch;
  /** What the firewall or the network refused so far: the library may go on after it. */
  readonly failures: readonly GatewayError[];
}

/** @param wholeMs for all requests together */
export function oauthFetch(dialer: Pick<Dialer, 'stream'>, wholeMs: number = 3 * STEP_MS): OauthFetch {
  const failures: GatewayError[] = [];
  const options: DialedFetchOptions = {
    ...FETCH,
    headers: { 'user-agent': 'sluice-gateway' },
    signal: AbortSignal.timeout(wholeMs),
  };
  const dialed = dialedFetch(dialer, options);
  return {
    failures,
    async fetch(input, init) {
      try {
        const answer = await dialed(input, init);
        if (answer.status < 300 || answer.status >= 400) return answer;
        await answer.body?.cancel();
        throw fail(
          'upstream_garbage',
          `the authorization server redirects (${answer.status}): that is not followed`,
        );
      } catch (error) {
        if (error instanceof GatewayError) failures.push(error);
        throw error;
      }
    },
  };
}
