// The error -32042 of a server of 2025-11-25, by which it asks the user to open addresses, for a client of 2026-07-28: a
// result that asks for the same. The client's next request is the same call once more.
import { META, metaOf } from '../wire/eras.ts';
import { isObject, type JsonObject, type RpcRequest, type RpcResponse } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';

/** Requests whose result may ask the client (2026-07-28, Multi Round-Trip Requests). */
export const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);
const KEY = /^url[0-9]{1,2}$/;
const MOST = 16;

/** Whether capabilities have elicitation in the mode `url`. */
export function declaresUrl(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  return isObject(elicitation) && isObject(elicitation.url);
}

/** Whether a client of 2026-07-28 has declared, for this request, that it opens addresses. */
export function opensAddresses(message: RpcRequest): boolean {
  return declaresUrl(metaOf(message)?.[META.clientCapabilities]);
}

/** The response with its error as a question, where the client can be asked so; else as it is. */
export function withUrlQuestions(message: RpcRequest, response: RpcResponse): RpcResponse {
  const { error } = response;
  if (error?.code !== RPC.urlElicitation || !MAY_ASK.has(message.method) || !opensAddresses(message))
    return response;
  const given = isObject(error.data) ? error.data.elicitations : undefined;
  const all = Array.isArray(given) ? given.slice(0, MOST).flatMap(questionOf) : [];
  if (all.length === 0) return response;
  const inputRequests = Object.fromEntries(all.map((params, i) => [`url${i + 1}`, asked(params)]));
  return { jsonrpc: '2.0', id: response.id, result: { resultType: 'input_required', inputRequests } };
}

/** @throws McpError where the user did not open what such a question asked for */
export function checkUrlAnswers({ id, params = {} }: RpcRequest): void {
  const { inputResponses, requestState } = params;
  if (requestState !== undefined || !isObject(inputResponses)) return;
  for (const [key, answer] of Object.entries(inputResponses))
    if (KEY.test(key) && isObject(answer) && answer.action !== 'accept')
      throw new McpError(RPC.refused, 'the user has not opened what the MCP server asked for', {
        id,
        status: 200,
      });
}

function asked(params: JsonObject): JsonObject {
  return { method: 'elicitation/create', params };
}

function questionOf(given: unknown): JsonObject[] {
  if (!isObject(given) || given.mode !== 'url' || typeof given.url !== 'string') return [];
  const message = typeof given.message === 'string' ? given.message : 'Open this address';
  return [{ mode: 'url', url: given.url, message }];
}
