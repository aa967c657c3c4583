// A target's dialect and operation, and the model that it is asked for.
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { Dialect, Operation, StreamingOperation, Target } from '../../providers/dialect.ts';
import { offers } from '../../providers/offered.ts';
import {
  type AnswerOf,
  type ChunkOf,
  type OperationName,
  operationRow,
  type RequestOf,
  type StreamingName,
} from '../../providers/operations.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import type { Pipeline } from './pipeline.ts';

/** The target's dialect. */
export function dialectOf({ dialects }: Pipeline, { provider }: Target): Dialect {
  const dialect = dialects.get(provider.dialect);
  if (dialect === undefined) throw new Error(`provider ${provider.id} names an unknown dialect`);
  return dialect;
}

/** Every operation of a dialect, by what it answers when it answers whole. */
type Whole = { readonly [N in OperationName]?: Operation<RequestOf<N>, AnswerOf<N>> };
type Streamed = {
  readonly [N in StreamingName]?: StreamingOperation<RequestOf<N>, AnswerOf<N>, ChunkOf<N>>;
};

/** An operation of the target's dialect. @throws GatewayError operation_unsupported */
export function operationOf<N extends OperationName>(pipeline: Pipeline, target: Target, name: N) {
  const dialect = dialectOf(pipeline, target);
  const operation = (dialect as Whole)[name];
  if (operation === undefined) throw unsupported(target, name);
  checkOffered(dialect, target, name);
  return { dialect, operation };
}

/** An operation that answers in pieces. @throws GatewayError operation_unsupported */
export function streamingOf<N extends StreamingName>(pipeline: Pipeline, target: Target, name: N) {
  const dialect = dialectOf(pipeline, target);
  const operation = (dialect as Streamed)[name];
  if (operation === undefined) throw unsupported(target, name);
  checkOffered(dialect, target, name);
  return { dialect, operation };
}

/** Whether an operation can answer in pieces. */
export function isStreaming(name: OperationName): name is StreamingName {
  return operationRow(name).chunk !== undefined;
}

function checkOffered(dialect: Dialect, target: Target, name: OperationName): void {
  if (!offers(target.provider, dialect, name)) throw unsupported(target, name);
}

function unsupported({ provider }: Target, name: OperationName): GatewayError {
  const { id, note } = provider;
  const more = note === undefined ? '' : ` (${note})`;
  return fail('operation_unsupported', `${id} does not offer ${name}${more}`, { provider: id });
}

/** The model that is asked for. Where a deployment in the path says it, the body need not. @throws GatewayError model_missing */
export function modelFor(target: Target, name: OperationName, model: string | undefined): string {
  if (model !== undefined && model !== '') return model;
  for (const { name: option, insteadOfModel } of optionsOf(target.provider).insteadOfModel) {
    const value = target.options[option];
    if (value !== undefined) return target.options[insteadOfModel?.named ?? option] ?? value;
  }
  if (operationRow(name).needsModel) {
    throw fail('model_missing', 'model: is required', {
      param: 'model',
      violations: [{ field: 'model', rule: 'required', message: 'is required' }],
    });
  }
  return '';
}
