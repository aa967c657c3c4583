// W3C Trace Context (https://www.w3.org/TR/trace-context/): the headers `traceparent` and `tracestate`, read and
// written. What is malformed is as if it were absent, as the recommendation asks.

/** The parent that a caller names. */
export interface RemoteParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

/** The position of a call in its trace. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Of the call's own span: 16 hexadecimal digits. */
  readonly spanId: string;
  /** The span of the caller; undefined: the call is the trace's root. */
  readonly parentSpanId: string | undefined;
  readonly sampled: boolean;
  /** The caller's, as it came. */
  readonly state: string | undefined;
  /** Whether providers are told. */
  readonly propagates: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
/** Longest tracestate that is carried; the recommendation asks for 512 at the least. */
const MAX_STATE = 512;
const MOST_MEMBERS = 32;
const MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Reads a `traceparent`; undefined when there is none that can be used. */
export function parseTraceparent(text: string | undefined): RemoteParent | undefined {
  if (text === undefined || text.length < 55 || text.length > 255) return undefined;
  const match = TRACEPARENT.exec(text);
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = ''] = match;
  // Version 00 ends after its flags, and ff is forbidden.
  if (version === 'ff' || (version === '00' && text.length !== 55)) return undefined;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** A `tracestate` as it came; undefined when there is none that can be carried. */
export function validTracestate(text: string | undefined): string | undefined {
  if (text === undefined || text.length > MAX_STATE) return undefined;
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  if (members.length === 0 || members.length > MOST_MEMBERS) return undefined;
  if (!members.every((member) => MEMBER.test(member))) return undefined;
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  return keys.size === members.length ? text : undefined;
}

/** A text as a trace's id where it is one in form: 32 hexadecimal digits, or a UUID. */
export function asTraceId(text: string): string | undefined {
  if (text.length !== 32 && text.length !== 36) return undefined;
  const plain = (text.length === 36 ? withoutHyphens(text) : text).toLowerCase();
  return HEX32.test(plain) && plain !== NO_TRACE ? plain : undefined;
}

const HEX32 = /^[0-9a-f]{32}$/;

/** A UUID's digits; the text as it is where it is none. */
function withoutHyphens(uuid: string): string {
  if (uuid[8] !== '-' || uuid[13] !== '-' || uuid[18] !== '-' || uuid[23] !== '-') return uuid;
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24);
}

/** The span's id of something that has a UUID: its first 16 digits. */
export function spanIdOf(uuid: string): string {
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18);
}

/**
 * Headers of a request that a span of the call makes: the caller's own trace context, if it is among them, replaced.
 * @param headers flat pairs
 * @param spanId of the span that makes the request
 */
export function withTraceContext(
  headers: readonly string[],
  { traceId, sampled, state }: TraceContext,
  spanId: string,
): readonly string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!;
    if ((name.length === 11 || name.length === 10) && isTraceHeader(name)) continue;
    kept.push(name, headers[i + 1]!);
  }
  kept.push('traceparent', `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`);
  if (state !== undefined) kept.push('tracestate', state);
  return kept;
}

function isTraceHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return lower === 'traceparent' || lower === 'tracestate';
}

/** Printable ASCII, so that an id can be written into headers and logs as it is. */
const TRACE_ID = /^[\x21-\x7e]{1,255}$/;

/** The text when it can be a trace id. */
export function validTraceId(text: string | undefined): string | undefined {
  return text !== undefined && TRACE_ID.test(text) ? text : undefined;
}
