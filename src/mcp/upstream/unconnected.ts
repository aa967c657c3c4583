// What a server is and lists, as its last sync saw it, for a client whose user has not connected to it yet and can be
// asked to: without that it would never come to a call that asks.
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import { opensAddresses } from '../bridge/url-questions.ts';
import { filteredList, LISTS } from '../visibility.ts';
import { META, MODERN_VERSIONS } from '../wire/eras.ts';
import { isObject, type JsonObject, type RpcRequest } from '../wire/json-rpc.ts';

const CACHED = { ttlMs: 0, cacheScope: 'private' } as const;

/** The result in revision 2026-07-28; undefined: it cannot be said without the server. */
export function unconnectedResult(server: McpServer, message: RpcRequest): JsonObject | undefined {
  if (!opensAddresses(message)) return undefined;
  const { method, params } = message;
  if (method === 'server/discover') return discovered(server);
  const list = Object.hasOwn(LISTS, method) ? LISTS[method] : undefined;
  if (list === undefined || params?.cursor !== undefined || server.capabilities.length === 0)
    return undefined;
  const items = server.capabilities
    .filter(({ type }) => type === list.type)
    .map(({ name, described }) => ({ ...described, name }));
  const shown = filteredList(server, method, { [list.member]: items, ...CACHED }, false);
  return { resultType: 'complete', ...shown };
}

function discovered({ info, slug }: McpServer): JsonObject {
  const { capabilityFlags = {}, serverName = slug, serverVersion = '0', title, instructions } = info;
  const kept = ['tools', 'prompts', 'resources', 'completions'].filter((one) =>
    isObject(capabilityFlags[one]),
  );
  // Before the first sync nothing is known: it may have all of them.
  const all = kept.length > 0 ? kept : ['tools', 'prompts', 'resources'];
  const serverInfo = { name: serverName, version: serverVersion, ...(title === undefined ? {} : { title }) };
  return {
    resultType: 'complete',
    supportedVersions: MODERN_VERSIONS,
    capabilities: Object.fromEntries(
      all.map((one) => [one, one === 'completions' ? {} : { listChanged: true }]),
    ),
    ...(instructions === undefined ? {} : { instructions }),
    ...CACHED,
    _meta: { [META.serverInfo]: serverInfo },
  };
}
