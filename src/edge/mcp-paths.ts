// The paths of the MCP gateway: `/<server>/mcp`, `/<workspace>/<server>/mcp`, `/mcp`, and their OAuth metadata.
import { RESERVED_SLUGS } from '../access/mcp/mcp-collections.ts';

/** What a path asks for. */
export interface McpPath {
  readonly kind: 'protocol' | 'metadata';
  /** Slug of the server; undefined: all servers of the caller's workspace. */
  readonly slug: string | undefined;
  /** Id or slug. */
  readonly workspace: string | undefined;
  /** `?tools=search` and `?tools=all`; undefined: the client does not say. */
  readonly searchesTools: boolean | undefined;
  /** The path of the protocol, as the caller wrote it, without its query. */
  readonly path: string;
}

const PROTOCOL = /^(?:\/([^/?]{1,300}))?(?:\/([^/?]{1,300}))?\/mcp\/?$/;
const METADATA = '/.well-known/oauth-protected-resource';
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$/;

/**
 * Undefined for any other path.
 * @param hasOperations whether operations of the gateway are tools, at /admin/mcp
 */
export function mcpPathOf(url: string, hasOperations = false): McpPath | undefined {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  if (path.startsWith(METADATA)) return named('metadata', path.slice(METADATA.length), '', hasOperations);
  if (!path.endsWith('mcp') && !path.endsWith('mcp/')) return undefined;
  return named('protocol', path, mark === -1 ? '' : url.slice(mark + 1), hasOperations);
}

const TOOLS: Readonly<Record<string, boolean>> = { search: true, all: false };

function named(
  kind: McpPath['kind'],
  path: string,
  query: string,
  hasOperations: boolean,
): McpPath | undefined {
  const match = PROTOCOL.exec(path);
  if (match === null) return undefined;
  const [first, second] = [plain(match[1]), plain(match[2])];
  if (first === false || second === false) return undefined;
  const isOwn = hasOperations && first === 'admin' && second === undefined;
  if (first !== undefined && RESERVED_SLUGS.has(first.toLowerCase()) && !isOwn) return undefined;
  const [workspace, slug] = second === undefined ? [undefined, first] : [first, second];
  const tools = query === '' ? undefined : new URLSearchParams(query).get('tools');
  const searchesTools = typeof tools === 'string' && Object.hasOwn(TOOLS, tools) ? TOOLS[tools] : undefined;
  return { kind, slug, workspace, searchesTools, path };
}

/** A part of the path, its escapes undone once; false for what can name nothing. */
function plain(part: string | undefined): string | undefined | false {
  if (part === undefined) return undefined;
  try {
    const text = decodeURIComponent(part);
    return NAME.test(text) ? text : false;
  } catch {
    return false;
  }
}
