// Names at the endpoint of all servers: `<slug>__<name>`, and `mcp://<slug>/<uri>` for resources. Slugs have no `__`.
import { isTask } from '../tasks/task-shapes.ts';
import { isObject, type JsonObject } from '../wire/json-rpc.ts';

const BETWEEN = '__';
const SCHEME = 'mcp://';

/** What a name leads to. */
export interface Named {
  readonly slug: string;
  /** As the server knows it. */
  readonly name: string;
}

export function nameAt(slug: string, name: string): string {
  return slug + BETWEEN + name;
}

/** Undefined for what names no server. */
export function namedBy(text: string): Named | undefined {
  const at = text.indexOf(BETWEEN);
  if (at <= 0) return undefined;
  return { slug: text.slice(0, at), name: text.slice(at + BETWEEN.length) };
}

/** Of a URI, or of a URI template. */
export function uriAt(slug: string, uri: string): string {
  return `${SCHEME}${slug}/${uri}`;
}

/** Undefined for what names no server. */
export function uriNamedBy(text: string): Named | undefined {
  const at = text.startsWith(SCHEME) ? text.indexOf('/', SCHEME.length) : -1;
  if (at <= SCHEME.length) return undefined;
  return { slug: text.slice(SCHEME.length, at), name: text.slice(at + 1) };
}

/** An item of a list. */
export function itemAt(slug: string, item: JsonObject): JsonObject {
  const { name, uri, uriTemplate } = item;
  return {
    ...item,
    ...(typeof name === 'string' ? { name: nameAt(slug, name) } : {}),
    ...(typeof uri === 'string' ? { uri: uriAt(slug, uri) } : {}),
    ...(typeof uriTemplate === 'string' ? { uriTemplate: uriAt(slug, uriTemplate) } : {}),
  };
}

/** A result whose resources, and task, can be asked for at this endpoint. The same object where it has none. */
export function resultAt(slug: string, result: JsonObject): JsonObject {
  const { content, contents, messages } = result;
  const own: Record<string, unknown> = {};
  if (isTask(result) && content === undefined) {
    own.taskId = nameAt(slug, String(result.taskId));
    if (isObject(result.result)) own.result = resultAt(slug, result.result);
  }
  if (Array.isArray(content) && content.some(hasResource))
    own.content = content.map((one) => blockAt(slug, one));
  if (Array.isArray(contents)) own.contents = contents.map((one) => withUri(slug, one));
  if (Array.isArray(messages))
    own.messages = messages.map((one) =>
      isObject(one) && hasResource(one.content) ? { ...one, content: blockAt(slug, one.content) } : one,
    );
  return Object.keys(own).length === 0 ? result : { ...result, ...own };
}

function hasResource(block: unknown): boolean {
  return isObject(block) && (block.type === 'resource_link' || block.type === 'resource');
}

function blockAt(slug: string, block: unknown): unknown {
  if (!isObject(block)) return block;
  if (block.type === 'resource_link') return withUri(slug, block);
  return block.type === 'resource' ? { ...block, resource: withUri(slug, block.resource) } : block;
}

function withUri(slug: string, one: unknown): unknown {
  return isObject(one) && typeof one.uri === 'string' ? { ...one, uri: uriAt(slug, one.uri) } : one;
}
