// Where files and batches of a call live: at the one provider that it selects, or with the gateway.
import type { Call } from '../../call/call.ts';
import type { Guardrails } from '../../checks/hook.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { has } from '../../providers/offered.ts';
import type { OperationName } from '../../providers/operations.ts';
import { dialectOf } from '../pipeline/operation-of.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { bindOnly } from '../pipeline/run.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { planOf, type Routing } from '../plan/select.ts';
import { stricter } from '../raw/govern.ts';

/** The one provider; undefined: the gateway. */
export type Place = BoundTarget | undefined;

/**
 * At a provider, where the call leads to one alone that has the operation. Without a provider, with several, with one
 * that has none, and where guardrails or an integration's models must hold for every row: with the gateway.
 * @param isNew whether something is made, or all that was made is listed
 * @throws GatewayError of status 400 for a selection that is wrong
 */
export async function placeOf(
  pipeline: Pipeline,
  call: Call,
  name: OperationName,
  isNew = false,
): Promise<Place> {
  const routing = await routingOf(pipeline, call);
  if (routing === undefined || routing.plan.targets.length !== 1) return undefined;
  const bound = await bindOnly(call, routing);
  const { target } = bound;
  if (isNew && isGoverned(bound)) return undefined;
  return has(target.provider, dialectOf(pipeline, target), name) ? bound : undefined;
}

/**
 * The one provider that a call selects, for what only providers have.
 * @throws GatewayError of status 400 for a selection that is wrong, or of several; forbidden where a guardrail must see all
 */
export async function onlyTarget(pipeline: Pipeline, call: Call, name: OperationName): Promise<BoundTarget> {
  const routing = await planOf(call, pipeline.planner, undefined);
  if (routing.plan.targets.length !== 1)
    throw fail('operation_unsupported', `${name} needs one provider: the config has several targets`);
  const bound = await bindOnly(call, routing);
  checkReadable(pipeline, bound, name);
  return bound;
}

/** Undefined: the call selects no provider. */
export async function routingOf(
  { planner }: Pipeline,
  call: Call,
  model?: string,
): Promise<Routing | undefined> {
  try {
    return await planOf(call, planner, model);
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.reason === 'provider_missing') return undefined;
    throw thrown;
  }
}

/**
 * What a provider keeps may hold text that no guardrail sees: where one must see every request it is not relayed.
 * @throws GatewayError forbidden
 */
export function checkReadable({ raw }: Pipeline, { plan, stored }: BoundTarget, name: OperationName): void {
  const hooks = plan.guardrails as Guardrails | undefined;
  const mandatory = hooks && [...hooks.input, ...hooks.output].find((hook) => hook.mandatory);
  if (mandatory === undefined || stricter(raw.paths, stored?.rawPaths) === 'allow') return;
  throw fail(
    'forbidden',
    `${name} is not relayed: the guardrail ${mandatory.id} must see every request, and it cannot read this one. Use /chat/completions, or a batch of the gateway's own; an operator may set GATEWAY_RAW_PATHS=allow`,
  );
}

/** Whether every request of a model must be seen here. */
function isGoverned({ plan, stored }: BoundTarget): boolean {
  const hooks = plan.guardrails as Guardrails | undefined;
  return hooks !== undefined || stored?.models?.restricted === true;
}
