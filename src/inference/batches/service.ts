// Batches: at the provider that a call selects, where that has them, else run by the gateway.
import { create } from '@bufbuild/protobuf';
import {
  type Batch,
  type BatchList,
  BatchListSchema,
  type CancelBatchRequest,
  type CreateBatchRequest,
  type GetBatchOutputRequest,
  type GetBatchRequest,
  GetBatchRequestSchema,
  type ListBatchesRequest,
} from '../../../gen/gateway/inference/v2/batches_pb.ts';
import type { BinaryAnswer } from '../../../gen/gateway/inference/v2/common_pb.ts';
import { GetFileContentRequestSchema } from '../../../gen/gateway/inference/v2/files_pb.ts';
import type { Call } from '../../call/call.ts';
import { invalidField } from '../../lib/errors.ts';
import { contentOf } from '../files/native.ts';
import type { OwnFiles } from '../files/own-files.ts';
import { ownerOf } from '../files/owner.ts';
import { placeOf } from '../files/place.ts';
import { fileNotFound, type ProviderCopies } from '../files/provider-copies.ts';
import { relays } from '../files/relays.ts';
import { endsOf, ownContent } from '../files/service.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { runWhole } from '../pipeline/run.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { OWN_BATCH } from './collection.ts';
import { batchMessage, batchNotFound, type OwnBatches } from './own-batches.ts';
import { type SettleDeps, settled } from './settle-output.ts';

/** Batches of a page that does not say. */
const PAGE = 20;
const isOwn = (id: string): boolean => id.startsWith(OWN_BATCH);

/** What the service is made with. */
interface BatchesDeps {
  readonly files: OwnFiles;
  readonly copies: ProviderCopies;
  readonly batches: OwnBatches;
  readonly settling: SettleDeps;
}

/** The methods of BatchesService. */
export function batchesService(pipeline: Pipeline, deps: BatchesDeps) {
  const { copies, batches, settling } = deps;
  const relayed = relays(pipeline, copies, ['createBatch', 'listBatches', 'getBatch', 'cancelBatch']);
  const atProvider = async (call: Call, id: string, name: 'getBatch' | 'cancelBatch' | 'fileContent') => {
    const bound = await placeOf(pipeline, call, name);
    if (bound === undefined) throw batchNotFound(id);
    return bound;
  };

  const seen = async (call: Call, bound: BoundTarget, batch: Batch): Promise<Batch> => {
    await settling.notes.outputs(call, bound, batch);
    return batch;
  };

  return {
    async createBatch(request: CreateBatchRequest, call: Call): Promise<Batch> {
      const bound = await placeOf(pipeline, call, 'createBatch', true);
      if (bound !== undefined) {
        const batch = await relayed.createBatch(request, call);
        await settling.notes.batch(call, bound, batch, request);
        return batch;
      }
      return batchMessage(await batches.create(call, request));
    },

    async listBatches(request: ListBatchesRequest, call: Call): Promise<BatchList> {
      const bound = await placeOf(pipeline, call, 'listBatches', true);
      if (bound !== undefined && !isOwn(request.after ?? '')) {
        const page = await relayed.listBatches(request, call);
        for (const batch of page.data) await settling.notes.outputs(call, bound, batch);
        return page;
      }
      const { after, limit = PAGE } = request;
      const { documents, more } = await batches.list(ownerOf(call), after, limit);
      return create(BatchListSchema, {
        object: 'list',
        data: documents.map(batchMessage),
        hasMore: more,
        ...endsOf(documents),
      });
    },

    async getBatch(request: GetBatchRequest, call: Call): Promise<Batch> {
      const { batchId: id } = request;
      if (isOwn(id)) return batchMessage(await batches.get(ownerOf(call), id));
      const bound = await atProvider(call, id, 'getBatch');
      return seen(call, bound, await relayed.getBatch(request, call));
    },

    async cancelBatch(request: CancelBatchRequest, call: Call): Promise<Batch> {
      const { batchId: id } = request;
      if (isOwn(id)) return batchMessage(await batches.cancel(ownerOf(call), id));
      const bound = await atProvider(call, id, 'cancelBatch');
      return seen(call, bound, await relayed.cancelBatch(request, call));
    },

    async getBatchOutput(
      { batchId }: GetBatchOutputRequest,
      call: Call,
    ): Promise<AsyncIterable<BinaryAnswer>> {
      if (isOwn(batchId)) return ownOutput(deps, ownerOf(call), batchId);
      return providerOutput(
        pipeline,
        settling,
        call,
        await atProvider(call, batchId, 'fileContent'),
        batchId,
      );
    },
  };
}

/** The output of a batch that the gateway runs. */
async function ownOutput(
  { files, batches }: Pick<BatchesDeps, 'files' | 'batches'>,
  owner: ReturnType<typeof ownerOf>,
  batchId: string,
): Promise<AsyncIterable<BinaryAnswer>> {
  const id = outputOf(batchMessage(await batches.get(owner, batchId)));
  const file = await files.get(owner, id);
  if (file === undefined) throw fileNotFound(id);
  return ownContent(files, file);
}

/** The output of a provider's batch, whose rows are settled with it. */
async function providerOutput(
  pipeline: Pipeline,
  settling: SettleDeps,
  call: Call,
  bound: BoundTarget,
  batchId: string,
): Promise<AsyncIterable<BinaryAnswer>> {
  const asked = create(GetBatchRequestSchema, { batchId });
  const batch = await runWhole(pipeline, call, 'getBatch', asked, undefined);
  const fileId = outputOf(batch);
  await settling.notes.outputs(call, bound, { ...batch, id: batchId });
  const content = create(GetFileContentRequestSchema, { fileId });
  return settled(settling, { call, bound, fileId, batchId }, () =>
    contentOf(pipeline, call, bound, 'fileContent', content),
  );
}

/** @throws GatewayError validation_failed while there is none */
function outputOf({ outputFileId, status, errorFileId }: Batch): string {
  if (outputFileId !== undefined) return outputFileId;
  const errors = errorFileId === undefined ? '' : `; its errors are in ${errorFileId}`;
  throw invalidField('batch_id', `names a batch without output: it is ${status ?? 'not done'}${errors}`);
}
