// The bundle of keys as the store has it: read, made when there is none, changed by compare-and-set.
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../lib/errors.ts';
import type { Document, DocumentStore } from '../store/documents.ts';
import { type DataKey, dataKey } from '../store/sealed-value.ts';
import {
  BUNDLE_ID,
  type EncryptionKeysBody,
  encryptionKeys,
  firstBundle,
  type KeyBundle,
  type OpenBundle,
  openBundle,
  STORE_ORGANISATION,
  sealBundle,
  wrapFor,
} from './key-bundle.ts';
import type { MasterKey } from './master-key.ts';

/** Wrapped bundle keys by master key id. */
export type Masters = EncryptionKeysBody['masters'];

export interface KeptBundle {
  /** As read last. */
  readonly bundle: KeyBundle;
  key(id: string): DataKey | undefined;
  /** Reads it unless it was asked for at this time (of `performance.now`) or later; one reading for all who wait. */
  readSince(askedAt: number): Promise<void>;
  /** Reads it and answers which master keys open it. */
  masters(): Promise<Masters>;
  /** Writes the result of `next`, again after a lost race; undefined changes nothing. */
  change(next: (opened: OpenBundle, masters: Masters) => EncryptionKeysBody | undefined): Promise<void>;
}

const ATTEMPTS = 30;
const scope = { organisationId: STORE_ORGANISATION, workspaceId: undefined };

/** @throws GatewayError store_unavailable naming GATEWAY_ENCRYPTION_KEY when the master key does not open it */
export async function readBundle(
  documents: DocumentStore,
  master: MasterKey,
  now: () => number,
): Promise<KeptBundle> {
  let bundle: KeyBundle;
  let keys: ReadonlyMap<string, DataKey>;
  let version = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<unknown> | undefined;

  /** Never backwards: an older answer is dropped. */
  function take(document: Document<EncryptionKeysBody>, opened: OpenBundle): void {
    if (document.version < version) return;
    version = document.version;
    ({ bundle } = opened);
    keys = new Map(bundle.keys.map(({ id, key }) => [id, dataKey(id, Buffer.from(key, 'base64'))]));
  }

  async function read(): Promise<{ document: Document<EncryptionKeysBody>; opened: OpenBundle }> {
    const askedAt = performance.now();
    const document = (await documents.get(scope, encryptionKeys, BUNDLE_ID)) ?? (await make());
    const opened = openBundle(master, document.body);
    take(document, opened);
    readAt = Math.max(readAt, askedAt);
    return { document, opened };
  }

  /** Two instances may make it at once: the store takes one. */
  async function make(): Promise<Document<EncryptionKeysBody>> {
    const first = firstBundle(master, now());
    const body = sealBundle(first, wrapFor(master, first.key));
    try {
      return await documents.insert(scope, encryptionKeys, { id: BUNDLE_ID, createdAt: now(), body });
    } catch (error) {
      const made = await documents.get(scope, encryptionKeys, BUNDLE_ID);
      if (made === undefined) throw error;
      return made;
    }
  }

  await read();
  return {
    get bundle() {
      return bundle;
    },
    key: (id) => keys.get(id),

    readSince: async (askedAt) => {
      while (readAt < askedAt) {
        reading ??= read().finally(() => {
          reading = undefined;
        });
        await reading;
      }
    },

    masters: async () => (await read()).document.body.masters,

    change: async (next) => {
      for (let attempt = 0; ; attempt++) {
        const { document, opened } = await read();
        const body = next(opened, document.body.masters);
        if (body === undefined) return;
        try {
          const order = { body, updatedAt: now() };
          take(
            await documents.update(scope, encryptionKeys, BUNDLE_ID, document.version, order),
            openBundle(master, body),
          );
          return;
        } catch (error) {
          const lost = error instanceof GatewayError && error.reason === 'version_conflict';
          if (!lost || attempt >= ATTEMPTS) throw error;
          await sleep(Math.random() * 50);
        }
      }
    },
  };
}
