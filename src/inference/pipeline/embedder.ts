// Vectors for the semantic cache, by the gateway's own embeddings operation over the config's target.
import { create } from '@bufbuild/protobuf';
import { CreateEmbeddingsRequestSchema } from '../../../gen/gateway/inference/v2/embeddings_pb.ts';
import type { Call } from '../../access/call.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import { vectorOf } from '../cache/embedding-vector.ts';
import type { Embedder } from '../cache/semantic.ts';
import type { TargetPlan } from '../plan/plan.ts';
import type { Routing } from '../plan/select.ts';
import { Attempt } from './attempt.ts';
import { checkModel } from './model-access.ts';
import { operationOf } from './operation-of.ts';
import type { Pipeline } from './pipeline.ts';
import { rewritten } from './rewrite.ts';
import { holdTarget } from './target-limits.ts';
import { traced } from './traced.ts';
import { outboundRequest, upstreamError } from './upstream.ts';

/** Longest answer of an embeddings call, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The embedder of a target: its calls are attempts of the call that they are made for. */
export function embedderOf(pipeline: Pipeline, call: Call, routing: Routing, plan: TargetPlan): Embedder {
  const model = String(plan.params?.overrides.model ?? '');
  return {
    id: [plan.provider?.id ?? plan.slug ?? '', plan.customHost ?? '', model].join('\0'),
    async embed(text, signal) {
      const bound = await routing.bind(plan);
      const { dialect, operation } = operationOf(pipeline, bound.target, 'embeddings');
      checkModel(bound, 'embeddings', model);
      const asked = create(CreateEmbeddingsRequestSchema, { input: { kind: { case: 'text', value: text } } });
      const request = rewritten('embeddings', asked, bound);
      const context = { target: bound.target, now: pipeline.now };
      const id = timeOrderedId();
      const outbound = traced(
        call,
        outboundRequest(bound, dialect, 'embeddings', operation.request(request, context), signal, id),
        id,
      );
      const attempt = new Attempt(call, bound.target, outbound.origin, model, id, true);
      try {
        await holdTarget(pipeline, call, bound, attempt, {
          ...{ body: outbound.body, request, model, makesTokens: false, tells: false },
        });
        await attempt.noted(pipeline.flights, outbound.body, request, false);
        const answer = await pipeline.dialer.whole(outbound, MAX_BYTES);
        if (answer.status !== 200) throw upstreamError(bound.target, dialect, answer, answer.body);
        const {
          answer: embeddings,
          usage,
          model: responseModel,
        } = operation.response(answer.body, request, context);
        attempt.end({ status: 200, outcome: 'success', usage, responseModel });
        return vectorOf(embeddings);
      } catch (thrown) {
        throw attempt.fail(thrown);
      }
    },
  };
}
