// What undici, the sockets and TLS throw, as errors that a caller may see. Addresses stay in the cause.
import { fail, GatewayError } from '../errors.ts';

/** How far an exchange had come when it failed. */
export type Phase = 'before_answer' | 'in_head' | 'in_body';

/**
 * @param host what the caller named
 * @param phase whether bytes of the answer, or its whole head, had arrived
 * @param proves whether a client certificate was there to be shown; undefined: the call is an ordinary one
 */
export function upstreamError(error: unknown, host: string, phase: Phase, proves?: boolean): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : '';
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') {
    return fail('overloaded', 'the gateway is shutting down', { cause: error });
  }
  if (
    code === 'UND_ERR_INVALID_ARG' ||
    code === 'UND_ERR_NOT_SUPPORTED' ||
    code.startsWith('UND_ERR_REQ_CONTENT')
  ) {
    return fail('validation_failed', `the request to ${host} cannot be sent: ${message}`, { cause: error });
  }
  if (isTimeout(code))
    return fail('upstream_timeout', `${host} did not accept a connection in time`, { cause: error });
  if (isGarbage(code, message, phase)) {
    return fail('upstream_garbage', `${host} sent an answer that is not valid HTTP`, { cause: error });
  }
  if (phase !== 'before_answer') {
    return fail('upstream_interrupted', `${host} broke off in the middle of its answer`, { cause: error });
  }
  return fail('upstream_unreachable', `${host} cannot be reached: ${inWords(code, proves)}`, {
    cause: error,
  });
}

/** Whether a connection was closed by the other side with no byte of an answer. */
export function isClosedEarly(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === 'ECONNRESET' ||
    code === 'EPIPE' ||
    (code === 'UND_ERR_SOCKET' && !(error instanceof Error && isNonsense(error.message)))
  );
}

/** Codes that mean that connecting took too long. */
export function isTimeout(code: string): boolean {
  return code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' || code === 'TimeoutError';
}

/** The error's code, or its name where it has none. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : '';
}

/** Undici's message for unsolicited bytes, an unsolicited 100 Continue or an unsolicited upgrade. */
function isNonsense(message: string): boolean {
  return message === 'bad response' || message === 'bad upgrade';
}

function isGarbage(code: string, message: string, phase: Phase): boolean {
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return true;
  if (code === 'UND_ERR_SOCKET') return isNonsense(message);
  if (code !== 'HTTPParserError' && !code.startsWith('HPE_')) return false;
  // A chunked body that ends early is a parser error too, but it is a cut and no garbage. Undici 8.12 leaves the
  // code of its parser errors empty: only the text tells which one it is.
  return phase === 'before_answer' || !message.includes('Invalid EOF state');
}

function inWords(code: string, proves: boolean | undefined): string {
  if (code.endsWith('_ALERT_HANDSHAKE_FAILURE')) return `the TLS handshake was refused${inDoubt(proves)}`;
  if (isClientRefused(code))
    return proves ? 'it does not accept the client certificate' : 'it asks for a client certificate';
  switch (code) {
    case 'ECONNREFUSED':
      return 'the connection was refused';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
    case 'EAI_NODATA':
      return 'the name does not resolve';
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return 'there is no route';
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return `the connection was closed without an answer${inDoubt(proves)}`;
    default:
      return isCertificate(code) ? 'its certificate is not trusted' : 'the connection failed';
  }
}

/** Many servers refuse a certificate, or the lack of one, by closing the connection after the handshake. */
function inDoubt(proves: boolean | undefined): string {
  if (proves === undefined) return '';
  return proves ? ': it may not accept the client certificate' : ': it may ask for a client certificate';
}

/** TLS alerts by which a server refuses the certificate that it was shown, or the lack of one. */
function isClientRefused(code: string): boolean {
  return /^ERR_SSL_.*_ALERT_(?:\w*CERTIFICATE\w*|UNKNOWN_CA)$/.test(code);
}

function isCertificate(code: string): boolean {
  return /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO/.test(code);
}
