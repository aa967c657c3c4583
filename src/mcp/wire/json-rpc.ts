// JSON-RPC 2.0 as the Model Context Protocol uses it: one message at a time (batches ended with revision 2025-06-18).
import { McpError, type RequestId } from './mcp-error.ts';

export type { RequestId };

/** A JSON object as it was parsed. */
export type JsonObject = Readonly<Record<string, unknown>>;

export interface RpcRequest {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: JsonObject;
}

export interface RpcNotification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: JsonObject;
}

export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface RpcResponse {
  readonly jsonrpc: '2.0';
  readonly id: RequestId | null;
  readonly result?: JsonObject;
  readonly error?: RpcErrorBody;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

/** Longest id and method, in UTF-16 units. */
const MOST_ID = 1024;
const MOST_METHOD = 256;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isRequest(message: RpcMessage): message is RpcRequest {
  return 'method' in message && 'id' in message;
}

export function isResponse(message: RpcMessage): message is RpcResponse {
  return !('method' in message);
}

/** The id to answer with, where a value has one that can be repeated. */
export function idOf(value: unknown): RequestId | null {
  if (!isObject(value) || !Object.hasOwn(value, 'id')) return null;
  return isId(value.id) ? value.id : null;
}

/**
 * A message of a client. Unknown top-level members are dropped: only members of the protocol are forwarded.
 * @throws McpError -32600 (HTTP 400)
 */
export function readMessage(value: unknown): RpcMessage {
  if (Array.isArray(value)) throw invalid('batches are not taken: send one message in each request', null);
  if (!isObject(value)) throw invalid('a message must be an object', null);
  const id = idOf(value);
  if (value.jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0"', id);
  if (Object.hasOwn(value, 'method')) return readCall(value, id);
  return readResponse(value, id);
}

function readCall(value: JsonObject, id: RequestId | null): RpcRequest | RpcNotification {
  const { method, params } = value;
  if (typeof method !== 'string' || method === '' || method.length > MOST_METHOD)
    throw invalid(`method must be a text of 1 to ${MOST_METHOD} characters`, id);
  if (Object.hasOwn(value, 'id') && id === null)
    throw invalid(`id must be a whole number, or a text of at most ${MOST_ID} characters`, null);
  if (Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error'))
    throw invalid('a message with a method has neither result nor error', id);
  if (params !== undefined && !isObject(params)) throw invalid('params must be an object', id);
  // Without an id a call would be made that nothing counts, checks or logs.
  if (id === null && !method.startsWith('notifications/'))
    throw invalid(`${method.slice(0, 64)} is a request, and needs an id`, null);
  const rest = params === undefined ? { method } : { method, params };
  return id === null ? { jsonrpc: '2.0', ...rest } : { jsonrpc: '2.0', id, ...rest };
}

function readResponse(value: JsonObject, id: RequestId | null): RpcResponse {
  if (id === null) throw invalid('a message needs a method, or the id of the request that it answers', null);
  const hasResult = Object.hasOwn(value, 'result');
  if (hasResult === Object.hasOwn(value, 'error')) throw invalid('a response has a result or an error', id);
  if (hasResult) {
    if (!isObject(value.result)) throw invalid('result must be an object', id);
    return { jsonrpc: '2.0', id, result: value.result };
  }
  const { error } = value;
  if (!isErrorBody(error)) throw invalid('error must have a whole number as its code, and a message', id);
  return { jsonrpc: '2.0', id, error };
}

export function isErrorBody(value: unknown): value is RpcErrorBody & JsonObject {
  return isObject(value) && Number.isSafeInteger(value.code) && typeof value.message === 'string';
}

function isId(value: unknown): value is RequestId {
  if (typeof value === 'string') return value.length <= MOST_ID;
  return Number.isSafeInteger(value);
}

function invalid(message: string, id: RequestId | null): McpError {
  return new McpError(-32600, `Invalid request: ${message}`, { id });
}
