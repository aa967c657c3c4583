// Texts that a config puts into a request behind the guardrails that every call passes.
import type { Guardrails } from '../../checks/hook.ts';
import { requestBody } from '../../checks/view/body-of.ts';
import type { JsonObject } from '../../checks/view/traffic.ts';
import { invalidField } from '../../lib/errors.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';

/**
 * Guardrails run once, over the request as it came; each target's parameters are put in after them. A caller's own config could
 * say there what the workspace or the organisation forbids.
 * @throws GatewayError `validation_failed` when a parameter sets text and a guardrail applies to every call
 */
export function refuseUnseenText(name: OperationName, { input }: Guardrails, { plan }: BoundTarget): void {
  if (plan.params === undefined || !input.some(({ mandatory }) => mandatory)) return;
  const { defaults, overrides } = plan.params;
  for (const [field, members] of Object.entries({ override_params: overrides, default_params: defaults })) {
    const { slots, opaque } = requestBody(operationRow(name).view, members as JsonObject);
    if (slots.length > 0 || opaque)
      throw invalidField(
        field,
        'sets text, which a guardrail that applies to every call must see: put it into the request',
      );
  }
}
