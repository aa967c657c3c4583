// Notes about batches that providers run, made while their files and objects pass: who made a batch, of which model, and
// which files it has written. They say in whose books its rows are.
import { createHash } from 'node:crypto';
import type { Batch, CreateBatchRequest } from '../../../gen/gateway/inference/v2/batches_pb.ts';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { GatewayError } from '../../lib/errors.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import { locate } from '../../providers/locate.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { type BatchMaker, type ProviderBatchBody, providerBatches } from './provider-collection.ts';

/** What notes are kept with. */
export interface NotesDeps {
  readonly documents: DocumentStore;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Called when a note could not be written: rows are then booked for who fetches them. */
  readonly onTrouble: (error: unknown, what: string) => void;
}

export type BatchNote = Document<ProviderBatchBody>;

const MOST_KNOWN = 10_000;
const RACES = 8;

/** The notes of all organisations. */
export class ProviderNotes {
  readonly #deps: NotesDeps;
  /** Notes that this process has written or found. */
  readonly #known = new LruCache<true>(MOST_KNOWN);

  constructor(deps: NotesDeps) {
    this.#deps = deps;
  }

  /** A file of requests is at the provider. @param model of its first row */
  async input(call: Call, bound: BoundTarget, fileId: string, model: string | undefined): Promise<void> {
    if (model === undefined) return;
    await this.#note(call, noteId(bound, 'input', fileId), { kind: 'input', model });
  }

  /** A batch was made. */
  async batch(
    call: Call,
    bound: BoundTarget,
    { id }: Pick<Batch, 'id'>,
    { inputFileId, endpoint }: Pick<CreateBatchRequest, 'endpoint'> & { readonly inputFileId?: string },
  ): Promise<void> {
    await this.#try(async () => {
      const input = inputFileId && (await this.get(call, bound, 'input', inputFileId));
      const model = input ? input.body.model : undefined;
      const named = model === undefined ? {} : { model };
      const body: ProviderBatchBody = {
        kind: 'batch',
        endpoint,
        batchId: id,
        maker: makerOf(call),
        ...named,
      };
      await this.insert(call, noteId(bound, 'batch', id), body);
    });
  }

  /** A fine-tuning job was made. @param model that is trained */
  async job(call: Call, bound: BoundTarget, id: string, model: string): Promise<void> {
    await this.#note(call, noteId(bound, 'job', id), { kind: 'job', model, maker: makerOf(call) });
  }

  /** A provider makes a response in the background. @throws GatewayError store_unavailable */
  async response(call: Call, bound: BoundTarget, id: string): Promise<void> {
    const body: ProviderBatchBody = { kind: 'response', model: call.record.model, maker: makerOf(call) };
    await this.insert(call, noteId(bound, 'response', id), body);
  }

  /** A batch was seen: the files that it has written. */
  async outputs(
    call: Call,
    bound: BoundTarget,
    { id, outputFileId, errorFileId }: Pick<Batch, 'id' | 'outputFileId' | 'errorFileId'>,
  ): Promise<void> {
    for (const fileId of [outputFileId, errorFileId])
      if (fileId) await this.#note(call, noteId(bound, 'output', fileId), { kind: 'output', batchId: id });
  }

  /** @throws GatewayError store_unavailable */
  get(
    call: Call,
    bound: BoundTarget,
    kind: ProviderBatchBody['kind'],
    id: string,
  ): Promise<BatchNote | undefined> {
    return this.#deps.documents.get(scopeOf(call), providerBatches, noteId(bound, kind, id));
  }

  /** The note, or the one that was there first. @throws GatewayError store_unavailable */
  async insert(call: Call, id: string, body: ProviderBatchBody): Promise<BatchNote> {
    const { documents, now } = this.#deps;
    const scope = scopeOf(call);
    try {
      return await documents.insert(scope, providerBatches, { id, createdAt: now(), body });
    } catch (error) {
      if (!(error instanceof GatewayError) || error.reason !== 'conflict') throw error;
      const found = await documents.get(scope, providerBatches, id);
      if (found === undefined) throw error;
      return found;
    }
  }

  /** Writes a change of the newest version; `make` without a result changes nothing. @throws GatewayError store_unavailable */
  async change(
    call: Call,
    id: string,
    make: (body: ProviderBatchBody) => ProviderBatchBody | undefined,
  ): Promise<BatchNote | undefined> {
    const { documents, now } = this.#deps;
    const scope = scopeOf(call);
    for (let race = 1; ; race++) {
      const found = await documents.get(scope, providerBatches, id);
      const body = found && make(found.body);
      if (found === undefined || body === undefined) return found;
      try {
        return await documents.update(scope, providerBatches, id, found.version, { body, updatedAt: now() });
      } catch (error) {
        const lost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!lost || race === RACES) throw error;
      }
    }
  }

  async #note(call: Call, id: string, body: ProviderBatchBody): Promise<void> {
    const known = `${scopeOf(call).organisationId} ${id}`;
    if (this.#known.get(known) !== undefined) return;
    await this.#try(async () => {
      await this.insert(call, id, body);
      this.#known.set(known, true);
    });
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.onTrouble(error, 'a note about a batch or a job of a provider could not be written');
    }
  }
}

/** The organisation's: the rows of an output are booked once, by any workspace that fetches it. */
function scopeOf({ principal }: Call): TenantScope {
  return { organisationId: principal?.organisationId ?? '', workspaceId: undefined };
}

/** The name of a note. Files and batches are told apart by where the provider is, however the call selected it. */
export function noteId({ target }: BoundTarget, kind: ProviderBatchBody['kind'], id: string): string {
  const { origin, path } = locate(target, undefined, undefined);
  const digest = createHash('sha256').update(JSON.stringify([target.provider.id, origin, path, kind, id]));
  return `pb-${digest.digest('base64url')}`;
}

function makerOf({ principal, record }: Call): BatchMaker {
  const { scopes, ...rest } = principal!;
  return {
    keyId: rest.keyId,
    metadata: record.metadata,
    ...(rest.workspaceId === undefined ? {} : { workspaceId: rest.workspaceId }),
    ...(rest.userId === undefined ? {} : { userId: rest.userId }),
    ...(rest.token === undefined
      ? {}
      : { token: JSON.parse(JSON.stringify({ ...rest, scopes: [...scopes] })) as JsonObject }),
  };
}
