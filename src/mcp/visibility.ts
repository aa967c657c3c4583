// What a caller may see of a server, and what it may call: the switches of the integration and of the server, and the
// pins of tool descriptions. Asked for every message, so that a change holds in open sessions at once.
import type { CapabilityType } from '../access/mcp/mcp-collections.ts';
import type { McpServer } from '../access/mcp/mcp-server.ts';
import { fail, type GatewayError } from '../lib/errors.ts';
import type { JsonObject as StoredObject } from '../store/collection.ts';
import { matchesTemplate, sameUri } from './uris.ts';
import { isObject, type JsonObject, type RpcMessage } from './wire/json-rpc.ts';

/** A server whose capabilities are switched. */
export type Switched = Pick<McpServer, 'isEnabled' | 'pinOf' | 'saw' | 'holdsChanged' | 'capabilities'>;

/** Lists by the method that asks for them. */
export const LISTS: Readonly<Record<string, { readonly member: string; readonly type: CapabilityType }>> = {
  'tools/list': { member: 'tools', type: 'tool' },
  'prompts/list': { member: 'prompts', type: 'prompt' },
  'resources/list': { member: 'resources', type: 'resource' },
  'resources/templates/list': { member: 'resourceTemplates', type: 'resource_template' },
};

/** Items of one page of a list. */
export const MOST_ITEMS = 10_000;

/**
 * The list without what is hidden; `cacheScope` is private wherever the revision has it.
 * @param isLive as the server answered it just now; else as it is stored
 */
export function filteredList(
  server: Switched,
  method: string,
  result: JsonObject,
  isLive = true,
): JsonObject {
  const list = Object.hasOwn(LISTS, method) ? LISTS[method] : undefined;
  if (list === undefined) return result;
  const items = result[list.member];
  if (!Array.isArray(items))
    throw fail('upstream_garbage', `the MCP server answered ${method} without a list`);
  if (items.length > MOST_ITEMS)
    throw fail('upstream_garbage', `the MCP server answered ${method} with more than ${MOST_ITEMS} items`);
  const shown = items.filter((item) => isObject(item) && isListed(server, list.type, item, isLive));
  const scope = 'cacheScope' in result || 'ttlMs' in result ? { cacheScope: 'private' } : {};
  return { ...result, [list.member]: shown, ...scope };
}

/** Whether an item of a list is offered; a tool's description is noted. */
function isListed(server: Switched, type: CapabilityType, item: JsonObject, isLive: boolean): boolean {
  if (type !== 'tool') return isShown(server, type, item);
  const { name } = item;
  if (typeof name !== 'string') return false;
  if (isLive) server.saw(name, item as StoredObject);
  return isToolCallable(server, name);
}

function isShown(server: Switched, type: CapabilityType, item: JsonObject): boolean {
  const name = nameOf(type, item);
  if (name === undefined) return false;
  const other = typeof item.name === 'string' && item.name !== name ? item.name : undefined;
  if (type === 'resource') return isResourceShown(server, name, other);
  return server.isEnabled(type, name, other);
}

function nameOf(type: CapabilityType, item: JsonObject): string | undefined {
  const name = type === 'resource' ? item.uri : type === 'resource_template' ? item.uriTemplate : item.name;
  return typeof name === 'string' ? name : undefined;
}

/** Whether a tool is offered. A description that changed is held back until it is accepted, where the integration asks for that. */
export function isToolCallable(server: Switched, name: string): boolean {
  if (!server.isEnabled('tool', name)) return false;
  const pin = server.holdsChanged ? server.pinOf(name) : undefined;
  return pin === undefined || pin.pinned === pin.hash;
}

function isResourceShown(server: Switched, uri: string, name?: string): boolean {
  if (!server.isEnabled('resource', uri, name)) return false;
  let named = false;
  for (const { type, name: stored, described } of server.capabilities) {
    if (type !== 'resource' || typeof described.uri !== 'string' || !sameUri(described.uri, uri)) continue;
    if (!server.isEnabled('resource', described.uri, stored)) return false;
    named = true;
  }
  if (named) return true;
  return !server.capabilities.some(
    ({ type, name: stored, described }) =>
      type === 'resource_template' &&
      typeof described.uriTemplate === 'string' &&
      !server.isEnabled(type, described.uriTemplate, stored) &&
      matchesTemplate(described.uriTemplate, uri),
  );
}

/**
 * Refuses a message for what is hidden, in the words for what does not exist.
 * @throws GatewayError not_found
 */
export function checkVisible(server: Switched, message: RpcMessage): void {
  if (!('method' in message)) return;
  const { method, params = {} } = message;
  switch (method) {
    case 'tools/call': {
      const name = textOf(params, 'name');
      if (name !== undefined && !isToolCallable(server, name)) throw unknownTool(name);
      return;
    }
    case 'prompts/get':
      checkPrompt(server, textOf(params, 'name'));
      return;
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      checkResource(server, textOf(params, 'uri'));
      return;
    case 'completion/complete':
      if (params.ref === undefined) return;
      if (!isObject(params.ref)) throw fail('validation_failed', 'Invalid params: ref must be an object');
      checkReference(server, params.ref);
      return;
    case 'subscriptions/listen':
      checkSubscriptions(server, params);
  }
}

/**
 * A server may take what is no text for one: a list of one name, for example.
 * @returns undefined: the member is absent @throws GatewayError validation_failed
 */
function textOf(members: JsonObject, field: string): string | undefined {
  const value = members[field];
  if (value === undefined || typeof value === 'string') return value;
  throw fail('validation_failed', `Invalid params: ${field} must be a text`);
}

function checkReference(server: Switched, ref: JsonObject): void {
  if (ref.type === 'ref/prompt') {
    checkPrompt(server, textOf(ref, 'name'));
    return;
  }
  if (ref.type !== 'ref/resource')
    throw fail('validation_failed', 'Invalid params: ref.type must be ref/prompt or ref/resource');
  const uri = textOf(ref, 'uri');
  if (uri === undefined) return;
  if (!server.isEnabled('resource_template', uri)) throw unknownResource(uri);
  checkResource(server, uri);
}

function checkSubscriptions(server: Switched, { notifications }: JsonObject): void {
  const uris = isObject(notifications) ? notifications.resourceSubscriptions : undefined;
  if (!Array.isArray(uris)) return;
  for (const uri of uris) checkResource(server, textOf({ uri }, 'uri'));
}

function checkPrompt(server: Switched, name: string | undefined): void {
  if (name !== undefined && !server.isEnabled('prompt', name))
    throw fail('not_found', `Unknown prompt: ${short(name)}`);
}

function checkResource(server: Switched, uri: string | undefined): void {
  if (uri !== undefined && !isResourceShown(server, uri)) throw unknownResource(uri);
}

export function unknownTool(name: string): GatewayError {
  return fail('not_found', `Unknown tool: ${short(name)}`);
}

function unknownResource(uri: string): GatewayError {
  return fail('not_found', `Resource not found: ${short(uri)}`);
}

/** Whether a notice of the server may be passed on. */
export function isNoticeShown(server: Switched, message: RpcMessage): boolean {
  if (!('method' in message) || message.method !== 'notifications/resources/updated') return true;
  const uri = message.params?.uri;
  return typeof uri !== 'string' || isResourceShown(server, uri);
}

function short(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
