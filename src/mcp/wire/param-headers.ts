// `Mcp-Param-*`: headers that repeat arguments of a tool call, as the tool's schema declares by `x-mcp-header`.
import { type HeaderOf, mismatch } from './header-mismatch.ts';
import { isObject, type JsonObject, type RequestId } from './json-rpc.ts';

interface Declaration {
  readonly path: readonly string[];
  readonly header: string;
  readonly numeric: boolean;
}

const PREFIX = '=?base64?';
const SUFFIX = '?=';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;
/** Properties of a schema that are looked at, and how deep. */
const MOST_NODES = 5000;
const MOST_DEPTH = 32;

/** A header's text, decoded where it is marked as Base64; undefined for what is no UTF-8 in Base64. */
export function decodedHeader(value: string): string | undefined {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX)) return value;
  const base64 = value.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(base64)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return undefined;
  }
}

/** A text as the value of a header: marked as Base64 where its own characters could not stand there. */
export function encodedHeader(value: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith(PREFIX)) return value;
  return `${PREFIX}${Buffer.from(value, 'utf8').toString('base64')}${SUFFIX}`;
}

const scanned = new WeakMap<object, readonly Declaration[]>();

/** The declarations of a tool's schema; kept with the schema. */
function declarationsOf(schema: unknown): readonly Declaration[] {
  if (!isObject(schema)) return [];
  const known = scanned.get(schema);
  if (known) return known;
  const found: Declaration[] = [];
  let nodes = 0;
  const visit = (node: unknown, path: readonly string[]): void => {
    if (!isObject(node) || path.length > MOST_DEPTH || ++nodes > MOST_NODES) return;
    const name = node['x-mcp-header'];
    if (typeof name === 'string' && name !== '' && path.length > 0)
      found.push({ path, header: name, numeric: node.type === 'integer' || node.type === 'number' });
    if (!isObject(node.properties)) return;
    for (const [key, child] of Object.entries(node.properties)) visit(child, [...path, key]);
  };
  visit(schema, []);
  scanned.set(schema, found);
  return found;
}

/** @throws McpError -32020 where a declared header is missing or disagrees with the argument */
export function checkParamHeaders(id: RequestId, schema: unknown, args: unknown, header: HeaderOf): void {
  for (const { path, header: name, numeric } of declarationsOf(schema)) {
    const value = valueAt(args, path);
    const text = textOf(value);
    if (text === undefined) continue;
    const given = header(`mcp-param-${name.toLowerCase()}`);
    const field = path.join('.');
    if (given === undefined)
      throw mismatch(id, undefined, `the header Mcp-Param-${name} for ${field} is missing`);
    const decoded = decodedHeader(given.trim());
    if (decoded === undefined) throw mismatch(id, given, `the header Mcp-Param-${name} is not valid Base64`);
    const same =
      numeric && typeof value === 'number' && DECIMAL.test(decoded)
        ? Number(decoded) === value
        : decoded === text;
    if (!same) throw mismatch(id, given, `the body carries another ${field} than Mcp-Param-${name}`);
  }
}

/** The headers that a tool's schema asks for, as flat pairs. */
export function paramHeaders(schema: unknown, args: unknown): string[] {
  return declarationsOf(schema).flatMap(({ path, header }) => {
    const text = textOf(valueAt(args, path));
    return text === undefined ? [] : [`Mcp-Param-${header}`, encodedHeader(text)];
  });
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let node = root;
  for (const key of path) {
    if (!isObject(node) || !Object.hasOwn(node, key)) return undefined;
    node = (node as JsonObject)[key];
  }
  return node;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
