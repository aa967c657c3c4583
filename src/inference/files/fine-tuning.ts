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
import { LruCache } from '../../lib/lru-cache.ts';
import { FINE_TUNING } from '../../providers/relayed-rows.ts';
import { mediaUsage } from '../../providers/usage/media.ts';
import { noteId } from '../batches/provider-notes.ts';
import type { SettleDeps } from '../batches/settle-output.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { bindOnly } from '../pipeline/run.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { routingOf } from './place.ts';
import type { ProviderCopies } from './provider-copies.ts';
import { relays } from './relays.ts';

/** Jobs that are known to be booked, or to be none of the gateway's. */
const MOST_KNOWN = 10_000;
/** Jobs of a page that are looked at together. */
const AT_ONCE = 10;
const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);
export const JOBS = '/v1/fine_tuning/jobs';

/** The methods of FineTuningService. */
export function fineTuningService(pipeline: Pipeline, copies: ProviderCopies, settling: SettleDeps) {
  const relayed = relays(pipeline, copies, FINE_TUNING);
  const trained = new TrainedJobs(settling);
  const seen = async (call: Call, jobs: readonly FineTuningJob[]): Promise<void> => {
    const ended = jobs.filter(isTrained);
    const bound = ended.length === 0 ? undefined : await boundOf(pipeline, call, undefined);
    if (bound === undefined) return;
    for (let at = 0; at < ended.length; at += AT_ONCE)
      await Promise.all(ended.slice(at, at + AT_ONCE).map((job) => trained.book(call, bound, job)));
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

/** Books each job once, on however many instances it is seen. */
class TrainedJobs {
  readonly #deps: SettleDeps;
  readonly #known = new LruCache<true>(MOST_KNOWN);

  constructor(deps: SettleDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError store_unavailable */
  async book(call: Call, bound: BoundTarget, job: FineTuningJob): Promise<void> {
    const { notes, books, now } = this.#deps;
    const id = noteId(bound, 'job', job.id);
    const known = `${call.principal?.organisationId ?? ''} ${id}`;
    if (this.#known.get(known) !== undefined) return;
    const begins = { at: now(), line: 0, done: false };
    const note = await notes.change(call, id, (body) =>
      body.settling === undefined ? { ...body, settling: begins } : undefined,
    );
    const settling = note?.body.settling;
    // A job that was not made through the gateway is in no books.
    if (note !== undefined && settling !== undefined && !settling.done) {
      const { maker, model = job.model } = note.body;
      const usage = mediaUsage({ trainedTokens: Number(job.trainedTokens) });
      const row = { line: 1, customId: job.id, status: 200, model: job.fineTunedModel ?? '', usage };
      await books.book({
        call,
        bound,
        id,
        at: settling.at,
        maker,
        jobId: job.id,
        batchId: undefined,
        endpoint: JOBS,
        model,
        rows: [row],
        again: settling.at !== begins.at,
      });
      await notes.change(call, id, (body) => ({ ...body, settling: { ...settling, line: 1, done: true } }));
    }
    this.#known.set(known, true);
  }
}
