// Requests that belong together, as a tree of spans.
import { create } from '@bufbuild/protobuf';
import { type GetTraceRequest, type Trace, TraceSchema } from '../../../gen/gateway/admin/v2/traces_pb.ts';
import type { Call } from '../../call/call.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import { fail } from '../../lib/errors.ts';
import type { LogStore } from '../../store/log-store.ts';
import { callerOf } from '../kit/caller.ts';
import { timeText } from '../kit/time.ts';
import { feedbackMembers } from '../logs/entry.ts';
import { withLate } from '../logs/late.ts';
import { type LogReachDeps, ownCalls, seenFeedback, workspaceOfLogs } from '../logs/reach.ts';
import { endOf, spansOf } from './spans.ts';

/** What the service needs. */
export interface TracesDeps extends LogReachDeps {
  readonly store: LogStore;
  /** Makes everything recorded so far readable. */
  readonly flush: () => Promise<void>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Requests and spans that are shown of a trace. */
const MAX_REQUESTS = 1000;
const MAX_SPANS = 10_000;

/** The methods of TracesService. */
export function tracesService(deps: TracesDeps) {
  const { store, flush, directory, now } = deps;
  return {
    async getTrace({ traceId, workspaceSlug }: GetTraceRequest, call: Call): Promise<Trace> {
      const principal = callerOf(call);
      const workspaceId = await workspaceOfLogs(deps, principal, workspaceSlug);
      const scope = { organisationId: principal.organisationId, workspaceId };
      await flush();
      const { entries, next } = await store.page(
        scope,
        { traceIds: [traceId], ...ownCalls(directory, principal, {}) },
        { page: 0, pageSize: MAX_REQUESTS, order: 'asc', count: false },
      );
      const [first] = entries;
      if (first === undefined) throw fail('not_found', 'there is no such trace');
      const feedback = await store.feedbackOf(scope, [traceId], seenFeedback(directory, principal));
      const entriesNow = await withLate(store, scope, entries, now());
      const spans = spansOf(entriesNow.map(({ entry }) => entry));
      const cost = entries.reduce((sum, entry) => sum + BigInt(entry.cost ?? 0), 0n);
      const tokens = entries.reduce((sum, entry) => sum + (entry.usage?.totalTokens ?? 0), 0);
      const ends = entries.reduce((last, entry) => Math.max(last, endOf(entry)), 0);
      return create(TraceSchema, {
        object: 'trace',
        traceId,
        requests: entries.length,
        startedAt: timeText(first.createdAt),
        durationMs: Math.round((ends - first.createdAt) * 1000) / 1000,
        cost: inCents(cost),
        costExact: cost.toString(),
        totalTokens: BigInt(tokens),
        spans: spans.slice(0, MAX_SPANS),
        truncated: next !== undefined || spans.length > MAX_SPANS,
        ...feedbackMembers(feedback.get(traceId)),
      });
    },
  };
}
