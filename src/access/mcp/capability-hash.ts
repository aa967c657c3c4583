// What a model reads of a capability, as a hash: a description that changes after it was accepted is seen.
import { hash } from 'node:crypto';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { CapabilityType } from './mcp-collections.ts';

/** Members that no model reads; `execution` stands in lists of one revision alone. */
const UNREAD: ReadonlySet<string> = new Set(['_meta', 'icons', 'size', 'execution']);

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

/**
 * Whether two descriptions say the same to a model: quicker than their hashes, and false only where those may differ.
 * @param described its members as they are stored @param item as a server sends it, `name` among them or not
 */
export function isSameDescription(described: JsonObject, item: JsonObject): boolean {
  const read = (of: JsonObject): string[] =>
    Object.keys(of).filter((member) => member !== 'name' && !UNREAD.has(member));
  const members = read(described);
  return (
    members.length === read(item).length &&
    members.every((member) => Object.hasOwn(item, member) && isSame(described[member]!, item[member]!))
  );
}

function isSame(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const members = Object.keys(one);
  return (
    members.length === Object.keys(other).length &&
    members.every(
      (member) =>
        Object.hasOwn(other, member) && isSame((one as JsonObject)[member]!, (other as JsonObject)[member]!),
    )
  );
}

function ordered(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => ordered(item));
  const members = Object.entries(value as JsonObject).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, item]) => [name, ordered(item)]));
}
