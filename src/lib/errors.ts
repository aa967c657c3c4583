// The one table of what can go wrong, and the factories that make errors from it.
// A caller sees the reason, the codes and the message; the log sees the cause too.
import { Code } from '@connectrpc/connect';

interface Row {
  /** HTTP status over REST. */
  readonly http: number;
  /** Status over gRPC and Connect. */
  readonly grpc: Code;
  /** Code of the control plane's AB family (admin-api facts, part 2.2). */
  readonly ab: string;
  /** `error.type` of the OpenAI-style object. */
  readonly type: string;
}

const row = (http: number, grpc: Code, ab: string, type: string): Row => ({ http, grpc, ab, type });

const invalid = 'invalid_request_error';
const upstream = 'upstream_error';

const TABLE = {
  validation_failed: row(400, Code.InvalidArgument, 'AB01', invalid),
  malformed_body: row(400, Code.InvalidArgument, 'AB01', invalid),
  invalid_header: row(400, Code.InvalidArgument, 'AB01', invalid),
  config_invalid: row(400, Code.InvalidArgument, 'AB01', invalid),
  provider_missing: row(400, Code.InvalidArgument, 'AB01', invalid),
  provider_unknown: row(400, Code.InvalidArgument, 'AB01', invalid),
  selection_conflict: row(400, Code.InvalidArgument, 'AB01', invalid),
  host_refused: row(400, Code.InvalidArgument, 'AB01', invalid),
  model_missing: row(400, Code.InvalidArgument, 'AB01', invalid),
  operation_unsupported: row(400, Code.Unimplemented, 'AB01', invalid),
  unauthenticated: row(401, Code.Unauthenticated, 'AB05', 'authentication_error'),
  forbidden: row(403, Code.PermissionDenied, 'AB03', 'permission_error'),
  route_unknown: row(404, Code.Unimplemented, 'AB02', 'not_found_error'),
  not_found: row(404, Code.NotFound, 'AB08', 'not_found_error'),
  method_not_allowed: row(405, Code.Unimplemented, 'AB02', invalid),
  request_timeout: row(408, Code.DeadlineExceeded, 'AB04', 'timeout_error'),
  conflict: row(409, Code.AlreadyExists, 'AB07', 'conflict_error'),
  version_conflict: row(409, Code.Aborted, 'AB07', 'conflict_error'),
  budget_exhausted: row(412, Code.FailedPrecondition, 'AB09', 'budget_exhausted_error'),
  body_too_large: row(413, Code.ResourceExhausted, 'AB01', invalid),
  unsupported_media_type: row(415, Code.InvalidArgument, 'AB01', invalid),
  rate_limited: row(429, Code.ResourceExhausted, 'AB06', 'rate_limit_error'),
  guardrail_denied: row(446, Code.FailedPrecondition, 'AB01', 'hooks_failed'),
  client_closed: row(499, Code.Canceled, 'AB04', 'client_closed_error'),
  internal: row(500, Code.Internal, 'AB04', 'internal_error'),
  upstream_status: row(502, Code.Unavailable, 'AB04', upstream),
  upstream_unreachable: row(502, Code.Unavailable, 'AB04', upstream),
  upstream_interrupted: row(502, Code.Unavailable, 'AB04', upstream),
  upstream_garbage: row(502, Code.Unavailable, 'AB04', upstream),
  upstream_timeout: row(504, Code.DeadlineExceeded, 'AB04', 'timeout_error'),
  overloaded: row(503, Code.Unavailable, 'AB04', 'overloaded_error'),
  circuit_open: row(503, Code.Unavailable, 'AB04', 'unavailable_error'),
  store_unavailable: row(503, Code.Unavailable, 'AB04', 'unavailable_error'),
  key_set_unavailable: row(503, Code.Unavailable, 'AB04', 'unavailable_error'),
  secret_unavailable: row(503, Code.Unavailable, 'AB04', 'unavailable_error'),
} as const satisfies Record<string, Row>;

/** Everything that can go wrong, by name. */
export type Reason = keyof typeof TABLE;

/** One violated rule of a request: the field's path, the rule's id, the rule in words. */
export interface Violation {
  readonly field: string;
  readonly rule: string;
  readonly message: string;
}

/** A rate as it stands, for an answer's headers. */
export interface RateState {
  readonly type: 'requests' | 'tokens' | 'concurrent';
  readonly limit: number;
  readonly remaining: number;
}

/** What an error may carry in addition to its reason and message. */
export interface ErrorDetails {
  /** The field or header at fault. */
  readonly param?: string;
  readonly violations?: readonly Violation[];
  /** The provider that answered or failed. */
  readonly provider?: string;
  /** The provider's own status, which REST keeps. */
  readonly status?: number;
  /** The provider's own error type and code. */
  readonly type?: string;
  readonly code?: string;
  /** What clients of Anthropic's form act on (`error.details`). */
  readonly ownDetails?: OwnDetails;
  readonly retryAfterMs?: number;
  /** What remains of the rates of a call that a limit refused, for the answer's headers. */
  readonly rates?: readonly RateState[];
  /** Further members of the error's body over REST, e.g. hook_results. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** The stream that it broke has ended with an event of its own that tells it. */
  readonly told?: true;
  /** For the log only; never sent. */
  readonly cause?: unknown;
}

/** The details of an error in Anthropic's form. */
export interface OwnDetails {
  readonly error_code: string;
  readonly unsupported?: readonly string[];
}

/** An error that a caller may see. Its cause is for the log only. */
export class GatewayError extends Error {
  readonly reason: Reason;
  readonly details: ErrorDetails;

  constructor(reason: Reason, message: string, facts: ErrorDetails = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'GatewayError';
    this.reason = reason;
    this.details = facts;
  }

  /** HTTP status over REST: the provider's own where it gave one. */
  get status(): number {
    return this.details.status ?? TABLE[this.reason].http;
  }

  /** Status over gRPC and Connect. */
  get code(): Code {
    return this.details.status === undefined ? TABLE[this.reason].grpc : codeOfStatus(this.details.status);
  }

  /** Code of the control plane's AB family. */
  get abCode(): string {
    return TABLE[this.reason].ab;
  }

  /** `error.type` of the OpenAI-style object. */
  get type(): string {
    return this.details.type ?? TABLE[this.reason].type;
  }
}

/** The gRPC code that stands for a provider's HTTP status (after google.rpc.Code's mapping). */
export function codeOfStatus(status: number): Code {
  switch (status) {
    case 401:
      return Code.Unauthenticated;
    case 403:
      return Code.PermissionDenied;
    case 404:
      return Code.NotFound;
    case 408:
    case 504:
      return Code.DeadlineExceeded;
    case 409:
      return Code.Aborted;
    case 412:
    case 446:
      return Code.FailedPrecondition;
    case 413:
    case 429:
      return Code.ResourceExhausted;
    case 499:
      return Code.Canceled;
    case 500:
      return Code.Internal;
    case 501:
      return Code.Unimplemented;
    default:
      return status >= 500 ? Code.Unavailable : Code.InvalidArgument;
  }
}

/** A field or header that is not as the contract asks. */
export function invalidField(field: string, message: string, rule = 'value'): GatewayError {
  return validationFailed([{ field, rule, message }]);
}

/** One or more fields that are not as the contract asks. */
export function validationFailed(violations: readonly Violation[]): GatewayError {
  const text = violations.map((v) => (v.field ? `${v.field}: ${v.message}` : v.message)).join('; ');
  return new GatewayError('validation_failed', text, {
    violations,
    ...(violations[0]?.field ? { param: violations[0].field } : {}),
  });
}

/** A header that cannot be read; the header's canonical name is the param. */
export function invalidHeader(name: string, message: string): GatewayError {
  return new GatewayError('invalid_header', `${name}: ${message}`, {
    param: name,
    violations: [{ field: name, rule: 'header', message }],
  });
}

/** Any reason of the table with its message. */
export function fail(reason: Reason, message: string, facts?: ErrorDetails): GatewayError {
  return new GatewayError(reason, message, facts);
}

/** The same error with the provider named, where it named none. */
export function withProvider(thrown: unknown, provider: string): GatewayError {
  const error = toGatewayError(thrown);
  if (error.details.provider !== undefined || error.reason === 'internal') return error;
  return new GatewayError(error.reason, error.message, { ...error.details, provider, cause: error.cause });
}

/** The same error of a stream that has ended with an event of its own that tells it. */
export function toldAlready({ reason, message, details, cause }: GatewayError): GatewayError {
  return new GatewayError(reason, message, { ...details, told: true, cause });
}

/** Whatever was thrown, as an error that a caller may see: what is not ours becomes `internal`, its text withheld. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal', 'the gateway failed to answer this request', { cause: thrown });
}

/** Whether a call was refused by the gateway for want of room, and may be made again. */
export function isForWantOfRoom({ reason, details }: GatewayError): boolean {
  const isFull = reason === 'rate_limited' || reason === 'overloaded' || reason === 'store_unavailable';
  return isFull && details.provider === undefined;
}
