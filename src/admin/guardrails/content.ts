// A guardrail's checks and actions as they come with a request, and their validation.
import { type GuardrailCheck, GuardrailCheckSchema } from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import { type PathFault, parseSavedGuardrail } from '../../checks/guardrails.ts';
import type { GuardrailContent } from '../../configs/config-collections.ts';
import { validationFailed } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import { unmasked } from '../kit/masked-secrets.ts';

const MOST_CHARACTERS = 262_144;

/**
 * The content to store: the given values, else the previous ones; masks replaced. It must be able to run on requests
 * or on answers, or on both.
 * @throws GatewayError validation_failed with every fault and its path.
 */
export function checkedGuardrail(
  given: { readonly checks: readonly GuardrailCheck[]; readonly actions?: object | undefined },
  before: GuardrailContent | undefined,
): GuardrailContent {
  const faults: PathFault[] = [];
  const asked = {
    checks:
      given.checks.length > 0
        ? given.checks.map((check) => codec.encode(GuardrailCheckSchema, check) as JsonObject)
        : (before?.checks ?? []),
    actions: (given.actions as JsonObject | undefined) ?? before?.actions ?? {},
  };
  if (JSON.stringify(asked).length > MOST_CHARACTERS)
    faults.push({ path: 'checks', message: `must have at most ${MOST_CHARACTERS} characters as JSON` });
  const old = before && { checks: before.checks, actions: before.actions };
  const content = unmasked(asked, old, faults) as unknown as GuardrailContent;
  faults.push(...leastFaults(content));
  if (faults.length > 0)
    throw validationFailed(
      faults.map(({ path, message }) => ({ field: pathOf(path), rule: 'guardrail', message })),
    );
  return content;
}

/** A check may be for one side only. */
function leastFaults(content: GuardrailContent): readonly PathFault[] {
  const [input, output] = (['input', 'output'] as const).map((event) => {
    const faults: PathFault[] = [];
    parseSavedGuardrail(content, 'guardrail', event, '', faults);
    return faults;
  });
  return output!.length < input!.length ? output! : input!;
}

/** Actions are read next to the checks: their paths lack the member that holds them. */
function pathOf(path: string): string {
  if (path === '' || path === 'checks' || path === 'actions') return path;
  return /^(checks\[|actions\.)/.test(path) ? path : `actions.${path}`;
}
