// Requests to providers and what their answers mean before they are translated.
import type { AbortLike } from '../../lib/abort.ts';
import type { InboundHead, OutboundRequest } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { authHeaders } from '../../providers/auth/index.ts';
import type { Dialect, Target } from '../../providers/dialect.ts';
import { locate } from '../../providers/locate.ts';
import type { OperationName } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { Written } from './write-request.ts';

const USER_AGENT = 'sluice';

/** Tells the provider the attempt's id, for its log and its support (OpenAI's API reference, "Debugging requests"). */
export const ATTEMPT_HEADER = 'x-client-request-id';

/** The located and signed request of an operation. @param attemptId told to the provider */
export function outboundRequest(
  { target, forwarded, stored }: BoundTarget,
  dialect: Dialect,
  operation: OperationName,
  outbound: Written,
  signal: AbortLike,
  attemptId: string,
): OutboundRequest {
  const { origin, path } = locate(target, operation, outbound);
  return {
    origin,
    path,
    method: outbound.method,
    headers: withoutRepeats([
      // A caller that sends its own on keeps it.
      ATTEMPT_HEADER,
      attemptId,
      ...forwarded,
      ...authHeaders(target),
      ...dialect.headers(target),
      ...outbound.headers,
      'accept-encoding',
      'identity',
      'user-agent',
      USER_AGENT,
    ]),
    body: outbound.body,
    signal,
    network: stored?.network,
    localPort: target.provider.localPort,
  };
}

/** The provider's error answer as ours: its status and retry-after kept, its words wrapped and the provider named. */
export function upstreamError(
  target: Target,
  dialect: Dialect,
  head: InboundHead,
  body: Uint8Array,
): GatewayError {
  const { provider } = target;
  if (head.status < 400 || head.status > 599) {
    return fail('upstream_garbage', `${provider.id} answered with status ${head.status}`, {
      provider: provider.id,
    });
  }
  const reported = dialect.error(head.status, body);
  const retryAfterMs = retryAfter(head, Date.now()) ?? reported.retryAfterMs;
  const type = reported.type ?? awsErrorType(head);
  return fail('upstream_status', `${provider.id} error: ${reported.message}`, {
    status: head.status,
    provider: provider.id,
    ...(type === undefined ? {} : { type }),
    ...(reported.code === undefined ? {} : { code: reported.code }),
    ...(reported.param === undefined ? {} : { param: reported.param }),
    ...(reported.ownDetails === undefined ? {} : { ownDetails: reported.ownDetails }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** AWS names the kind of an error in a header, with more behind a colon: "ThrottlingException:http://…". */
function awsErrorType(head: InboundHead): string | undefined {
  const [type = ''] = (head.header('x-amzn-errortype') ?? '').split(':');
  return /^[A-Za-z]{1,64}$/.test(type) ? type : undefined;
}

/** retry-after-ms, or retry-after in seconds or as an HTTP date (RFC 9110, part 10.2.3); at most a day. */
export function retryAfter(head: InboundHead, now: number): number | undefined {
  const ms = head.header('retry-after-ms') ?? head.header('x-ms-retry-after-ms');
  if (ms !== undefined && /^\d{1,9}(\.\d+)?$/.test(ms)) return bounded(Number(ms));
  const text = head.header('retry-after');
  if (text === undefined) return undefined;
  if (/^\d{1,7}(\.\d+)?$/.test(text)) return bounded(Number(text) * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : bounded(Math.max(0, date - now));
}

function bounded(ms: number): number {
  return Math.min(ms, 86_400_000);
}

/**
 * Flat pairs in which a later header replaces an earlier one of the same name: a caller's
 * header never beats ours.
 */
function withoutRepeats(pairs: string[]): readonly string[] {
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    if (isRepeated(pairs, i)) {
      pairs.splice(i, 2);
      i -= 2;
    }
  }
  return pairs;
}

function isRepeated(pairs: readonly string[], at: number): boolean {
  const name = pairs[at]!;
  for (let i = at + 2; i < pairs.length; i += 2) {
    const other = pairs[i]!;
    if (other.length === name.length && (other === name || other.toLowerCase() === name.toLowerCase()))
      return true;
  }
  return false;
}
