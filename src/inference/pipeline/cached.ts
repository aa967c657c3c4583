// The cache before a target: what is kept for the same request, or the call and what becomes of it.
import type { Call } from '../../call/call.ts';
import type { Guardrails } from '../../checks/hook.ts';
import { marksOf } from '../../checks/hook-mark.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import { cacheCallOf } from '../cache/call-of.ts';
import type { StreamForm } from '../cache/form.ts';
import { streamedMessages, wholeMessages } from '../cache/message-forms.ts';
import type { CacheReport } from '../cache/report.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { TargetPlan } from '../plan/plan.ts';
import type { Routing } from '../plan/select.ts';
import { embedderOf } from './embedder.ts';
import type { Guards } from './guards.ts';
import { checkModel } from './model-access.ts';
import { isStreaming, modelFor, operationOf, streamingOf } from './operation-of.ts';
import { pieceForm } from './pieces/piece-forms.ts';
import type { Pipeline } from './pipeline.ts';
import { rewritten } from './rewrite.ts';
import type { Served } from './served.ts';
import { translationOf } from './translation.ts';
import { writeWhole } from './write-request.ts';

/** One call's way to the cache. */
export interface CachedCall<Request extends object> {
  readonly pipeline: Pipeline;
  readonly call: Call;
  readonly name: OperationName;
  readonly routing: Routing;
  readonly guards: Guards<Request>;
  readonly streams: boolean;
  readonly onReport: (report: CacheReport) => void;
}

/** Gives what is kept, or runs. @throws what the input guardrails, the binding or `run` throw */
export async function throughCache<Request extends object, Answer extends object>(
  cachedCall: CachedCall<Request>,
  plan: TargetPlan,
  signal: AbortLike,
  run: () => Promise<Served<Answer>>,
): Promise<Served<Answer>> {
  const { pipeline, call, name, routing, guards, streams } = cachedCall;
  const input = await guards.input(await routing.bind(plan), signal);
  const { bound } = input;
  const { dialect, operation, wire } = operationOf(pipeline, bound.target, name);
  const own = rewritten(name, input.request, bound);
  const model = modelFor(bound.target, name, (own as { readonly model?: string }).model);
  // Nor is an answer that is kept for those whose model it is not.
  checkModel(bound, name, model);
  const { embeddings } = plan.cache!;
  const cacheCall = cacheCallOf(call, {
    bound,
    dialect,
    operation: name,
    wire,
    outbound: () =>
      writeWhole(call, operation, own as never, translationOf(call, bound.target, pipeline.now, name)),
    model,
    repeatable: isRepeatable(name, own),
    guardrails: marksOf((bound.plan.guardrails as Guardrails | undefined)?.output ?? []),
    signal,
    embedder: embeddings && embedderOf(pipeline, call, routing, embeddings),
    onReport(report) {
      noteLookUp(call, plan.cache?.mode ?? 'simple', report.status, call.arrivedAt + startedAt);
      cachedCall.onReport(report);
    },
    ...(routing.plan.hedged ? { waitMs: 0 } : {}),
  });
  let served: Served<Answer> | undefined;
  const startedAt = call.elapsedMs();
  const runIt = async (): Promise<Answer> => {
    served = await run();
    return served.answer;
  };
  const keeps = (): boolean => served?.keeps() !== false;
  const answer = streams
    ? await pipeline.cache.stream(cacheCall, { ...streamForm(cachedCall, bound, own), keeps }, runIt as never)
    : await pipeline.cache.whole(
        cacheCall,
        // An answer that a guardrail found fault with is not for others.
        { ...wholeMessages(codec, operationRow(name).answer), keeps },
        runIt as never,
      );
  if (served !== undefined) return { ...served, answer: answer as unknown as Answer };
  call.record.provider = bound.target.provider.id;
  call.record.model = model;
  call.record.streamed = streams;
  call.record.virtualKey = bound.stored?.slug;
  return {
    answer: answer as unknown as Answer,
    status: input.run?.decision === 'flag' ? 246 : 200,
    input: input.run,
    output: undefined,
    tells: !streams || !bound.target.strict,
    keeps,
  };
}

/** Whether the same answer may be given again. */
function isRepeatable(name: OperationName, request: object): boolean {
  const { cachedWith } = operationRow(name);
  return cachedWith === undefined || (request as Readonly<Record<string, unknown>>)[cachedWith] !== undefined;
}

/** The look-up as a span: it ends when what it came to is known. */
function noteLookUp(call: Call, name: string, verdict: string, startedAt: number): void {
  const { record, arrivedAt } = call;
  const latencyMs = Math.round((arrivedAt + call.elapsedMs() - startedAt) * 1000) / 1000;
  record.spans ??= [];
  record.spans.push({ kind: 'cache', name, startedAt: Math.round(startedAt), latencyMs, verdict });
}

function streamForm<Request extends object>(
  { pipeline, name }: CachedCall<Request>,
  { target }: BoundTarget,
  request: Request,
): StreamForm<never> {
  const { answer, chunk } = operationRow(name);
  if (!isStreaming(name)) throw new Error(`${name} does not answer in pieces`);
  const { operation } = streamingOf(pipeline, target, name);
  const whole = wholeMessages(codec, answer);
  return streamedMessages(codec, chunk!, pieceForm(name).asksUsage(request), (body) =>
    operation.wholeAsChunks(whole.decode(body) as never, request as never),
  ) as unknown as StreamForm<never>;
}
