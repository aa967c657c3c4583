// What the caller asks of the gateway itself, read from its headers: the call's
// time, metadata, and which headers go on to the provider.
import { invalidHeader } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { HOP_HEADERS } from '../../lib/hop-headers.ts';

/** Bounds of the metadata header. */
export const METADATA_LIMITS = { members: 64, nameLength: 128, valueLength: 2048 } as const;

/** Those that the gateway writes itself, and those that a cloud's metadata service listens to. */
const NEVER_FORWARDED = new Set([
  ...HOP_HEADERS,
  'cookie',
  'metadata-flavor',
  'x-aws-ec2-metadata-token',
  'x-google-metadata-request',
]);
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;

/** Whether a header belongs to one hop, or is the gateway's to write. */
export function staysHere(lowerName: string): boolean {
  return NEVER_FORWARDED.has(lowerName);
}

/** x-gateway-metadata: a JSON object; values that are no strings are kept as their JSON text. @throws GatewayError invalid_header. */
export function readMetadata(headers: GatewayHeaders): Readonly<Record<string, string>> {
  const text = headers.get('metadata');
  if (text === undefined || text === '') return {};
  const name = canonical(headers, 'metadata');
  const json = parseHeaderJson(name, text);
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalidHeader(name, 'must be a JSON object');
  const members = Object.entries(json);
  const { members: most, nameLength, valueLength } = METADATA_LIMITS;
  if (members.length > most) throw invalidHeader(name, `must have at most ${most} members`);
  return Object.fromEntries(
    members.map(([key, value]): [string, string] => {
      const kept = typeof value === 'string' ? value : JSON.stringify(value);
      if (key.length === 0 || key.length > nameLength) {
        throw invalidHeader(name, `member names must have 1 to ${nameLength} characters`);
      }
      if (kept.length > valueLength)
        throw invalidHeader(name, `${key}: must have at most ${valueLength} characters`);
      return [key, kept];
    }),
  );
}

/** x-gateway-metadata as it came, values of any kind; an empty object when there is none that can be read. */
export function readMetadataJson(headers: GatewayHeaders): unknown {
  const text = headers.get('metadata');
  return text === undefined || text === '' ? {} : parseHeaderJson(canonical(headers, 'metadata'), text);
}

/**
 * Headers of the request that go on to the provider, by exact name: a comma list or a
 * JSON array. @throws GatewayError invalid_header for a name that is none, is the
 * gateway's own, or belongs to one hop.
 */
export function readForwardNames(headers: GatewayHeaders): readonly string[] {
  const text = headers.get('forward-headers');
  if (text === undefined || text.trim() === '') return [];
  const name = canonical(headers, 'forward-headers');
  const json: unknown = text.trim().startsWith('[') ? parseHeaderJson(name, text) : text.split(',');
  if (!Array.isArray(json) || !json.every((item): item is string => typeof item === 'string')) {
    throw invalidHeader(name, 'must be header names, separated by commas or as a JSON array of strings');
  }
  return checkForwardNames(json, headers, name);
}

/** The names without blanks, checked. @throws GatewayError invalid_header naming `where`. */
function checkForwardNames(
  list: readonly string[],
  headers: GatewayHeaders,
  where: string,
): readonly string[] {
  const names = list.map((item) => item.trim()).filter((item) => item !== '');
  if (names.length > 64) throw invalidHeader(where, 'must name at most 64 headers');
  for (const item of names) {
    const message = notForwardable(item, (name) => headers.names.owns(name));
    if (message !== undefined) throw invalidHeader(where, message);
  }
  return names;
}

/** Why a header cannot go on to the provider, in words; undefined when it can. */
export function notForwardable(name: string, owns: (lowerName: string) => boolean): string | undefined {
  const lower = name.toLowerCase();
  if (!HEADER_NAME.test(name)) return 'must hold header names only';
  if (owns(lower)) return `must not contain ${name}: the gateway's own headers stay here`;
  return staysHere(lower) ? `must not contain ${name}` : undefined;
}

/**
 * Flat pairs of the named headers that the request has; those that carry a key of this
 * gateway are left out.
 */
export function forwardedHeaders(
  names: readonly string[],
  headers: GatewayHeaders,
  isOurs: (value: string) => boolean,
): string[] {
  return names.flatMap((name) => {
    const value = headers.plain(name.toLowerCase());
    return value === undefined || isOurs(value) ? [] : [name, value];
  });
}

/**
 * Tells header values that must not go on: those with a gateway key, the one presented anywhere inside or any other as a
 * word of its own, and those with the caller's credential where it is meant for another target.
 */
export function secretCheck(
  presentedKey: string | undefined,
  isOwnKey: (text: string) => boolean,
  withheld: string | undefined,
): (value: string) => boolean {
  return (value) =>
    (presentedKey !== undefined && value.includes(presentedKey)) ||
    (withheld !== undefined && withheld !== '' && value.includes(withheld)) ||
    value.split(/[\s,;="']+/).some((word) => word !== '' && isOwnKey(word));
}

/** A header's JSON. Node gives header bytes as latin-1; JSON is UTF-8. */
export function parseHeaderJson(name: string, text: string): unknown {
  let json: unknown;
  try {
    json = JSON.parse(/[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text);
  } catch {
    throw invalidHeader(name, 'must be valid JSON');
  }
  if (isNestedDeeper(text, MOST_LEVELS))
    throw invalidHeader(name, `must not be nested deeper than ${MOST_LEVELS} levels`);
  return json;
}

/** Levels of a header's JSON: what is nested deeper could not be written again. */
const MOST_LEVELS = 100;

/** Whether valid JSON has more levels than that. */
function isNestedDeeper(text: string, levels: number): boolean {
  if (text.length <= 2 * levels) return false;
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (quoted) {
      if (char === '\\') i++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '[' || char === '{') {
      if (++depth > levels) return true;
    } else if (char === ']' || char === '}') depth--;
  }
  return false;
}

/** The header's name as errors show it. */
export function canonical(headers: GatewayHeaders, name: string): string {
  return `${headers.names.canonical}${name}`;
}
