// Batches that the gateway runs itself: made, listed, read and stopped. Running is the runner's (runner.ts).
import { create } from '@bufbuild/protobuf';
import {
  type Batch,
  BatchSchema,
  type CreateBatchRequest,
} from '../../../gen/gateway/inference/v2/batches_pb.ts';
import type { Call } from '../../call/call.ts';
import { callerOf } from '../../call/kept-caller.ts';
import { fail, GatewayError, invalidField } from '../../lib/errors.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { pageAfter } from '../../store/page-after.ts';
import { seconds } from '../files/message.ts';
import type { FileOwner, OwnFiles } from '../files/own-files.ts';
import { ownerOf } from '../files/owner.ts';
import { fileNotFound } from '../files/provider-copies.ts';
import { type BatchBody, batches, isOpen, OWN_BATCH } from './collection.ts';
import { ENDPOINTS } from './endpoints.ts';

export type OwnBatch = Document<BatchBody>;

export interface OwnBatchesDeps {
  readonly documents: DocumentStore;
  readonly files: OwnFiles;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const RACES = 5;
const DAY_MS = 86_400_000;

/** The batches of all workspaces. */
export class OwnBatches {
  readonly #deps: OwnBatchesDeps;

  constructor(deps: OwnBatchesDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError validation_failed naming the member, not_found for the file */
  async create(call: Call, request: CreateBatchRequest): Promise<OwnBatch> {
    const { documents, files, now } = this.#deps;
    const owner = ownerOf(call);
    const { endpoint, inputFileId, completionWindow, metadata, outputExpiresAfter } = request;
    if (!ENDPOINTS.has(endpoint))
      throw invalidField('endpoint', `must be one of ${[...ENDPOINTS.keys()].join(', ')}`);
    if (completionWindow !== '24h') throw invalidField('completion_window', 'must be 24h');
    const input = await files.get(owner, inputFileId);
    if (input === undefined) throw fileNotFound(inputFileId, 'input_file_id');
    if (input.body.purpose !== 'batch')
      throw invalidField('input_file_id', 'names a file of another purpose than batch');
    const body: BatchBody = {
      endpoint,
      inputFileId,
      window: completionWindow,
      ...(metadata === undefined ? {} : { metadata: metadata as JsonObject }),
      status: 'validating',
      counts: { total: 0, completed: 0, failed: 0 },
      faults: [],
      ...(outputExpiresAfter === undefined
        ? {}
        : { outputExpiresMs: Number(outputExpiresAfter.seconds) * 1000 }),
      caller: callerOf(call),
      expiresAt: now() + DAY_MS,
    };
    return documents.insert(owner, batches, { id: OWN_BATCH + timeOrderedId(), createdAt: now(), body });
  }

  /** @throws GatewayError not_found */
  async get(owner: FileOwner, id: string): Promise<OwnBatch> {
    const found = await this.#deps.documents.get(owner, batches, id);
    if (found?.id !== id) throw batchNotFound(id);
    return found;
  }

  /** @throws GatewayError validation_failed for an unknown `after` */
  list(owner: FileOwner, after: string | undefined, limit: number) {
    return pageAfter(this.#deps.documents, owner, batches, { after, limit, order: 'desc' });
  }

  /** Rows that have not begun are not run. @throws GatewayError not_found, validation_failed for one that has ended */
  async cancel(owner: FileOwner, id: string): Promise<OwnBatch> {
    const { documents, now } = this.#deps;
    for (let race = 1; ; race++) {
      const found = await this.get(owner, id);
      if (!isOpen(found.body)) throw invalidField('batch_id', `names a batch that is ${found.body.status}`);
      if (found.body.status === 'cancelling') return found;
      const body: BatchBody = { ...found.body, status: 'cancelling', cancellingAt: now() };
      try {
        return await documents.update(owner, batches, id, found.version, { body, updatedAt: now() });
      } catch (error) {
        const lost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!lost || race === RACES) throw error;
      }
    }
  }
}

export function batchNotFound(id: string): GatewayError {
  return fail('not_found', `batch_id: there is no batch ${id.slice(0, 100)} in this workspace`, {
    param: 'batch_id',
  });
}

/** The batch as callers see it. */
export function batchMessage({ id, createdAt, body }: OwnBatch): Batch {
  const { counts, status, faults, metadata, endedAt } = body;
  const at = (ms: number | undefined): bigint | undefined => (ms === undefined ? undefined : seconds(ms));
  const ended = (one: BatchBody['status']): bigint | undefined => (status === one ? at(endedAt) : undefined);
  const members = {
    inProgressAt: at(body.inProgressAt),
    finalizingAt: at(body.finalizingAt),
    cancellingAt: at(body.cancellingAt),
    completedAt: ended('completed'),
    failedAt: ended('failed'),
    expiredAt: ended('expired'),
    cancelledAt: ended('cancelled'),
    ...(isOpen(body) ? {} : { outputFileId: body.outputFileId, errorFileId: body.errorFileId }),
  };
  return create(BatchSchema, {
    id,
    object: 'batch',
    endpoint: body.endpoint,
    inputFileId: body.inputFileId,
    completionWindow: body.window,
    status,
    createdAt: seconds(createdAt),
    expiresAt: seconds(body.expiresAt),
    requestCounts: {
      total: BigInt(counts.total),
      completed: BigInt(counts.completed),
      failed: BigInt(counts.failed),
    },
    ...(faults.length === 0
      ? {}
      : {
          errors: {
            object: 'list',
            data: faults.map(({ line, ...fault }) => ({
              ...fault,
              ...(line === undefined ? {} : { line: BigInt(line) }),
            })),
          },
        }),
    ...(metadata === undefined ? {} : { metadata: metadata as JsonObject & Record<string, never> }),
    ...Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)),
  });
}
