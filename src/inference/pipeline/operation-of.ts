// A target's dialect and operation, and the model that it is asked for.
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { Dialect, Target } from '../../providers/dialect.ts';
import { type StreamedOperation, spoken } from '../../providers/forms/spoken.ts';
import { type OperationName, operationRow, type StreamingName } from '../../providers/operations.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import { codec } from '../../rest/codec.ts';
import type { Pipeline } from './pipeline.ts';

/** The target's dialect. */
export function dialectOf({ dialects }: Pipeline, { provider }: Target): Dialect {
  const dialect = dialects.get(provider.dialect);
  if (dialect === undefined) throw new Error(`provider ${provider.id} names an unknown dialect`);
  return dialect;
}

/** An operation of the target, in its own words or over its chat. @throws GatewayError operation_unsupported */
export function operationOf<N extends OperationName>(pipeline: Pipeline, target: Target, name: N) {
  const dialect = dialectOf(pipeline, target);
  const found = spoken(codec, dialect, target.provider, name);
  if (found === undefined) throw unsupported(target, name);
  return { dialect, operation: found.operation, wire: found.wire };
}

/** An operation that answers in pieces. @throws GatewayError operation_unsupported */
export function streamingOf<N extends StreamingName>(pipeline: Pipeline, target: Target, name: N) {
  const { dialect, operation, wire } = operationOf(pipeline, target, name);
  return { dialect, operation: operation as StreamedOperation<N>, wire };
}

/** Whether an operation can answer in pieces. */
export function isStreaming(name: OperationName): name is StreamingName {
  return operationRow(name).chunk !== undefined;
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
