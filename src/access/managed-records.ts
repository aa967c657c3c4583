// Which records come from declared state: by source (a file, or a folder of files) what each record was declared as.
import { type Collection, defineCollection, type JsonObject } from '../store/collection.ts';
import { Replica } from '../store/replica.ts';

/** A record that a source declares. */
export interface ManagedRecord {
  /** The list of the document that it is in, e.g. "configs". */
  readonly kind: string;
  /** The file, as people know it. */
  readonly file: string;
  /** As it stands in the file: secrets by the names of their variables. */
  readonly declared: JsonObject;
  /** Keyed hash of the secrets' values; absent: there is none. */
  readonly secretHash?: string;
  /** Ids of records that were made with it, and that go with it. */
  readonly made?: readonly string[];
}

/** What a source declares, by the records' ids. */
export interface DeclaredSourceBody {
  readonly source: string;
  readonly records: Readonly<Record<string, ManagedRecord>>;
}

export const declaredSources: Collection<DeclaredSourceBody> = defineCollection<DeclaredSourceBody>({
  name: 'declared_sources',
  schemaVersion: 1,
  noticed: true,
  fields: [{ name: 'source', type: 'text' }],
  unique: [{ fields: ['source'], per: 'organisation' }],
});

/** Collections of declared state. */
export const declaredCollections: readonly Collection<object>[] = [declaredSources];

/** In memory: asked at every change and every record that is shown. */
export class ManagedRecords {
  /** The file of each record, by the record's id. */
  readonly #files = new Map<string, string>();
  readonly #fixed = new Map<string, string>();
  readonly replica = new Replica<DeclaredSourceBody, DeclaredSourceBody>(declaredSources, {
    row: ({ body }) => body,
    changed: (now, before) => {
      for (const [id, { file }] of Object.entries(before?.records ?? {}))
        if (this.#files.get(id) === file) this.#files.delete(id);
      for (const [id, { file }] of Object.entries(now?.records ?? {})) this.#files.set(id, file);
    },
  });

  /** Whether there is no such record in any organisation. */
  get isEmpty(): boolean {
    return this.#files.size === 0 && this.#fixed.size === 0;
  }

  /** A record that no file declares has this source as long as the gateway runs. */
  fix(id: string, source: string): void {
    this.#fixed.set(id, source);
  }

  /** The file that a record comes from; undefined: it is changed by hand. Ids are unique over all organisations. */
  fileOf(id: string): string | undefined {
    return this.#files.get(id) ?? this.#fixed.get(id);
  }
}
