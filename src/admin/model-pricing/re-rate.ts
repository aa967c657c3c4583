// Re-rating over the API: a span of the organisation's entries by the prices as they are known now.
import { create } from '@bufbuild/protobuf';
import {
  type GetReRateRequest,
  type ReRate,
  ReRateSchema,
  type StartReRateRequest,
} from '../../../gen/gateway/admin/v2/model_pricing_pb.ts';
import type { Call } from '../../call/call.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import { isLost, type ReRateJobs, type ReRateProgress } from '../../ledger/re-rate/jobs.ts';
import type { ReRateProgressBody } from '../../ledger/re-rate/run.ts';
import { invalidField } from '../../lib/errors.ts';
import { callerOf, found, organisationOf } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { optionalTime, readTime, timeText } from '../kit/time.ts';

export interface ReRateServiceDeps extends Pick<IdentityDeps, 'changes' | 'now'> {
  readonly reRates: ReRateJobs;
}

/** Entries of calls that have just ended may be on their way to the log. */
const RECENT_MS = 60_000;

/** The methods of ModelPricingService that rate again. */
export function reRateMethods({ changes, now, reRates }: ReRateServiceDeps) {
  return {
    async startReRate(request: StartReRateRequest, call: Call): Promise<ReRate> {
      const scope = organisationOf(callerOf(call));
      const { organisationId } = scope;
      const at = now();
      const from = readTime('from', request.from);
      const until = optionalTime('to', request.to) ?? at - RECENT_MS;
      if (until > at) throw invalidField('to', 'must not be in the future');
      if (from >= until) throw invalidField('from', 'must be before to, which is a minute ago when absent');
      const { model, dryRun = false } = request;
      const span = { from, until, ...(model === undefined ? {} : { model }) };
      const begun = await reRates.start(organisationId, span, dryRun, (operation, body) =>
        changes.commit(call, scope, [operation], {
          id: organisationId,
          name: '',
          after: { ...spanOf(body), dry_run: dryRun },
        }),
      );
      return record(begun, at);
    },

    async getReRate(_: GetReRateRequest, call: Call): Promise<ReRate> {
      const { organisationId } = callerOf(call);
      return record(found(await reRates.read(organisationId), 're-rating'), now());
    },
  };
}

function spanOf({ from, until, model }: ReRateProgressBody): Record<string, string> {
  return { from: timeText(from), to: timeText(until), ...(model === undefined ? {} : { model }) };
}

function record(progress: ReRateProgress, now: number): ReRate {
  const { body } = progress;
  const { before, after, entries, changed, budgets, dryRun, startedAt, endedAt, error } = body;
  return create(ReRateSchema, {
    object: 're-rate',
    status: isLost(progress, now) ? 'interrupted' : body.state,
    dryRun,
    ...spanOf(body),
    entries: BigInt(entries),
    changed: BigInt(changed),
    budgets: BigInt(budgets),
    costBefore: inCents(BigInt(before)),
    costAfter: inCents(BigInt(after)),
    startedAt: timeText(startedAt),
    ...(endedAt === undefined ? {} : { endedAt: timeText(endedAt) }),
    ...(error === undefined ? {} : { error }),
  });
}
