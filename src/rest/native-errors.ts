// Errors in the forms of Google and AWS.
import type { GatewayError } from '../lib/errors.ts';

/** Google's canonical codes by status (Google APIs, "Error model"). */
const STATUSES: Readonly<Record<number, string>> = Object.freeze({
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  412: 'RESOURCE_EXHAUSTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  446: 'FAILED_PRECONDITION',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
});

/** `{"error": {"code", "message", "status", "details"}}`, and what the gateway has to add. */
export function geminiError({ status, message, details, reason }: GatewayError): Record<string, unknown> {
  const own = details.type !== undefined && /^[A-Z][A-Z_]{2,}$/.test(details.type) ? details.type : undefined;
  const word = own ?? STATUSES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
  const fields = details.violations?.map(({ field, message: description }) => ({ field, description }));
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: details.code ?? reason };
  const bad = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: fields };
  return {
    error: { code: status, message, status: word, details: fields === undefined ? [info] : [info, bad] },
    ...(details.provider === undefined ? {} : { provider: details.provider }),
    ...(details.violations === undefined ? {} : { errors: details.violations }),
    ...details.members,
  };
}

/** Bedrock's exceptions by status (Bedrock Runtime, "Common errors"). */
const EXCEPTIONS: Readonly<Record<number, string>> = Object.freeze({
  400: 'ValidationException',
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  412: 'ServiceQuotaExceededException',
  413: 'ValidationException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
  504: 'ModelTimeoutException',
});

/** The exception's name. */
export function exceptionName({ status, details }: GatewayError): string {
  if (details.type !== undefined && /^[A-Z][A-Za-z]+Exception$/.test(details.type)) return details.type;
  return EXCEPTIONS[status] ?? (status < 500 ? 'ValidationException' : 'InternalServerException');
}

/** `{"__type", "message"}`, and what the gateway has to add. */
export function bedrockError(error: GatewayError): Record<string, unknown> {
  const { details, message, reason } = error;
  return {
    __type: exceptionName(error),
    message,
    code: details.code ?? reason,
    ...(details.provider === undefined ? {} : { provider: details.provider }),
    ...(details.violations === undefined ? {} : { errors: details.violations }),
    ...details.members,
  };
}
