// The way of a model call through the stages: plan, then an attempt, whole or in pieces.
import type { Call } from '../../access/call.ts';
import { fail } from '../../lib/errors.ts';
import { timedOut } from '../../lib/request-timeout.ts';
import type { Dialect, OperationName, Target } from '../../providers/dialect.ts';
import { type Plan, planOf } from '../plan/plan.ts';

import type { Pipeline } from './pipeline.ts';
import { callStream } from './stream.ts';
import { callWhole } from './whole.ts';

type Operations = Pick<Dialect, OperationName>;
type RequestOf<N extends OperationName> = Parameters<NonNullable<Operations[N]>['request']>[0];
type AnswerOf<N extends OperationName> = ReturnType<NonNullable<Operations[N]>['response']>['answer'];
type ChunkOf<N extends 'chat' | 'completions'> = ReturnType<
  NonNullable<Operations[N]>['wholeAsChunks']
>[number];

/** Plans the call and starts its clock. */
export function begin(pipeline: Pipeline, call: Call): Plan {
  const plan = planOf(call, pipeline.plans);
  const { timeoutMs } = plan;
  if (timeoutMs !== undefined && call.headers.get('request-timeout') === undefined)
    call.expireAfter(timeoutMs, () => timedOut(timeoutMs));
  return plan;
}

/** Runs an operation whose answer comes whole. */
export async function runWhole<N extends OperationName>(
  pipeline: Pipeline,
  call: Call,
  name: N,
  request: RequestOf<N>,
  model: string | undefined,
): Promise<AnswerOf<N>> {
  const plan = begin(pipeline, call);
  const { dialect, operation } = operationOf(pipeline, plan.target, name);
  const asked = modelFor(plan.target, name, model);
  return (await callWhole(
    pipeline,
    call,
    plan,
    dialect,
    name,
    operation as never,
    request,
    asked,
  )) as AnswerOf<N>;
}

/** Runs an operation whose answer comes in pieces. */
export async function runStream<N extends 'chat' | 'completions'>(
  pipeline: Pipeline,
  call: Call,
  name: N,
  request: RequestOf<N>,
  model: string | undefined,
): Promise<AsyncIterable<ChunkOf<N>>> {
  const plan = begin(pipeline, call);
  const { dialect, operation } = operationOf(pipeline, plan.target, name);
  const asked = modelFor(plan.target, name, model);
  return (await callStream(
    pipeline,
    call,
    plan,
    dialect,
    name,
    operation as never,
    request,
    asked,
  )) as AsyncIterable<ChunkOf<N>>;
}

/** The target's dialect. */
export function dialectOf({ dialects }: Pipeline, { provider }: Target): Dialect {
  const dialect = dialects.get(provider.dialect);
  if (dialect === undefined) throw new Error(`provider ${provider.id} names an unknown dialect`);
  return dialect;
}

function operationOf<N extends OperationName>(pipeline: Pipeline, target: Target, name: N) {
  const dialect = dialectOf(pipeline, target);
  const operation = dialect[name];
  const { provider } = target;
  if (operation === undefined || (provider.operations && !provider.operations.includes(name))) {
    throw fail('operation_unsupported', `${provider.id} does not offer ${name}`, { provider: provider.id });
  }
  return { dialect, operation };
}

/** The model that is asked for. Where a deployment in the path says it, the body need not. */
function modelFor(target: Target, name: OperationName, model: string | undefined): string {
  if (model !== undefined && model !== '') return model;
  const { azure_model_name: named, azure_deployment_id: deployment } = target.options;
  if (deployment !== undefined) return named ?? deployment;
  if (name === 'chat' || name === 'completions' || name === 'embeddings') {
    throw fail('model_missing', 'model: is required', {
      param: 'model',
      violations: [{ field: 'model', rule: 'required', message: 'is required' }],
    });
  }
  return '';
}
