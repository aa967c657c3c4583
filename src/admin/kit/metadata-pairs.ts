// Metadata in request bodies, as it is stored: within the bounds of the metadata header.
import type { JsonValue } from '@bufbuild/protobuf';
import { METADATA_LIMITS } from '../../inference/plan/request-settings.ts';
import { invalidField } from '../../lib/errors.ts';

/** Names and values; other values than text become JSON. @throws GatewayError validation_failed, naming the member. */
export function textPairs(
  pairs: readonly (readonly [string, JsonValue])[],
  field: string,
): Readonly<Record<string, string>> {
  const { members, nameLength, valueLength } = METADATA_LIMITS;
  if (pairs.length > members) throw invalidField(field, `must have at most ${members} members`);
  return Object.fromEntries(
    pairs.map(([name, value]) => {
      const kept = typeof value === 'string' ? value : JSON.stringify(value);
      const place = `${field}.${name.slice(0, nameLength)}`;
      if (name.length === 0 || name.length > nameLength)
        throw invalidField(place, `must have a name of 1 to ${nameLength} characters`);
      if (kept.length > valueLength) throw invalidField(place, `must have at most ${valueLength} characters`);
      return [name, kept];
    }),
  );
}
