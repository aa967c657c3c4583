// What a fold keeps of events: members of an answer that may come with any of them.
import type { JsonObject } from '@bufbuild/protobuf';

/** Members that are kept; an answer has some twenty. */
const MOST_MEMBERS = 256;

/**
 * Takes over the members, in place: a copy for each event takes time that grows with the square of the names that a provider
 * sends. Beyond 256 of them, only those change that are there.
 */
export function keepMembers(kept: JsonObject, more: JsonObject | undefined): void {
  if (more === undefined) return;
  let free = MOST_MEMBERS - Object.keys(kept).length;
  for (const [name, value] of Object.entries(more)) {
    // Assigned, it would be the object's prototype.
    if (name === '__proto__' || (!Object.hasOwn(kept, name) && --free < 0)) continue;
    kept[name] = value;
  }
}
