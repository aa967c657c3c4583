// The way of a model call through the stages: plan, then the plan's route of attempts, whole or in pieces.
import type { Call } from '../../access/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { Dialect } from '../../providers/dialect.ts';
import type { OperationName } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { planOf, type Routing } from '../plan/select.ts';
import { drained } from './drain.ts';
import { drainsWhenCut } from './drains.ts';
import { modelFor, operationOf } from './operation-of.ts';
import type { Pipeline } from './pipeline.ts';
import { rewritten } from './rewrite.ts';
import { callRouted, type Job } from './routed.ts';
import { keepBodies, noteAnswer, noteRequest } from './said.ts';
import { callStream } from './stream.ts';
import { callWhole } from './whole.ts';

type Operations = Pick<Dialect, OperationName>;
type RequestOf<N extends OperationName> = Parameters<NonNullable<Operations[N]>['request']>[0];
type AnswerOf<N extends OperationName> = ReturnType<NonNullable<Operations[N]>['response']>['answer'];
type ChunkOf<N extends 'chat' | 'completions'> = ReturnType<
  NonNullable<Operations[N]>['wholeAsChunks']
>[number];

/** Runs an operation whose answer comes whole. */
export function runWhole<N extends OperationName>(
  pipeline: Pipeline,
  call: Call,
  name: N,
  request: RequestOf<N>,
  model: string | undefined,
): Promise<AnswerOf<N>> {
  return run<RequestOf<N>, AnswerOf<N>>(pipeline, call, model, {
    name,
    request,
    streams: false,
    attempt(bound, given, signal) {
      const { dialect, operation } = operationOf(pipeline, bound.target, name);
      const own = rewritten(name, given, bound);
      const asked = modelFor(
        bound.target,
        name,
        own === request ? (modelOf(request) ?? model) : modelOf(own),
      );
      return callWhole(pipeline, call, bound, dialect, name, operation as never, own, asked, signal);
    },
  });
}

/** Runs an operation whose answer comes in pieces. Resolves when the first is at hand. */
export function runStream<N extends 'chat' | 'completions'>(
  pipeline: Pipeline,
  call: Call,
  name: N,
  request: RequestOf<N>,
  model: string | undefined,
): Promise<AsyncIterable<ChunkOf<N>>> {
  return run<RequestOf<N>, AsyncIterable<ChunkOf<N>>>(pipeline, call, model, {
    name,
    request,
    streams: true,
    attempt(bound, given, signal) {
      const { dialect, operation } = operationOf(pipeline, bound.target, name);
      const own = rewritten(name, given, bound);
      const asked = modelFor(
        bound.target,
        name,
        own === request ? (modelOf(request) ?? model) : modelOf(own),
      );
      const start = (until: AbortLike) =>
        callStream<RequestOf<N>, AnswerOf<N>, ChunkOf<N>>(
          ...([pipeline, call, bound, dialect, name, operation as never, own, asked] as const),
          until,
        );
      return drainsWhenCut(bound) ? drained(pipeline.drains, call, signal, start) : start(signal);
    },
    held: {
      whole(bound, given, signal) {
        const { dialect, operation } = operationOf(pipeline, bound.target, name);
        const own = rewritten(name, given, bound);
        const asked = modelFor(bound.target, name, modelOf(own));
        call.trail.streamed = true;
        return callWhole(pipeline, call, bound, dialect, name, operation as never, own, asked, signal);
      },
      async *inPieces(bound, given, whole) {
        const { operation } = operationOf(pipeline, bound.target, name);
        yield* operation.wholeAsChunks(whole as never, given as never) as ChunkOf<N>[];
      },
    },
  });
}

async function run<Request extends object, Answer extends object>(
  pipeline: Pipeline,
  call: Call,
  model: string | undefined,
  job: Job<Request, Answer>,
): Promise<Answer> {
  keepBodies(call, pipeline.keepsBodies);
  noteRequest(call, job.name, job.request);
  const planned = planOf(call, pipeline.planner, model);
  const routing = planned instanceof Promise ? await planned : planned;
  if (!routing.plan.straight || call.headers.get('explain') !== undefined)
    return noteAnswer(call, job.name, await callRouted(pipeline, call, routing, job));
  const bound = bindOnly(call, routing);
  const answer = await job.attempt(bound instanceof Promise ? await bound : bound, job.request, call.signal);
  return noteAnswer(call, job.name, answer);
}

/** The one target of a plan that needs no routing. */
export function bindOnly(call: Call, { plan, bind }: Routing): BoundTarget | Promise<BoundTarget> {
  call.trail.targetPath = plan.root.path;
  return bind(plan.targets[0]!);
}

function modelOf(request: object): string | undefined {
  return (request as { readonly model?: string }).model;
}
