// The limits of a target, held for an attempt before its provider is called.
import type { Call } from '../../call/call.ts';
import { estimateOf } from '../../ledger/limits/estimate.ts';
import { tellRates } from '../../ledger/limits/rate-headers.ts';
import { READS } from '../../ledger/limits/rules-of.ts';
import type { OutboundBody } from '../../lib/egress/outbound.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { type Attempt, lengthOf } from './attempt.ts';
import type { Pipeline } from './pipeline.ts';

/** What an attempt asks for. */
export interface HoldRequest {
  /** Of its request, or how many bytes it has. */
  readonly body: OutboundBody | number;
  readonly request: object;
  readonly makesTokens: boolean;
  readonly model: string;
  /** Whether the answer's headers are the gateway's to write. */
  readonly tells: boolean;
}

/** Whether an attempt of the call at the target may be limited: most are not. */
export function isLimited({ stored }: BoundTarget, { limitSubject }: Call): boolean {
  return stored?.limits !== undefined || limitSubject !== undefined;
}

/**
 * Holds what the target's limits allow; at once undefined where it has none.
 * @throws GatewayError rate_limited, budget_exhausted, store_unavailable: the attempt has ended with it
 */
export function holdTarget(
  { targets }: Pipeline,
  call: Call,
  { stored, target }: BoundTarget,
  attempt: Attempt,
  asked: HoldRequest,
): Promise<void> | undefined {
  const carriers = stored?.limits ?? NONE;
  const { limitSubject } = call;
  if ((carriers.length === 0 && limitSubject === undefined) || targets === undefined) return undefined;
  return targets
    .hold({
      id: attempt.id,
      organisationId: call.principal?.organisationId ?? '',
      carriers,
      subject: limitSubject && { ...limitSubject, provider: namesOf(target.provider.id, stored?.slug) },
      reads: READS.has(call.source.httpMethod),
      estimate: estimateOf(lengthOf(asked.body), asked.request, asked.makesTokens),
      model: asked.model,
      provider: target.provider.id,
    })
    .then(
      (hold) => {
        if (hold === undefined) return;
        attempt.under(hold);
        if (asked.tells) tellRates(call.answerHeaders, hold.rates);
      },
      (thrown: unknown) => {
        throw attempt.refused(thrown);
      },
    );
}

const NONE: readonly never[] = Object.freeze([]);

function namesOf(provider: string, slug: string | undefined): readonly string[] {
  return slug === undefined || slug === provider ? [provider] : [provider, slug];
}
