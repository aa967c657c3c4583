// Work that a provider does after its call has ended: who asked for it is noted, and it comes into that caller's books once,
// when its end is first seen, on however many instances.
import type { Call } from '../../call/call.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { OutputRow } from './output-rows.ts';
import type { ProviderBatchBody } from './provider-collection.ts';
import { noteId } from './provider-notes.ts';
import type { RowsToBook } from './row-books.ts';
import type { SettleDeps } from './settle-output.ts';

/** Works that are known to be booked, or to be none of the gateway's. */
const MOST_KNOWN = 10_000;

/** What is booked of one. */
export interface EndedWork extends Pick<RowsToBook, 'endpoint' | 'model' | 'jobId' | 'plain'> {
  readonly row: Omit<OutputRow, 'line'>;
}

/** Books each work once. */
export class BookedOnce {
  readonly #deps: SettleDeps;
  readonly #known = new LruCache<true>(MOST_KNOWN);

  constructor(deps: SettleDeps) {
    this.#deps = deps;
  }

  /** Books what has ended, unless it is booked or was not made through the gateway. @throws GatewayError store_unavailable */
  async book(
    call: Call,
    bound: BoundTarget,
    kind: ProviderBatchBody['kind'],
    name: string,
    ended: (note: ProviderBatchBody) => EndedWork,
  ): Promise<void> {
    const { notes, books, now } = this.#deps;
    const id = noteId(bound, kind, name);
    const known = `${call.principal?.organisationId ?? ''} ${id}`;
    if (this.#known.get(known) !== undefined) return;
    const begins = { at: now(), line: 0, done: false };
    const note = await notes.change(call, id, (body) =>
      body.settling === undefined ? { ...body, settling: begins } : undefined,
    );
    const settling = note?.body.settling;
    if (note !== undefined && settling !== undefined && !settling.done) {
      const { row, ...of } = ended(note.body);
      await books.book({
        ...of,
        call,
        bound,
        id,
        at: settling.at,
        maker: note.body.maker,
        batchId: undefined,
        rows: [{ ...row, line: 1 }],
        again: settling.at !== begins.at,
      });
      await this.done(call, bound, kind, name);
    }
    this.#known.set(known, true);
  }

  /** Its own call has booked it. @throws GatewayError store_unavailable */
  async done(call: Call, bound: BoundTarget, kind: ProviderBatchBody['kind'], name: string): Promise<void> {
    const { notes, now } = this.#deps;
    await notes.change(call, noteId(bound, kind, name), (body) => ({
      ...body,
      settling: { at: body.settling?.at ?? now(), line: 1, done: true },
    }));
  }
}
