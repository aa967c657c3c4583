// What is known of an integration's server, after it was read or told of. Switches are kept elsewhere, so that they
// survive; a description that changed is marked, and the one that was accepted stays pinned.
import { capabilityHash } from '../../access/mcp/capability-hash.ts';
import {
  CAPABILITY_TYPES,
  type CapabilityType,
  type GonePin,
  type McpCatalogueBody,
  type McpServerInfo,
  type StoredCapability,
} from '../../access/mcp/mcp-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import { defined } from '../kit/patch.ts';

/** Capabilities of one server. */
export const MOST_CAPABILITIES = 2000;
/** Pins of tools that a server has no more. */
const MOST_GONE = 2000;
const LONGEST_NAME = 255;
const LONGEST_URI = 2048;

/** A capability as a server describes it, in the protocol's spelling. */
export interface Described {
  readonly type: CapabilityType;
  readonly name: string;
  readonly described: JsonObject;
}

/** Members of capabilities by the spelling that JSON APIs have. */
const SPELLINGS: Readonly<Record<string, string>> = {
  input_schema: 'inputSchema',
  output_schema: 'outputSchema',
  mime_type: 'mimeType',
  uri_template: 'uriTemplate',
  schema: 'inputSchema',
};
const KINDS: Readonly<Record<string, 'string' | 'object' | 'array' | 'number'>> = {
  title: 'string',
  description: 'string',
  uri: 'string',
  uriTemplate: 'string',
  mimeType: 'string',
  size: 'number',
  inputSchema: 'object',
  outputSchema: 'object',
  execution: 'object',
  annotations: 'object',
  _meta: 'object',
  icons: 'array',
  arguments: 'array',
};

/** Before the first reading. */
export function newCatalogue(integrationId: string): McpCatalogueBody {
  return { integrationId, info: {}, syncStatus: 'pending', capabilities: [] };
}

/** The capabilities that a caller gives. @throws GatewayError validation_failed, naming the member. */
export function describedOf(given: readonly JsonObject[]): readonly Described[] {
  const seen = new Set<string>();
  return given.map((one, i) => {
    const field = `capabilities[${i}]`;
    const { type, name, ...members } = one;
    if (!CAPABILITY_TYPES.includes(type as CapabilityType))
      throw invalidField(`${field}.type`, `must be ${CAPABILITY_TYPES.join(', ')}`);
    if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME)
      throw invalidField(`${field}.name`, `must be a text of 1 to ${LONGEST_NAME} characters`);
    const made = { type: type as CapabilityType, name, described: membersOf(members, field) };
    for (const uri of ['uri', 'uriTemplate'])
      if (String(made.described[uri] ?? '').length > LONGEST_URI)
        throw invalidField(`${field}.${uri}`, `must have at most ${LONGEST_URI} characters`);
    if (seen.has(identity(made))) throw invalidField(`${field}.name`, 'is given twice');
    seen.add(identity(made));
    return made;
  });
}

/** The catalogue after a reading that worked. @param at Unix milliseconds */
export function synced(
  before: McpCatalogueBody,
  info: McpServerInfo | undefined,
  capabilities: readonly Described[] | undefined,
  at: number,
  isTold = false,
): McpCatalogueBody {
  const { integrationId, gone } = before;
  const whole = { integrationId, info: info ?? before.info, syncStatus: 'synced', lastSyncedAt: at } as const;
  if (capabilities === undefined)
    return defined<McpCatalogueBody>({
      ...whole,
      capabilities: before.capabilities,
      isTold: before.isTold,
      gone,
    });
  const known = new Map(before.capabilities.map((one) => [identity(one), one]));
  const pins = new Map(gone?.map(({ name, pinned }) => [name, pinned]));
  return defined<McpCatalogueBody>({
    ...whole,
    capabilities: capabilities.map((one) =>
      merged(one, known.get(identity(one)), one.type === 'tool' ? pins.get(one.name) : undefined, at),
    ),
    isTold: isTold ? true : undefined,
    gone: goneNow(before, capabilities),
  });
}

/** Pins of the tools that are not there any more, the newest last. */
function goneNow(
  { capabilities, gone = [] }: McpCatalogueBody,
  now: readonly Described[],
): readonly GonePin[] | undefined {
  const there = new Set(now.filter(({ type }) => type === 'tool').map(({ name }) => name));
  const left = capabilities.filter(({ type, name }) => type === 'tool' && !there.has(name));
  const all = [
    ...gone.filter(({ name }) => !there.has(name)),
    ...left.map(({ name, pinned }) => ({ name, pinned })),
  ];
  return all.length === 0 ? undefined : all.slice(-MOST_GONE);
}

/** The catalogue after a reading that failed: what was known stays. */
export function unsynced(before: McpCatalogueBody, syncError: string): McpCatalogueBody {
  return { ...before, syncStatus: 'error', syncError };
}

/** Accepts the descriptions that capabilities have now. @param accepts which of them */
export function accepted(
  before: McpCatalogueBody,
  accepts: (one: StoredCapability) => boolean,
): McpCatalogueBody {
  const capabilities = before.capabilities.map((one) => {
    const { changedAt: _, ...rest } = one;
    return accepts(one) ? { ...rest, pinned: one.hash } : one;
  });
  return { ...before, capabilities };
}

/** What makes a capability the same one: resources are known by their URIs. */
export function identity({ type, name, described }: Described): string {
  const uri =
    type === 'resource' ? described.uri : type === 'resource_template' ? described.uriTemplate : name;
  return `${type} ${typeof uri === 'string' ? uri : name}`;
}

function merged(
  { type, name, described }: Described,
  before: StoredCapability | undefined,
  gone: string | undefined,
  at: number,
): StoredCapability {
  const hash = capabilityHash(type, name, described);
  if (before === undefined) {
    const made = { type, name, described, hash, pinned: gone ?? hash, createdAt: at, updatedAt: at };
    return gone === undefined || gone === hash ? made : { ...made, changedAt: at };
  }
  const same = before.hash === hash;
  const { pinned, createdAt } = before;
  return defined<StoredCapability>({
    type,
    name,
    described,
    hash,
    pinned,
    createdAt,
    changedAt: hash === pinned ? undefined : same ? before.changedAt : at,
    updatedAt: same ? before.updatedAt : at,
  });
}

function membersOf(given: JsonObject, field: string): JsonObject {
  const members: Record<string, Json> = {};
  for (const [spelled, value] of Object.entries(given)) {
    const name = Object.hasOwn(SPELLINGS, spelled) ? SPELLINGS[spelled]! : spelled;
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
    // What a later revision adds is of no use to a caller of this API.
    if (kind === undefined || value === null) continue;
    const is = Array.isArray(value) ? 'array' : typeof value;
    if (is !== kind) throw invalidField(`${field}.${spelled}`, `must be of the type ${kind}`, 'type');
    members[name] = value;
  }
  return members;
}
