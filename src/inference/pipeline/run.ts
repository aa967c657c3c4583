// The way of a model call through the stages: plan, then the plan's route of attempts, whole or in pieces.
import type { Call } from '../../call/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type {
  AnswerOf,
  ChunkOf,
  OperationName,
  RequestOf,
  StreamingName,
} from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { planOf, type Routing } from '../plan/select.ts';
import { drained } from './drain.ts';
import { drainsWhenCut } from './drains.ts';
import { keepBodies, noteAnswer, noteRequest } from './kept-bodies.ts';
import { modelFor, operationOf, streamingOf } from './operation-of.ts';
import type { Pipeline } from './pipeline.ts';
import { rewritten } from './rewrite.ts';
import { callRouted, type Job } from './routed.ts';
import type { Asked } from './run-attempt.ts';
import { callStream } from './stream.ts';
import { callWhole } from './whole.ts';
import { withFiles } from './with-files.ts';

/** A call's way with fewer targets: what goes on from an answer goes to whom made that. */
export type Narrowed = (routing: Routing) => Routing;

/** Runs an operation whose answer comes whole. @param model of the request; "@slug/model" names a stored provider */
export function runWhole<N extends OperationName>(
  pipeline: Pipeline,
  call: Call,
  name: N,
  request: RequestOf<N>,
  model: string | undefined,
  narrowed?: Narrowed,
): Promise<AnswerOf<N>> {
  const job: Job<RequestOf<N>, AnswerOf<N>> = {
    name,
    request,
    streams: false,
    attempt(bound, given, signal) {
      const how = operationOf(pipeline, bound.target, name);
      const asked = askedOf(name, bound, how, given, signal, request, model);
      return callWhole(pipeline, call, asked, how.operation);
    },
  };
  return run(pipeline, call, model, job, narrowed);
}

/** Runs an operation whose answer comes in pieces. Resolves when the first is at hand. */
export function runStream<N extends StreamingName>(
  pipeline: Pipeline,
  call: Call,
  name: N,
  request: RequestOf<N>,
  model: string | undefined,
  narrowed?: Narrowed,
): Promise<AsyncIterable<ChunkOf<N>>> {
  const job: Job<RequestOf<N>, AsyncIterable<ChunkOf<N>>, AnswerOf<N>> = {
    name,
    request,
    streams: true,
    attempt(bound, given, signal) {
      const how = streamingOf(pipeline, bound.target, name);
      const asked = askedOf(name, bound, how, given, signal, request, model);
      const start = (until: AbortLike) =>
        callStream(pipeline, call, { ...asked, signal: until }, how.operation);
      return drainsWhenCut(bound) ? drained(pipeline.drains, call, signal, start) : start(signal);
    },
    held: {
      whole(bound, given, signal) {
        const how = operationOf(pipeline, bound.target, name);
        call.record.streamed = true;
        const asked = askedOf(name, bound, how, given, signal, undefined, undefined);
        return callWhole(pipeline, call, asked, how.operation);
      },
      async *inPieces(bound, given, whole) {
        yield* streamingOf(pipeline, bound.target, name).operation.wholeAsChunks(whole, given);
      },
    },
  };
  return run(pipeline, call, model, job, narrowed);
}

/**
 * What a target is asked for: the request as its config wants it.
 * @param said the call's own request, whose model is the one that planning read
 * @throws GatewayError model_missing, validation_failed
 */
function askedOf<Request extends object>(
  name: OperationName,
  bound: BoundTarget,
  { dialect, wire }: Pick<Asked<Request>, 'dialect' | 'wire'>,
  given: Request,
  signal: AbortLike,
  said: Request | undefined,
  model: string | undefined,
): Asked<Request> {
  const request = rewritten(name, given, bound);
  const asked = request === said ? (modelOf(request) ?? bound.model ?? model) : modelOf(request);
  return { bound, dialect, name, wire, request, model: modelFor(bound.target, name, asked), signal };
}

/** Runs a job through the stages. @param model of the request */
export async function run<Request extends object, Answer extends object, Whole extends object = object>(
  pipeline: Pipeline,
  call: Call,
  model: string | undefined,
  given: Job<Request, Answer, Whole>,
  narrowed?: Narrowed,
): Promise<Answer> {
  keepBodies(call, pipeline);
  noteRequest(call, given.name, given.request);
  const job = withFiles(pipeline.fileInputs, call, given);
  const planned = planOf(call, pipeline.planner, model);
  const whole = planned instanceof Promise ? await planned : planned;
  const routing = narrowed === undefined ? whole : narrowed(whole);
  if (!routing.plan.straight || call.headers.get('explain') !== undefined)
    return noteAnswer(call, job.name, await callRouted(pipeline, call, routing, job));
  const bound = bindOnly(call, routing);
  const answer = await job.attempt(bound instanceof Promise ? await bound : bound, job.request, call.signal);
  return noteAnswer(call, job.name, answer);
}

/** The one target of a plan that needs no routing. */
export function bindOnly(call: Call, { plan, bind }: Routing): BoundTarget | Promise<BoundTarget> {
  call.record.targetPath = plan.root.path;
  return bind(plan.targets[0]!);
}

function modelOf(request: object): string | undefined {
  return (request as { readonly model?: string }).model;
}
