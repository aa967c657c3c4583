// Ratings of answers, stored next to the request log.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreateFeedbackRequest,
  type FeedbackReceipt,
  FeedbackReceiptSchema,
  type UpdateFeedbackRequest,
} from '../../../gen/gateway/admin/v2/feedback_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { Call } from '../../call/call.ts';
import type { RequestRecord } from '../../call/record.ts';
import type { TenantScope } from '../../call/scope.ts';
import { invalidField } from '../../lib/errors.ts';
import type { FeedbackRecord, LogStore } from '../../store/log-store.ts';
import { callerOf, found, scopeOf } from '../kit/caller.ts';
import { defined } from '../kit/patch.ts';
import { isSeen } from '../logs/reach.ts';
import { type GivenFeedback, givenFeedback, metadataOf } from './input.ts';

/** What the service needs. */
export interface FeedbackDeps {
  readonly store: LogStore;
  readonly directory: Directory;
  /** Makes everything recorded so far readable. */
  readonly flush: () => Promise<void>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Traces that are looked up at once. */
const AT_ONCE = 8;

/** The methods of FeedbackService. */
export function feedbackService({ store, directory, flush, now }: FeedbackDeps) {
  return {
    async createFeedback(request: CreateFeedbackRequest, call: Call): Promise<FeedbackReceipt> {
      const principal = callerOf(call);
      const given = givenFeedback(request);
      // Feedback often follows the answer at once.
      await flush();
      const scope = scopeOf(principal);
      const entries = await lastEntries(store, scope, given);
      const at = now();
      const records = given.map((one) =>
        defined<FeedbackRecord>({
          id: randomUUID(),
          ...one,
          createdAt: at,
          updatedAt: at,
          organisationId: principal.organisationId,
          workspaceId: principal.workspaceId ?? '',
          apiKeyId: principal.keyId,
          userId: principal.userId,
          entry: entries.get(one.traceId),
        }),
      );
      await store.addFeedback(records);
      return receipt('Feedback successfully saved', records);
    },

    async updateFeedback(request: UpdateFeedbackRequest, call: Call): Promise<FeedbackReceipt> {
      const principal = callerOf(call);
      const { id, feedbackId, value, weight, metadata } = request;
      if (feedbackId !== undefined && feedbackId !== id)
        throw invalidField('feedback_id', 'is not the id of the path');
      const scope = scopeOf(principal);
      const before = await store.getFeedback(scope, id);
      const own = before !== undefined && isSeen(directory, principal, before) ? before : undefined;
      const known = found(own, 'feedback');
      const after: FeedbackRecord = {
        ...known,
        value: value ?? known.value,
        weight: weight ?? known.weight,
        metadata: metadata === undefined ? known.metadata : metadataOf(metadata, ''),
        updatedAt: now(),
      };
      if (!(await store.updateFeedback(scope, after))) found(undefined, 'feedback');
      return receipt('Feedback successfully updated', [after]);
    },
  };
}

function receipt(message: string, records: readonly FeedbackRecord[]): FeedbackReceipt {
  return create(FeedbackReceiptSchema, {
    status: 'success',
    message,
    feedbackIds: records.map(({ id }) => id),
  });
}

/** The last entry of each trace, without its attempts and spans; of traces without one none. */
async function lastEntries(
  store: LogStore,
  scope: TenantScope,
  given: readonly GivenFeedback[],
): Promise<ReadonlyMap<string, RequestRecord>> {
  const entries = new Map<string, RequestRecord>();
  // One queue for all lanes: each takes the next trace.
  const queue = new Set(given.map(({ traceId }) => traceId)).values();
  const lane = async (): Promise<void> => {
    for (const traceId of queue) {
      const place = { page: 0, pageSize: 1, order: 'desc', count: false } as const;
      const { entries: last } = await store.page(scope, { traceIds: [traceId] }, place);
      for (const { spans: _, ...entry } of last) entries.set(traceId, { ...entry, attempts: [] });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return entries;
}
