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
  const kept = new Bundle(documents, master, now);
  await kept.masters();
  return kept;
}

class Bundle implements KeptBundle {
  readonly #documents: DocumentStore;
  readonly #master: MasterKey;
  readonly #now: () => number;
  #bundle!: KeyBundle;
  #keys!: ReadonlyMap<string, DataKey>;
  #version = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<unknown> | undefined;

  constructor(documents: DocumentStore, master: MasterKey, now: () => number) {
    this.#documents = documents;
    this.#master = master;
    this.#now = now;
  }

  get bundle(): KeyBundle {
    return this.#bundle;
  }

  key(id: string): DataKey | undefined {
    return this.#keys.get(id);
  }

  async readSince(askedAt: number): Promise<void> {
    while (this.#readAt < askedAt) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
  }

  async masters(): Promise<Masters> {
    return (await this.#read()).document.body.masters;
  }

  async change(
    next: (opened: OpenBundle, masters: Masters) => EncryptionKeysBody | undefined,
  ): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const { document, opened } = await this.#read();
      const body = next(opened, document.body.masters);
      if (body === undefined) return;
      try {
        const order = { body, updatedAt: this.#now() };
        const { version } = document;
        const written = await this.#documents.update(scope, encryptionKeys, BUNDLE_ID, version, order);
        this.#take(written, openBundle(this.#master, body));
        return;
      } catch (error) {
        const lost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!lost || attempt >= ATTEMPTS) throw error;
        await sleep(Math.random() * 50);
      }
    }
  }

  /** Never backwards: an older answer is dropped. */
  #take(document: Document<EncryptionKeysBody>, opened: OpenBundle): void {
    if (document.version < this.#version) return;
    this.#version = document.version;
    this.#bundle = opened.bundle;
    this.#keys = new Map(
      this.#bundle.keys.map(({ id, key }) => [id, dataKey(id, Buffer.from(key, 'base64'))]),
    );
  }

  async #read(): Promise<{ document: Document<EncryptionKeysBody>; opened: OpenBundle }> {
    const askedAt = performance.now();
    const document = (await this.#documents.get(scope, encryptionKeys, BUNDLE_ID)) ?? (await this.#make());
    const opened = openBundle(this.#master, document.body);
    this.#take(document, opened);
    this.#readAt = Math.max(this.#readAt, askedAt);
    return { document, opened };
  }

  /** Two instances may make it at once: the store takes one. */
  async #make(): Promise<Document<EncryptionKeysBody>> {
    const first = firstBundle(this.#master, this.#now());
    const body = sealBundle(first, wrapFor(this.#master, first.key));
    try {
      const made = { id: BUNDLE_ID, createdAt: this.#now(), body };
      return await this.#documents.insert(scope, encryptionKeys, made);
    } catch (error) {
      const made = await this.#documents.get(scope, encryptionKeys, BUNDLE_ID);
      if (made === undefined) throw error;
      return made;
    }
  }
}
