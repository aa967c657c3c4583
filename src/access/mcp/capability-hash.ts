// What a model reads of a capability, as a hash: a description that changes after it was accepted is seen.
import { hash } from 'node:crypto';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { CapabilityType } from './mcp-collections.ts';

/** Members that neither a model reads nor a client acts on. */
const UNREAD: ReadonlySet<string> = new Set(['_meta', 'icons', 'size']);

/**
 * The hash of a capability, whatever the order of its members.
 * @param described its members on the wire, e.g. description and inputSchema; `name` among them or not
 * @returns 64 hexadecimal digits
 */
export function capabilityHash(type: CapabilityType, name: string, described: JsonObject): string {
  const read = Object.fromEntries(
    Object.entries(described).filter(([member]) => member !== 'name' && !UNREAD.has(member)),
  );
  return hash('sha256', JSON.stringify([type, name, ordered(read)]));
}

function ordered(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => ordered(item));
  const members = Object.entries(value as JsonObject).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, item]) => [name, ordered(item)]));
}
