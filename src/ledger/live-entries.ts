// Entries of this process as they are made, for callers that read along.
import type { RequestRecord } from '../call/record.ts';

/** A caller that reads along. */
export interface LiveReader {
  readonly entry: (entry: RequestRecord) => void;
  /** The gateway stops: nothing more comes. */
  readonly over: () => void;
}

/** Costs an entry nothing without readers. */
export class LiveEntries {
  readonly #readers = new Map<string, Set<LiveReader>>();

  tell(entry: RequestRecord): void {
    const readers = this.#readers.get(entry.organisationId);
    if (readers !== undefined) for (const reader of readers) reader.entry(entry);
  }

  /** How many read along in an organisation. */
  readersOf(organisationId: string): number {
    return this.#readers.get(organisationId)?.size ?? 0;
  }

  /** Ends all that read along. */
  close(): void {
    for (const readers of this.#readers.values()) for (const reader of readers) reader.over();
  }

  /** @returns ends it */
  follow(organisationId: string, reader: LiveReader): () => void {
    const readers = this.#readers.get(organisationId) ?? new Set();
    this.#readers.set(organisationId, readers.add(reader));
    return () => {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(organisationId);
    };
  }
}
