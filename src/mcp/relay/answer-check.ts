// Messages of an upstream, read before they are passed on: each must be one of the protocol, lists are filtered, and
// the one response that ends the exchange is for the request that was sent.
import { fail, type GatewayError } from '../../lib/errors.ts';
import { isTooDeep } from '../../lib/json-depth.ts';
import { isFaithful } from '../../rest/faithful-json.ts';
import { isTooHeavy } from '../../rest/json-weight.ts';
import {
  noticeWithOwnTasks,
  responseWithOwnTasks,
  resumedWithOwnTasks,
  type ToldTasks,
} from '../tasks/told-tasks.ts';
import { filteredList, isNoticeShown, LISTS, type Switched } from '../visibility.ts';
import type { Era } from '../wire/eras.ts';
import {
  isErrorBody,
  isObject,
  isResponse,
  type JsonObject,
  type RequestId,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse,
} from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';

/** What becomes of a message. */
export interface Checked {
  /** The text to pass on; undefined: it is left out. */
  readonly text: string | undefined;
  /** It answers the request. */
  readonly response: RpcResponse | undefined;
  /** It asks something of the client. */
  readonly request?: RpcRequest;
}

/** What is waited for. */
export interface Expected {
  readonly server: Switched;
  readonly era: Era;
  /** Undefined: a stream of notices, which holds no response. */
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly told: ToldTasks;
  /** Of a stream of notices: guardrails check results of some tools, which are told within their calls alone. */
  readonly checksResults?: boolean;
}

/** @throws GatewayError upstream_garbage */
export async function checkedMessage(text: string, expected: Expected): Promise<Checked> {
  const message = await upstreamMessage(text);
  if (!isResponse(message)) {
    // From 2026-07-28 on servers ask nothing: what they need is in their results.
    if ('id' in message && expected.era === 'modern') throw garbage('asked something of the client');
    const own = noticeWithOwnTasks(message, expected.told);
    const isShown = own !== undefined && isNoticeShown(expected.server, own);
    const asks = own !== undefined && 'id' in own ? { request: own } : {};
    const shown = own === message ? faithful(text, message) : JSON.stringify(own);
    return { text: isShown ? shown : undefined, response: undefined, ...asks };
  }
  if (expected.id === undefined) {
    // A stream that is resumed may bring the response of an earlier request.
    const own = resumedResponse(resumedWithOwnTasks(message, expected.told), expected);
    return { text: own === message ? faithful(text, message) : JSON.stringify(own), response: undefined };
  }
  if (message.id !== expected.id && !(message.id === null && message.error))
    throw garbage('answered with the id of another request');
  const withTasks = responseWithOwnTasks(message, expected.told);
  if (withTasks === undefined) throw garbage('answered with the task of another request');
  const own: RpcResponse = { ...withTasks, id: expected.id };
  const shown = shownResponse(own, expected);
  const isSame = shown === own && withTasks === message && message.id === expected.id;
  return { text: isSame ? faithful(text, message) : JSON.stringify(shown), response: shown };
}

/** A message of an upstream. @throws GatewayError upstream_garbage */
export async function upstreamMessage(text: string): Promise<RpcMessage> {
  return readUpstream(await parsed(text));
}

function shownResponse(response: RpcResponse, { server, method }: Expected): RpcResponse {
  const { result } = response;
  if (result === undefined) return response;
  const filtered = withPrivateScope(filteredList(server, method, result));
  return filtered === result ? response : { ...response, result: filtered };
}

/** The response of an earlier request, whichever that was: lists are known by their members. */
function resumedResponse(response: RpcResponse, { server, checksResults }: Expected): RpcResponse {
  const { result, id } = response;
  if (result === undefined) return response;
  if (checksResults && (result.content !== undefined || result.structuredContent !== undefined))
    return {
      jsonrpc: '2.0',
      id,
      error: { code: RPC.internal, message: 'the stream with this answer has ended: call the tool again' },
    };
  const filtered = Object.entries(LISTS).reduce(
    (shown, [method, { member }]) =>
      Array.isArray(shown[member]) ? filteredList(server, method, shown) : shown,
    result,
  );
  return filtered === result ? response : { ...response, result: withPrivateScope(filtered) };
}

/** Answers belong to one caller: no shared cache may hold them. */
function withPrivateScope(result: JsonObject): JsonObject {
  return result.cacheScope === undefined || result.cacheScope === 'private'
    ? result
    : { ...result, cacheScope: 'private' };
}

async function parsed(text: string): Promise<unknown> {
  if (text.length > LIGHT && (await isTooHeavy(Buffer.from(text))))
    throw garbage('sent a message with too many members');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw garbage('sent a message that is not JSON');
  }
  if (isTooDeep(value)) throw garbage('sent a message that nests too deep');
  return value;
}

const LIGHT = 65_536;

/** @throws GatewayError upstream_garbage for what is no message */
function readUpstream(value: unknown): RpcMessage {
  if (!isObject(value) || value.jsonrpc !== '2.0') throw garbage('sent what is no message of the protocol');
  if (Object.hasOwn(value, 'method')) {
    const isCall = typeof value.method === 'string' && (value.params === undefined || isObject(value.params));
    const hasId = !Object.hasOwn(value, 'id') || isId(value.id);
    if (isCall && hasId) return value as unknown as RpcMessage;
    throw garbage('sent what is no message of the protocol');
  }
  const hasResult = isObject(value.result);
  const isAnswer = hasResult ? value.error === undefined : isErrorBody(value.error);
  const id = value.id ?? null;
  if (!isAnswer || !(isId(id) || (id === null && !hasResult)))
    throw garbage('sent what is no message of the protocol');
  return value as unknown as RpcMessage;
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number';
}

/** The original text, unless a member is duplicated. */
function faithful(text: string, message: RpcMessage): string {
  return isFaithful(text) ? text : JSON.stringify(message);
}

export function garbage(what: string): GatewayError {
  return fail('upstream_garbage', `the MCP server ${what}`);
}
