// Which records come from which source: read before, kept while records are worked out, written with them.
import { randomUUID } from 'node:crypto';
import {
  type DeclaredSourceBody,
  declaredSources,
  type ManagedRecord,
} from '../../access/managed-records.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { LIMITS } from '../../store/documents.ts';
import type { DeclaredRecord } from './kind.ts';
import type { StagedDocuments } from './staged-documents.ts';

export class OwnedRecords {
  readonly #organisationId: string;
  readonly #source: string;
  readonly #sources: readonly Document<DeclaredSourceBody>[];
  readonly #kept = new Map<string, ManagedRecord>();
  readonly #ids = new Map<DeclaredRecord, string>();

  static async read(
    documents: Pick<DocumentStore, 'page'>,
    organisationId: string,
    source: string,
  ): Promise<OwnedRecords> {
    const scope = { organisationId, workspaceId: undefined };
    const page = await documents.page(scope, declaredSources, { pageSize: LIMITS.pageSize });
    return new OwnedRecords(organisationId, source, page.documents);
  }

  private constructor(
    organisationId: string,
    source: string,
    sources: readonly Document<DeclaredSourceBody>[],
  ) {
    this.#organisationId = organisationId;
    this.#source = source;
    this.#sources = sources;
  }

  /** What a record was declared as before, by whichever source. */
  of(id: string): ManagedRecord | undefined {
    for (const { body } of this.#sources) if (Object.hasOwn(body.records, id)) return body.records[id];
    return undefined;
  }

  before(id: string): ManagedRecord | undefined {
    return this.of(id);
  }

  /** The document of a record that was worked out. */
  idOf(record: DeclaredRecord): string | undefined {
    return this.#ids.get(record);
  }

  /** A record is this source's from now on. */
  keep(record: DeclaredRecord, id: string, managed: ManagedRecord): void {
    this.#ids.set(record, id);
    this.#kept.set(id, managed);
  }

  /** Whether another source declares a record. */
  isOfOther(id: string): boolean {
    return this.#sources.some(({ body }) => body.source !== this.#source && Object.hasOwn(body.records, id));
  }

  /** A record stays another source's, which says the same. */
  leave(record: DeclaredRecord, id: string): void {
    this.#ids.set(record, id);
  }

  /** Records of the source that it no longer declares. */
  gone(kind: string): [string, ManagedRecord][] {
    const own = this.#sources.find(({ body }) => body.source === this.#source)?.body.records ?? {};
    return Object.entries(own).filter(([id, managed]) => managed.kind === kind && !this.#kept.has(id));
  }

  /** Stages what changed of it. @param at Unix milliseconds */
  async write(staged: StagedDocuments, at: number): Promise<void> {
    staged.owner = -1;
    const scope = { organisationId: this.#organisationId, workspaceId: undefined };
    const records = Object.fromEntries([...this.#kept].sort(([a], [b]) => (a < b ? -1 : 1)));
    const own = this.#sources.find(({ body }) => body.source === this.#source);
    const body: DeclaredSourceBody = { source: this.#source, records };
    if (own !== undefined)
      await staged.update(scope, declaredSources, own.id, own.version, { body, updatedAt: at });
    else if (this.#kept.size > 0)
      await staged.insert(scope, declaredSources, { id: randomUUID(), createdAt: at, body });
    for (const other of this.#sources) {
      if (other === own || Object.keys(other.body.records).every((id) => !this.#kept.has(id))) continue;
      const rest = Object.entries(other.body.records).filter(([id]) => !this.#kept.has(id));
      const change = { body: { ...other.body, records: Object.fromEntries(rest) }, updatedAt: at };
      await staged.update(scope, declaredSources, other.id, other.version, change);
    }
  }
}
