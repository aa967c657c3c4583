// A target's dialect and operation, and the model that it is asked for.
import { fail } from '../../lib/errors.ts';
import type { Dialect, Target } from '../../providers/dialect.ts';
import { offers } from '../../providers/offered.ts';
import type { OperationName } from '../../providers/operations.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import type { Pipeline } from './pipeline.ts';

/** The target's dialect. */
export function dialectOf({ dialects }: Pipeline, { provider }: Target): Dialect {
  const dialect = dialects.get(provider.dialect);
  if (dialect === undefined) throw new Error(`provider ${provider.id} names an unknown dialect`);
  return dialect;
}

/** @throws GatewayError operation_unsupported */
export function operationOf<N extends OperationName>(pipeline: Pipeline, target: Target, name: N) {
  const dialect = dialectOf(pipeline, target);
  const operation = dialect[name];
  const { provider } = target;
  if (operation === undefined || !offers(provider, dialect, name)) {
    throw fail('operation_unsupported', `${provider.id} does not offer ${name}`, { provider: provider.id });
  }
  return { dialect, operation };
}

/** The model that is asked for. Where a deployment in the path says it, the body need not. @throws GatewayError model_missing */
export function modelFor(target: Target, name: OperationName, model: string | undefined): string {
  if (model !== undefined && model !== '') return model;
  for (const { name: option, insteadOfModel } of optionsOf(target.provider).insteadOfModel) {
    const value = target.options[option];
    if (value !== undefined) return target.options[insteadOfModel?.named ?? option] ?? value;
  }
  if (name === 'chat' || name === 'completions' || name === 'embeddings') {
    throw fail('model_missing', 'model: is required', {
      param: 'model',
      violations: [{ field: 'model', rule: 'required', message: 'is required' }],
    });
  }
  return '';
}
