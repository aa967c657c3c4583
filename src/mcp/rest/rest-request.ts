// A tool's arguments as an HTTP request: each is encoded for its place and cannot leave it. A value of a path never
// changes which resource is meant by climbing, a query's value adds no parameter, a header's no line.
import type { RestArgument, RestTool } from '../../access/mcp/mcp-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import { urlText } from '../../lib/url-text.ts';
import type { Json, JsonObject } from '../../store/collection.ts';

export interface RestRequest {
  readonly method: string;
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  /** Flat pairs. */
  readonly headers: readonly string[];
  readonly body: string | undefined;
}

const HEADER = /^[\x20-\x7e]{0,4096}$/;
const LONGEST_PATH = 16_384;
/** A segment that leads upwards, whatever parameters it has. */
const CLIMBS = /^\.{1,2}(?:;.*)?$/;
const MOST_DECODINGS = 4;

/**
 * @param base the integration's address, without a query
 * @throws GatewayError validation_failed naming the argument
 */
export function restRequest(base: string, tool: RestTool, args: JsonObject): RestRequest {
  const known = new Set(tool.arguments.map(({ argument }) => argument));
  const other = Object.keys(args).find((name) => !known.has(name));
  if (other !== undefined)
    throw invalidField(`arguments.${other.slice(0, 64)}`, 'is no argument of this tool');
  const given = tool.arguments.flatMap((one) => {
    const value = Object.hasOwn(args, one.argument) ? args[one.argument] : undefined;
    if (value !== undefined && !(value === null && one.place !== 'body')) return [{ one, value }];
    if (one.required) throw invalidField(fieldOf(one), 'is required', 'required');
    return [];
  });
  const of = (place: RestArgument['place']) => given.filter(({ one }) => one.place === place);
  const url = new URL(base);
  const values = new Map(of('path').map(({ one, value }) => [one.name, pathValue(one, value)]));
  const filled = tool.path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => values.get(name) ?? '');
  const path = url.pathname.replace(/\/+$/, '') + filled;
  // Two values of one segment may climb together.
  if (filled.split('/').some((part) => CLIMBS.test(part.replaceAll(/%2e/gi, '.'))))
    throw invalidField('arguments', 'make a path that climbs');
  const query = of('query').flatMap(({ one, value }) => queryPairs(one, value));
  const cookies = of('cookie').map(({ one, value }) => `${one.name}=${encoded(one, textOf(one, value))}`);
  const body = of('body')[0];
  const target = query.length === 0 ? path : `${path}?${query.join('&')}`;
  if (target.length > LONGEST_PATH)
    throw invalidField('arguments', `make an address of more than ${LONGEST_PATH} characters`);
  return {
    method: tool.method,
    origin: url.origin,
    path: target,
    headers: [
      ...of('header').flatMap(({ one, value }) => [one.name, headerValue(one, value)]),
      ...(cookies.length === 0 ? [] : ['cookie', cookies.join('; ')]),
      ...(body === undefined ? [] : ['content-type', tool.contentType ?? 'application/json']),
    ],
    body: body === undefined ? undefined : bodyText(tool, body.one, body.value),
  };
}

const fieldOf = ({ argument }: RestArgument): string => `arguments.${argument}`;

/** OpenAPI's style `simple`: lists have commas between their values. */
function pathValue(one: RestArgument, value: Json): string {
  const parts = listOf(value).map((part) => {
    const text = textOf(one, part);
    // Servers decode before or after they look at segments, once or more often: no way may lead upwards.
    if (text === '' || decodings(text).some((one) => one.split(/[/\\]/).some((piece) => CLIMBS.test(piece))))
      throw invalidField(
        fieldOf(one),
        'must be no empty text, and have neither . nor .. as a part of a path',
      );
    return encoded(one, text);
  });
  if (parts.length === 0) throw invalidField(fieldOf(one), 'must not be empty');
  return parts.join(',');
}

/** A text as it is, and as servers that decode it again see it. */
function decodings(text: string): readonly string[] {
  const all = [text];
  for (let i = 0; i < MOST_DECODINGS && all[i]?.includes('%'); i++)
    all.push(all[i]!.replaceAll(/%(?:2[0-9a-f]|5c)/gi, (one) => decodeURIComponent(one)));
  return all;
}

/** OpenAPI's style `form`. */
function queryPairs(one: RestArgument, value: Json): string[] {
  const name = encoded(one, one.name);
  const values = listOf(value).map((part) => encoded(one, textOf(one, part)));
  if (!Array.isArray(value) || one.explode) return values.map((part) => `${name}=${part}`);
  return values.length === 0 ? [] : [`${name}=${values.join(',')}`];
}

function headerValue(one: RestArgument, value: Json): string {
  const text = listOf(value)
    .map((part) => textOf(one, part))
    .join(',');
  if (!HEADER.test(text))
    throw invalidField(fieldOf(one), 'must be printable ASCII in one line, of at most 4096 characters');
  return text;
}

function bodyText({ contentType = 'application/json' }: RestTool, one: RestArgument, value: Json): string {
  if (contentType === 'text/plain') {
    if (typeof value !== 'string') throw invalidField(fieldOf(one), 'must be a text', 'type');
    return value;
  }
  if (contentType !== 'application/x-www-form-urlencoded') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidField(fieldOf(one), 'must be an object', 'type');
  const pairs = Object.entries(value as JsonObject).flatMap(([name, item]) =>
    listOf(item).map((part): [string, string] => [name, textOf(one, part)]),
  );
  return new URLSearchParams(pairs).toString();
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? (value as Json[]) : [value];
}

function textOf(one: RestArgument, value: Json): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw invalidField(fieldOf(one), 'must be a text, a number, true or false, or a list of these', 'type');
}

function encoded(one: RestArgument, text: string): string {
  if (!text.isWellFormed()) throw invalidField(fieldOf(one), 'must be well-formed Unicode');
  // What encodeURIComponent leaves has a meaning in some places.
  return urlText(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
