// The name under which an answer is kept: a digest over everything that changes it, and over whose it is.
import { createHash, createHmac } from 'node:crypto';
import { nextTurn } from '../../lib/time-slices.ts';
import type { Target } from '../../providers/dialect.ts';
import { canonicalJsonInTurns } from './canonical-json.ts';

/** What a call is to its provider and to us, before anything is sent. */
export interface CacheSubject {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
  readonly target: Target;
  /** The operation's name, e.g. "chat". */
  readonly operation: string;
  /** The model that is asked for. */
  readonly model: string;
  /**
   * The request in the form that asks for a whole answer, located and not signed. For a call that streams it is the
   * same one, so that both find each other's answers.
   */
  readonly request: SubjectRequest;
  /** What the answer passes before it is kept, where it passes anything. */
  readonly guardrails?: string | undefined;
  /** The call's metadata: part of the key, unless the config names a namespace. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface SubjectRequest {
  readonly method: string;
  readonly origin: string;
  /** With its query. */
  readonly path: string;
  /** Flat pairs: the dialect's, the operation's and those of the caller that go on. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | undefined;
}

/** Members that say how an answer comes, not what it is. */
const DELIVERY: ReadonlySet<string> = new Set(['stream', 'stream_options']);
/** Headers that follow a call about or carry it, and change no answer. */
const TRACING =
  /^(traceparent|tracestate|baggage|b3|x-b3-.+|x-request-id|x-correlation-id|x-amzn-trace-id|x-cloud-trace-context|user-agent|accept|accept-encoding|idempotency-key)$/;

/**
 * The key of a call's answer: 64 hexadecimal digits.
 *
 * | part | in the key | why |
 * |---|---|---|
 * | organisation, workspace | yes | one tenant never reads what another asked |
 * | metadata, or the namespace in its place | yes | callers keep apart what they label apart; a namespace joins or parts by choice |
 * | operation, dialect, strictness | yes | the same answer is told in other words |
 * | provider, method, host, path and query | yes | another server, region, deployment or version answers otherwise |
 * | credential, provider's options | yes | another account may see other models, files or policies; and who lost a key reads nothing |
 * | headers that go on, but those of tracing | yes | beta flags and their like change answers; a trace id would make every call another |
 * | guardrails of the answer | yes | what is kept is what they left, and passed them and no others |
 * | model | yes | deployments name it outside of the body |
 * | body, canonical | yes | member order, white space and spelling of numbers and strings do not count; numbers are not rounded (above 1 MiB: its bytes) |
 * | `stream`, `stream_options` | no | the same answer, told at once or in pieces |
 * | the caller's key, user and address | no | one workspace shares its answers |
 *
 * Only the digest leaves this function. With `secret` it is an HMAC-SHA256, so that who sees keys cannot test
 * guesses of a credential against them; without, SHA-256.
 */
export async function cacheKey(
  subject: CacheSubject,
  namespace: string | undefined,
  secret: Uint8Array | undefined,
): Promise<string> {
  return digest(['answer', ...parts(subject, namespace), await bodyText(subject.request.body)], secret);
}

/** As `cacheKey`, for the calls that differ in one text alone: `body` is the rest of the body, `more` what else must agree. */
export function scopeKey(
  subject: CacheSubject,
  namespace: string | undefined,
  secret: Uint8Array | undefined,
  body: string,
  more: readonly string[],
): string {
  return digest(['scope', ...parts(subject, namespace), body, ...more], secret);
}

function parts(subject: CacheSubject, namespace: string | undefined): unknown[] {
  const { target, request } = subject;
  return [
    1,
    subject.organisationId,
    subject.workspaceId ?? null,
    namespace === undefined ? sorted(subject.metadata) : namespace,
    subject.operation,
    target.provider.dialect,
    target.strict,
    target.provider.id,
    request.method,
    request.origin,
    request.path,
    target.apiKey ?? null,
    sorted(target.options),
    answerHeaders(request.headers),
    subject.model,
    ...(subject.guardrails ? [subject.guardrails] : []),
  ];
}

/** Framed as a JSON array: no two lists of parts give the same text. */
function digest(list: readonly unknown[], secret: Uint8Array | undefined): string {
  const hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret);
  return hash.update(JSON.stringify(list)).digest('hex');
}

function sorted(members: Readonly<Record<string, string>>): (readonly [string, string])[] {
  return Object.entries(members).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Pairs by lower-case name; several of one name in their order. */
function answerHeaders(flat: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = flat[i]!.toLowerCase();
    if (!TRACING.test(name)) pairs.push([name, flat[i + 1]!]);
  }
  return pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Longer bodies count as the bytes that they are: a canonical form of megabytes would take too long. */
export const MAX_CANONICAL_BYTES = 1024 * 1024;
/** Bytes that are hashed in one turn of the event loop. */
const TURN_BYTES = 4 * 1024 * 1024;

/** The body as it counts. Bytes that are no text count as bytes: decoded, different ones would look the same. */
async function bodyText(body: string | Uint8Array | undefined): Promise<string | null> {
  if (body === undefined) return null;
  if (body.length > MAX_CANONICAL_BYTES) return bytesText(body);
  const text = bodyString(body);
  if (typeof body !== 'string' && text.includes('\ufffd')) return bytesText(body);
  return (await canonicalJsonInTurns(text, withoutDelivery)) ?? text;
}

async function bytesText(body: string | Uint8Array): Promise<string> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += TURN_BYTES) {
    if (at > 0) await nextTurn();
    hash.update(bytes.subarray(at, at + TURN_BYTES));
  }
  return `bytes ${hash.digest('hex')}`;
}

/** The body's text. */
export function bodyString(body: string | Uint8Array): string {
  return typeof body === 'string'
    ? body
    : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}

/** Leaves out what says only how the answer comes. */
export function withoutDelivery(name: string, canonical: string): string | undefined {
  return DELIVERY.has(name) ? undefined : canonical;
}
