// A stored body brought to another key, whatever else is in it.
import type { Collection } from './collection.ts';
import type { StoredDocument } from './maintenance.ts';
import { type BodyOwner, type DataKeys, openedValue, putSealed, UnreadableSecret } from './sealed-body.ts';
import { type DataKey, readEnvelope } from './sealed-value.ts';
import { secretPlaces } from './secret-places.ts';

export interface Resealed {
  /** Undefined when every secret that can be opened is sealed by this key already. */
  readonly body: object | undefined;
  readonly unreadable: readonly UnreadableSecret[];
}

/** Secrets that cannot be opened stay as they are. */
export async function resealed(
  keys: DataKeys,
  target: DataKey,
  collection: Collection<object>,
  { document }: StoredDocument,
): Promise<Resealed> {
  const owner: BodyOwner = { organisationId: document.organisationId, collection, id: document.id };
  const body = structuredClone(document.body);
  const unreadable: UnreadableSecret[] = [];
  let changed = false;
  for (const place of secretPlaces(collection, body)) {
    if (readEnvelope(place.holder[place.name])?.keyId === target.id) continue;
    const value = await openedValue(keys, owner, place);
    if (value instanceof UnreadableSecret) {
      unreadable.push(value);
    } else {
      putSealed(target, owner, place, value.json);
      changed = true;
    }
  }
  return { body: changed ? body : undefined, unreadable };
}
