// One HTTP exchange with an upstream, within its bounds: redirects are not followed, and its refusals are never shown
// as the gateway's own.
import { Aborter, type AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { Pieces } from '../../lib/incoming/pieces.ts';
import type { McpDeps } from '../deps.ts';
import { ASKED_MS, type Patience } from '../relay/patience.ts';
import { restExchange } from '../rest/rest-exchange.ts';
import { agentOf } from './agent.ts';
import { unlessDripping } from './dripping.ts';
import type { Target } from './target.ts';
import { soon, unlessSilent } from './unless-silent.ts';

export interface UpstreamRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Flat pairs of the protocol. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly signal: AbortLike;
  /** May be sent twice: a connection that the server closed while it was idle is found out by sending. */
  readonly isSafe?: boolean;
  /** Whether the server waits for what it has asked the user. */
  readonly patience?: Patience | undefined;
}

/** How long a body may be silent here: its readers have bounds of their own. */
const QUIET_MS = 86_400_000;

/** @throws GatewayError host_refused, upstream_* */
export async function exchange(
  deps: Pick<McpDeps, 'dialer' | 'bounds' | 'lines' | 'programs'>,
  target: Target,
  request: UpstreamRequest,
): Promise<StreamedAnswer> {
  if (target.rest !== undefined) return restExchange(deps, target.rest, target, request);
  if (target.isProgram) return deps.programs.exchange(target, request);
  const answer = await (target.isSse
    ? deps.lines.exchange(target, request)
    : sentSafely(deps, target, request));
  if (answer.status >= 300 && answer.status < 400) {
    await dropped(answer);
    throw fail(
      'upstream_garbage',
      `the MCP server answered with a redirect (${answer.status}), which is not followed`,
    );
  }
  return answer;
}

async function sentSafely(
  deps: Pick<McpDeps, 'dialer' | 'bounds'>,
  target: Target,
  request: UpstreamRequest,
): Promise<StreamedAnswer> {
  try {
    return await sent(deps, target, request);
  } catch (thrown) {
    const isClosed = thrown instanceof GatewayError && thrown.reason === 'upstream_unreachable';
    if (!request.isSafe || !isClosed) throw thrown;
    return sent(deps, target, request);
  }
}

async function sent(
  deps: Pick<McpDeps, 'dialer' | 'bounds'>,
  target: Target,
  request: UpstreamRequest,
): Promise<StreamedAnswer> {
  const { patience, signal } = request;
  const { silenceMs } = deps.bounds;
  if (patience === undefined) return dialed(deps, target, request, silenceMs);
  // A server that answers with JSON sends not even a head while it asks.
  const aborter = new Aborter();
  const leave = (): void => aborter.abort(signal.reason as Error);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave);
  try {
    const head = dialed(deps, target, { ...request, signal: aborter }, ASKED_MS);
    return await soon(head, {
      boundMs: () => patience.boundMs(silenceMs),
      notBefore: () => patience.answeredAt,
    });
  } catch (thrown) {
    aborter.abort(thrown as Error);
    throw thrown;
  }
}

function dialed(
  { dialer }: Pick<McpDeps, 'dialer'>,
  target: Target,
  { method, headers, body, signal }: UpstreamRequest,
  headTimeoutMs: number,
): Promise<StreamedAnswer> {
  return dialer.stream({
    origin: target.origin,
    path: target.path,
    method,
    headers: [...target.headers, ...headers, 'accept-encoding', 'identity', ...agentOf(target.headers)],
    body,
    signal,
    headTimeoutMs,
    idleTimeoutMs: QUIET_MS,
  });
}

/** Gives up the rest of an answer. */
export async function dropped(answer: StreamedAnswer): Promise<void> {
  await answer.body[Symbol.asyncIterator]().return?.();
}

/** The whole body. @throws GatewayError upstream_garbage for one over the bound */
export async function wholeText(answer: StreamedAnswer, most: number, silenceMs: number): Promise<Buffer> {
  const coding = answer.header('content-encoding') ?? 'identity';
  if (coding !== '' && coding.toLowerCase() !== 'identity') {
    await dropped(answer);
    throw fail('upstream_garbage', 'the MCP server encoded its answer although it was not asked to');
  }
  const pieces = new Pieces(true);
  const check = unlessDripping(silenceMs);
  for await (const piece of unlessSilent(answer.body, { boundMs: () => silenceMs })) {
    check(piece);
    pieces.push(piece);
    if (pieces.bytes > most)
      throw fail('upstream_garbage', `the MCP server sent an answer over ${most} bytes`);
  }
  return pieces.take();
}

/** `json`, `events`, or undefined for any other type. */
export function formOf(answer: StreamedAnswer): 'json' | 'events' | undefined {
  const type = (answer.header('content-type') ?? '').toLowerCase();
  if (/^text\/event-stream\b/.test(type)) return 'events';
  return /^application\/(?:[\w.+-]+\+)?json\b/.test(type) ? 'json' : undefined;
}
