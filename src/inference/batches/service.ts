// Batches at the provider that a call selects.

import { create } from '@bufbuild/protobuf';
import {
  type GetBatchOutputRequest,
  GetBatchRequestSchema,
} from '../../../gen/gateway/inference/v2/batches_pb.ts';
import type { BinaryAnswer } from '../../../gen/gateway/inference/v2/common_pb.ts';
import { GetFileContentRequestSchema } from '../../../gen/gateway/inference/v2/files_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { contentOf } from '../files/native.ts';
import { placeOf } from '../files/place.ts';
import type { ProviderCopies } from '../files/provider-copies.ts';
import { relays } from '../files/relays.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { runWhole } from '../pipeline/run.ts';

/** The methods of BatchesService. */
export function batchesService(pipeline: Pipeline, copies: ProviderCopies) {
  return {
    ...relays(pipeline, copies, ['createBatch', 'listBatches', 'getBatch', 'cancelBatch']),

    async getBatchOutput(
      { batchId }: GetBatchOutputRequest,
      call: Call,
    ): Promise<AsyncIterable<BinaryAnswer>> {
      const bound = await placeOf(pipeline, call, 'fileContent');
      if (bound === undefined)
        throw fail('not_found', 'batch_id: there is no such batch', { param: 'batch_id' });
      const batch = await runWhole(
        pipeline,
        call,
        'getBatch',
        create(GetBatchRequestSchema, { batchId }),
        undefined,
      );
      if (batch.outputFileId === undefined)
        throw invalidField('batch_id', `names a batch without output: it is ${batch.status ?? 'not done'}`);
      const file = create(GetFileContentRequestSchema, { fileId: batch.outputFileId });
      return contentOf(pipeline, call, bound, file);
    },
  };
}
