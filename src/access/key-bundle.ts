// All keys of a store as one document, so that every change of them is one compare-and-set. The keys are sealed by
// a bundle key, and that is wrapped by each master key that may open them: a master key is changed without
// touching what the data keys sealed, and two can open the store while instances move from one to the other.
import { randomBytes } from 'node:crypto';
import { fail } from '../lib/errors.ts';
import { type Collection, defineCollection } from '../store/collection.ts';
import { dataKey, open, readEnvelope, type SealedPlace, seal } from '../store/sealed-value.ts';
import { hashSecretOf } from './key-hash.ts';
import type { MasterKey } from './master-key.ts';

/** The stored bundle. */
export interface EncryptionKeysBody {
  readonly format: 1;
  /** The bundle's key, wrapped by each master key: by the master key's id. */
  readonly masters: Readonly<Record<string, string>>;
  /** A `KeyBundle` as JSON. */
  readonly sealed: string;
}

export const encryptionKeys: Collection<EncryptionKeysBody> = defineCollection<EncryptionKeysBody>({
  name: 'encryption_keys',
  schemaVersion: 1,
});

/** The organisation that the store's own documents belong to; tenants have UUIDs. */
export const STORE_ORGANISATION = 'sluice';
export const BUNDLE_ID = 'encryption';

/** A data key as it is kept. */
export interface KeptKey {
  readonly id: string;
  /** 32 bytes in base64. */
  readonly key: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Since when it seals nothing any more; what it sealed still opens. */
  readonly retiredAt?: number;
}

/** What the bundle holds. */
export interface KeyBundle {
  /** 32 bytes in base64: API key hashes are made with it, whatever becomes of the other keys. */
  readonly hashSecret: string;
  /** Which key seals. */
  readonly current: string;
  readonly keys: readonly KeptKey[];
}

/** An opened bundle; `key` seals it. */
export interface OpenBundle {
  readonly bundle: KeyBundle;
  readonly key: Uint8Array;
}

/** The first bundle of a store. API key hashes go on from what they were made with before there were bundles. */
export function firstBundle(master: MasterKey, now: number): OpenBundle {
  const first = newDataKey(now);
  const hashSecret = Buffer.from(hashSecretOf(master.bytes)).toString('base64');
  return { bundle: { hashSecret, current: first.id, keys: [first] }, key: randomBytes(32) };
}

export function newDataKey(now: number): KeptKey {
  return {
    id: `dk_${randomBytes(6).toString('hex')}`,
    key: randomBytes(32).toString('base64'),
    createdAt: now,
  };
}

/** The bundle as it is stored. @param masters wrapped bundle keys by master key id */
export function sealBundle(
  { bundle, key }: OpenBundle,
  masters: Readonly<Record<string, string>>,
): EncryptionKeysBody {
  return {
    format: 1,
    masters,
    sealed: seal(dataKey('bundle', key), placeOf('sealed'), JSON.stringify(bundle)),
  };
}

/** The bundle's key as one master key opens it. */
export function wrapFor(master: MasterKey, key: Uint8Array): Readonly<Record<string, string>> {
  const text = Buffer.from(key).toString('base64');
  return { [master.id]: seal(master.wrapping, placeOf('masters', master.id), text) };
}

/** @throws GatewayError store_unavailable, naming the master keys, when this one does not open it */
export function openBundle(master: MasterKey, body: EncryptionKeysBody): OpenBundle {
  const wrapped = readEnvelope(body.masters[master.id]);
  const key = wrapped && open(master.wrapping, placeOf('masters', master.id), wrapped);
  if (key === undefined) {
    throw fail(
      'store_unavailable',
      `the key of ${master.source} is not the key of this store: it is ${master.id}, and the store opens with ` +
        Object.keys(body.masters).join(' or '),
    );
  }
  const bytes = Buffer.from(key, 'base64');
  const sealed = readEnvelope(body.sealed);
  const text = sealed && open(dataKey('bundle', bytes), placeOf('sealed'), sealed);
  if (text === undefined) throw fail('store_unavailable', "the store's encryption keys are damaged");
  return { bundle: JSON.parse(text) as KeyBundle, key: bytes };
}

function placeOf(...path: string[]): SealedPlace {
  return {
    organisationId: STORE_ORGANISATION,
    collection: encryptionKeys.name,
    documentId: BUNDLE_ID,
    path,
  };
}
