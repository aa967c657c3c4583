// A body with its secrets sealed, and back.
import { fail, type GatewayError } from '../lib/errors.ts';
import type { Collection } from './collection.ts';
import { type DataKey, type Envelope, open, readEnvelope, type SealedPlace, seal } from './sealed-value.ts';
import { type SecretPlace, secretPlaces } from './secret-places.ts';

/** The keys that seal and open. */
export interface DataKeys {
  /** The key to seal with now. @throws GatewayError store_unavailable */
  current(): Promise<DataKey>;
  /** Asks the store for one that is not known here yet. Undefined: there is none. @throws GatewayError store_unavailable */
  find(id: string): Promise<DataKey | undefined>;
}

/** Whose body it is. */
export interface BodyOwner {
  readonly organisationId: string;
  readonly collection: Collection<object>;
  readonly id: string;
}

/**
 * - `unknown_key`: no key of this id is among the store's encryption keys.
 * - `damaged`: it was changed, or was sealed for another document.
 * - `plain`: it is not sealed at all.
 */
export type UnreadableWhy = 'unknown_key' | 'damaged' | 'plain';

/** The cause of the refusal of a secret that cannot be opened. It never holds the value. */
export class UnreadableSecret extends Error {
  readonly organisationId: string;
  readonly collection: string;
  readonly id: string;
  readonly path: string;
  /** Undefined when nothing says which key sealed it. */
  readonly keyId: string | undefined;
  readonly why: UnreadableWhy;

  constructor(place: SealedPlace, keyId: string | undefined, why: UnreadableWhy) {
    super(
      `${place.path.join('.')} of ${place.collection} ${place.documentId}: ${why}, key ${keyId ?? 'none'}`,
    );
    this.name = 'UnreadableSecret';
    this.organisationId = place.organisationId;
    this.collection = place.collection;
    this.id = place.documentId;
    this.path = place.path.join('.');
    this.keyId = keyId;
    this.why = why;
  }
}

/** A copy of the body, which must be JSON, with every secret sealed. */
export function sealedBody(key: DataKey, owner: BodyOwner, body: object): object {
  const sealed = structuredClone(body);
  for (const place of secretPlaces(owner.collection, sealed)) {
    putSealed(key, owner, place, place.holder[place.name]);
  }
  return sealed;
}

export interface OpenedBody {
  readonly body: object;
  readonly unreadable: readonly UnreadableSecret[];
}

/**
 * A copy of the body with every secret open. A secret that cannot be opened throws when it is read, so that it
 * neither passes for a value nor is written back; all other members stay readable.
 */
export async function openedBody(keys: DataKeys, owner: BodyOwner, body: object): Promise<OpenedBody> {
  const opened = structuredClone(body);
  const unreadable: UnreadableSecret[] = [];
  for (const place of secretPlaces(owner.collection, opened)) {
    const value = await openedValue(keys, owner, place);
    if (value instanceof UnreadableSecret) {
      unreadable.push(value);
      const get = (): never => {
        throw refusal(value);
      };
      Object.defineProperty(place.holder, place.name, { get, enumerable: true, configurable: true });
    } else {
      put(place.holder, place.name, value.json);
    }
  }
  return { body: opened, unreadable };
}

/** One value open, or why not. */
export async function openedValue(
  keys: DataKeys,
  owner: BodyOwner,
  { holder, name, path, field }: SecretPlace,
): Promise<{ readonly json: unknown } | UnreadableSecret> {
  const place = placeOf(owner, path);
  const envelope = readEnvelope(holder[name]);
  if (envelope === undefined) {
    return field.formerlyPlain ? { json: holder[name] } : new UnreadableSecret(place, undefined, 'plain');
  }
  const key = await keys.find(envelope.keyId);
  if (key === undefined) return new UnreadableSecret(place, envelope.keyId, 'unknown_key');
  return openedWith(key, place, envelope);
}

/** Puts a value there, sealed. */
export function putSealed(key: DataKey, owner: BodyOwner, place: SecretPlace, value: unknown): void {
  put(place.holder, place.name, seal(key, placeOf(owner, place.path), JSON.stringify(value)));
}

function openedWith(
  key: DataKey,
  place: SealedPlace,
  envelope: Envelope,
): { readonly json: unknown } | UnreadableSecret {
  const text = open(key, place, envelope);
  if (text === undefined) return new UnreadableSecret(place, envelope.keyId, 'damaged');
  return { json: JSON.parse(text) };
}

/** Defined, not assigned: a map may have a member called `__proto__`. */
function put(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function placeOf({ organisationId, collection, id }: BodyOwner, path: readonly string[]): SealedPlace {
  return { organisationId, collection: collection.name, documentId: id, path };
}

const WHY: Readonly<Record<UnreadableWhy, string>> = {
  unknown_key: "is none of this store's encryption keys",
  damaged: 'does not open it: it was changed, or belongs to another document',
  plain: 'is missing: it is not encrypted as it must be',
};

function refusal(secret: UnreadableSecret): GatewayError {
  const what = `the secret ${secret.path} of ${secret.collection} ${secret.id} cannot be read`;
  return fail('internal', `${what}: its key ${secret.keyId ?? ''} ${WHY[secret.why]}`.replace('  ', ' '), {
    cause: secret,
  });
}
