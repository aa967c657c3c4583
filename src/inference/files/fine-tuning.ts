// Fine-tuning jobs, relayed. Who makes one is noted; a job that has ended comes into that caller's books, once, by the tokens
// that the model was trained on, when it is next seen.
import type {
  CancelFineTuningJobRequest,
  CreateFineTuningJobRequest,
  FineTuningJob,
  FineTuningJobList,
  GetFineTuningJobRequest,
  ListFineTuningJobsRequest,
} from '../../../gen/gateway/inference/v2/fine_tuning_pb.ts';
import type { Call } from '../../call/call.ts';
import { FINE_TUNING } from '../../providers/relayed-rows.ts';
import { mediaUsage } from '../../providers/usage/media.ts';
import { BookedOnce } from '../batches/booked-once.ts';
import type { SettleDeps } from '../batches/settle-output.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { bindOnly } from '../pipeline/run.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { routingOf } from './place.ts';
import type { ProviderCopies } from './provider-copies.ts';
import { relays } from './relays.ts';

/** Jobs of a page that are looked at together. */
const AT_ONCE = 10;
const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);
export const JOBS = '/v1/fine_tuning/jobs';

/** The methods of FineTuningService. */
export function fineTuningService(pipeline: Pipeline, copies: ProviderCopies, settling: SettleDeps) {
  const relayed = relays(pipeline, copies, FINE_TUNING);
  const trained = new BookedOnce(settling);
  const seen = async (call: Call, jobs: readonly FineTuningJob[]): Promise<void> => {
    const ended = jobs.filter(isTrained);
    const bound = ended.length === 0 ? undefined : await boundOf(pipeline, call, undefined);
    if (bound === undefined) return;
    for (let at = 0; at < ended.length; at += AT_ONCE)
      await Promise.all(ended.slice(at, at + AT_ONCE).map((job) => bookTrained(trained, call, bound, job)));
  };

  return {
    ...relayed,

    async createFineTuningJob(request: CreateFineTuningJobRequest, call: Call): Promise<FineTuningJob> {
      const job = await relayed.createFineTuningJob(request, call);
      const bound = await boundOf(pipeline, call, request.model);
      if (bound !== undefined) await settling.notes.job(call, bound, job.id, job.model ?? request.model);
      return job;
    },

    async getFineTuningJob(request: GetFineTuningJobRequest, call: Call): Promise<FineTuningJob> {
      const job = await relayed.getFineTuningJob(request, call);
      await seen(call, [job]);
      return job;
    },

    async cancelFineTuningJob(request: CancelFineTuningJobRequest, call: Call): Promise<FineTuningJob> {
      const job = await relayed.cancelFineTuningJob(request, call);
      await seen(call, [job]);
      return job;
    },

    async listFineTuningJobs(request: ListFineTuningJobsRequest, call: Call): Promise<FineTuningJobList> {
      const page = await relayed.listFineTuningJobs(request, call);
      await seen(call, page.data);
      return page;
    },
  };
}

function isTrained({ id, status, trainedTokens }: FineTuningJob): boolean {
  return id !== '' && ENDED.has(status ?? '') && trainedTokens !== undefined && trainedTokens > 0n;
}

/** The one provider that the call has gone to; undefined: it is not known which of several. */
async function boundOf(
  pipeline: Pipeline,
  call: Call,
  model: string | undefined,
): Promise<BoundTarget | undefined> {
  const routing = await routingOf(pipeline, call, model);
  return routing?.plan.targets.length === 1 ? bindOnly(call, routing) : undefined;
}

/** A job that was not made through the gateway is in no books. @throws GatewayError store_unavailable */
function bookTrained(trained: BookedOnce, call: Call, bound: BoundTarget, job: FineTuningJob): Promise<void> {
  return trained.book(call, bound, 'job', job.id, ({ model = job.model }) => ({
    endpoint: JOBS,
    jobId: job.id,
    model,
    row: {
      customId: job.id,
      status: 200,
      model: job.fineTunedModel ?? '',
      usage: mediaUsage({ trainedTokens: Number(job.trainedTokens) }),
    },
  }));
}
