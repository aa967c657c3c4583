// A response is read, followed and deleted where it was made: of a plan's targets only that one is called.
import type { Call } from '../../call/call.ts';
import { fail } from '../../lib/errors.ts';
import { type TargetPlan, wholePlan } from '../plan/plan.ts';
import type { Routing } from '../plan/routing.ts';
import type { KeptResponse } from './kept-responses.ts';

type Maker = Pick<KeptResponse, 'provider' | 'slug'>;

/** The way to whom made it. @throws GatewayError validation_failed when the plan does not lead there */
export function routedTo(maker: Maker, routing: Routing): Routing {
  const { plan } = routing;
  if (plan.targets.length < 2) return routing;
  const target = plan.targets.find((one) => isMaker(one, maker));
  if (target === undefined)
    throw fail(
      'validation_failed',
      `the response was made by ${maker.slug === undefined ? maker.provider : `@${maker.slug}`}, which is no target of this call`,
      { param: 'response_id' },
    );
  return { ...routing, plan: { ...plan, ...wholePlan(target, plan.id), open: plan.open, needy: plan.needy } };
}

function isMaker({ provider, slug }: TargetPlan, maker: Maker): boolean {
  if (maker.slug !== undefined) return slug === maker.slug;
  return slug === undefined && (provider === undefined || provider.id === maker.provider);
}

/** Who answers a call, as its record says. */
export function makerOf({ record: { provider, virtualKey, model } }: Call): Omit<KeptResponse, 'whole'> {
  return { provider, model, ...(virtualKey === undefined ? {} : { slug: virtualKey }) };
}
