// Errors as REST bodies: two shapes by plane, both with the OpenAI-style object that
// every SDK reads (house.md, part 7), and those of Anthropic, Google and AWS on the routes of their APIs.
import { Form, Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import type { GatewayError } from '../lib/errors.ts';
import { bedrockError, geminiError } from './native-errors.ts';

/** Which shape an error has. */
export interface ErrorShape {
  readonly plane: Plane;
  /**
   * For a caller under an alias prefix: its family's SDKs read the text of an error from `message`, which the control
   * plane's shape does not have.
   */
  readonly aliased?: boolean;
  /** The published form of the route; absent: OpenAI's. */
  readonly form?: Form;
  /** Of the call, for forms that have it in the body. */
  readonly requestId?: string;
}

/** The body of an error answer, or of the error event inside a stream. */
export function errorBody(error: GatewayError, shape: ErrorShape): Record<string, unknown> {
  const { details } = error;
  switch (shape.form) {
    case Form.MESSAGES:
      return messagesError(error, shape.requestId);
    case Form.GEMINI:
      return geminiError(error);
    case Form.BEDROCK:
      return bedrockError(error);
    default:
  }
  const common = {
    error: {
      message: error.message,
      type: error.type,
      param: details.param ?? null,
      code: details.code ?? error.reason,
    },
    ...(details.provider === undefined ? {} : { provider: details.provider }),
    ...(details.violations === undefined ? {} : { errors: details.violations }),
    ...details.members,
  };
  return shape.plane === Plane.CONTROL
    ? {
        success: false,
        data: { message: error.message, errorCode: error.abCode },
        ...(shape.aliased ? { message: error.message } : {}),
        ...common,
      }
    : { status: 'failure', message: error.message, ...common };
}

/** Anthropic's types of errors by status (Anthropic API reference, "Errors"). */
const TYPES: Readonly<Record<number, string>> = Object.freeze({
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  412: 'billing_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
});
const KNOWN: ReadonlySet<string> = new Set([...Object.values(TYPES), 'invalid_request_error', 'api_error']);

/** `{"type": "error", "error": {"type", "message"}, "request_id"}`, and what the gateway has to add. */
function messagesError(error: GatewayError, requestId: string | undefined): Record<string, unknown> {
  const { details, status } = error;
  const own = details.type !== undefined && KNOWN.has(details.type) ? details.type : undefined;
  // Services of OpenAI's form say it of keys and quotas, too.
  const isVague = own === 'invalid_request_error';
  // The gateway's own 412 is a budget that is spent; a provider's is a condition of the request.
  const byStatus = status === 412 && error.reason === 'upstream_status' ? undefined : TYPES[status];
  const type =
    (isVague ? byStatus : undefined) ??
    own ??
    byStatus ??
    (status < 500 ? 'invalid_request_error' : 'api_error');
  return {
    type: 'error',
    error: {
      type,
      message: error.message,
      ...(details.ownDetails === undefined ? {} : { details: details.ownDetails }),
    },
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(details.provider === undefined ? {} : { provider: details.provider }),
    ...(details.violations === undefined ? {} : { errors: details.violations }),
    ...details.members,
  };
}
