// Errors of the protocol: a JSON-RPC code, and the HTTP status of an answer that has not begun.
import { GatewayError, type Reason, toGatewayError } from '../../lib/errors.ts';

export type RequestId = string | number;

/** Codes of the protocol and of JSON-RPC 2.0. */
export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Anything else that the gateway refuses; `data.reason` says why. */
  refused: -32000,
  noSession: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  urlElicitation: -32042,
} as const;

export interface McpErrorDetails {
  readonly id?: RequestId | null;
  /** HTTP status; 400 when absent. */
  readonly status?: number;
  readonly data?: unknown;
  /** Headers of an answer that has not begun. */
  readonly headers?: readonly (readonly [string, string])[];
}

/** Reasons of the books, by the HTTP status of the answer. */
const REASONS: Readonly<Record<number, Reason>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'body_too_large',
  502: 'upstream_status',
};

/** An error of the protocol. As any error of the gateway's it passes the interceptors as it is. */
export class McpError extends GatewayError {
  readonly rpcCode: number;
  readonly rpc: McpErrorDetails;

  constructor(code: number, message: string, rpc: McpErrorDetails = {}) {
    super(REASONS[rpc.status ?? 400] ?? 'validation_failed', message, { status: rpc.status ?? 400 });
    this.name = 'McpError';
    this.rpcCode = code;
    this.rpc = rpc;
  }

  /** The error as a response to a request. */
  text(id: RequestId | null = this.rpc.id ?? null): string {
    const { data } = this.rpc;
    const error = { code: this.rpcCode, message: this.message, ...(data === undefined ? {} : { data }) };
    return JSON.stringify({ jsonrpc: '2.0', id, error });
  }
}

/** Codes of what the gateway refuses or fails at. */
const CODES: Partial<Readonly<Record<Reason, number>>> = {
  malformed_body: RPC.parse,
  validation_failed: RPC.invalidParams,
  not_found: RPC.invalidParams,
  route_unknown: RPC.refused,
  upstream_garbage: RPC.internal,
  upstream_interrupted: RPC.internal,
  upstream_status: RPC.internal,
  upstream_timeout: RPC.internal,
  upstream_unreachable: RPC.internal,
  internal: RPC.internal,
};

/** What is told of an upstream: never its address, which the integration's owner alone knows. */
const WORDS: Partial<Readonly<Record<Reason, string>>> = {
  host_refused: 'the address of the MCP server may not be called from here',
  upstream_garbage: 'the MCP server sent what is no answer of the protocol',
  upstream_interrupted: 'the MCP server broke off in the middle of its answer',
  upstream_timeout: 'the MCP server did not answer in time',
  upstream_unreachable: 'the MCP server cannot be reached',
};

/** Whatever was thrown, as an error of the protocol; what is not meant for callers stays in the log. */
export function toMcpError(thrown: unknown, id: RequestId | null): McpError {
  if (thrown instanceof McpError) return thrown.rpc.id === undefined ? withId(thrown, id) : thrown;
  const error = toGatewayError(thrown);
  const { retryAfterMs, members } = error.details;
  const data = {
    reason: error.reason,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: Math.ceil(retryAfterMs) }),
    ...members,
  };
  const headers: (readonly [string, string])[] =
    retryAfterMs === undefined ? [] : [['retry-after', String(Math.ceil(retryAfterMs / 1000))]];
  const code = CODES[error.reason] ?? RPC.refused;
  // A tool that is not there is an answer of the protocol, not of HTTP.
  const status = error.reason === 'not_found' && error.details.status === undefined ? 200 : error.status;
  const words = WORDS[error.reason];
  const message = words === undefined || error.message.startsWith('the MCP server ') ? error.message : words;
  return new McpError(code, message, { id, status, data, headers });
}

function withId({ rpcCode, message, rpc }: McpError, id: RequestId | null): McpError {
  return new McpError(rpcCode, message, { ...rpc, id });
}
