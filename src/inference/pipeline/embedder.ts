// Vectors for the semantic cache, by the gateway's own embeddings operation over the config's target.
import { create } from '@bufbuild/protobuf';
import { CreateEmbeddingsRequestSchema } from '../../../gen/gateway/inference/v2/embeddings_pb.ts';
import type { Call } from '../../call/call.ts';
import { vectorOf } from '../cache/embedding-vector.ts';
import type { Embedder } from '../cache/semantic.ts';
import type { TargetPlan } from '../plan/plan.ts';
import type { Routing } from '../plan/select.ts';
import { operationOf } from './operation-of.ts';
import type { Pipeline } from './pipeline.ts';
import { rewritten } from './rewrite.ts';
import { callWhole } from './whole.ts';

/** Longest answer of an embeddings call, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The embedder of a target: its calls are attempts of the call that they are made for. */
export function embedderOf(pipeline: Pipeline, call: Call, routing: Routing, plan: TargetPlan): Embedder {
  const model = String(plan.params?.overrides.model ?? '');
  return {
    id: [plan.provider?.id ?? plan.slug ?? '', plan.customHost ?? '', model].join('\0'),
    async embed(text, signal) {
      const bound = await routing.bind(plan);
      const { dialect, operation, wire } = operationOf(pipeline, bound.target, 'embeddings');
      const input = create(CreateEmbeddingsRequestSchema, { input: { kind: { case: 'text', value: text } } });
      const request = rewritten('embeddings', input, bound);
      const asked = {
        bound,
        dialect,
        wire,
        name: 'embeddings',
        request,
        model,
        signal,
        aside: true,
      } as const;
      return vectorOf(await callWhole(pipeline, call, asked, operation, MAX_BYTES));
    },
  };
}
