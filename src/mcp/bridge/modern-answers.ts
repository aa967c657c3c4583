// Results of an older server as a server of 2026-07-28 would give them.
import { TASKS } from '../tasks/asked-tasks.ts';
import { makesTasks } from '../tasks/task-shapes.ts';
import { META, MODERN_VERSIONS } from '../wire/eras.ts';
import { isObject, type JsonObject, type RpcRequest, type RpcResponse } from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';
import type { UpstreamSession } from './upstream-sessions.ts';
import { withUrlQuestions } from './url-questions.ts';

const CACHED = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
]);

/** The result of `server/discover`. */
export function discovered({ said }: UpstreamSession): JsonObject {
  const { capabilities, instructions, serverInfo } = said;
  const { tasks: _tasks, logging, extensions, ...rest } = isObject(capabilities) ? capabilities : {};
  const others = isObject(extensions) ? extensions : {};
  const all = makesTasks(capabilities) ? { ...others, [TASKS]: {} } : others;
  return {
    resultType: 'complete',
    supportedVersions: MODERN_VERSIONS,
    capabilities: {
      ...rest,
      ...(logging === undefined ? {} : { logging }),
      ...(Object.keys(all).length === 0 ? {} : { extensions: all }),
    },
    ...(typeof instructions === 'string' ? { instructions } : {}),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [META.serverInfo]: serverInfo },
  };
}

/** With the members that revision 2026-07-28 asks for. */
export function modernResponse({ result, error }: RpcResponse, message: RpcRequest): RpcResponse {
  const { id, method } = message;
  if (error !== undefined) {
    const code = error.code === RPC.resourceNotFound ? RPC.invalidParams : error.code;
    return withUrlQuestions(message, { jsonrpc: '2.0', id, error: { ...error, code } });
  }
  const cache = CACHED.has(method) ? { ttlMs: 0, cacheScope: 'private' } : {};
  return { jsonrpc: '2.0', id, result: { ...result, resultType: 'complete', ...cache } };
}
