// The port's part that is about feedback, over the workers.
import { setImmediate } from 'node:timers/promises';
import { checkScope } from '../../document-checks.ts';
import { checkGrouping, checkOwn, checkTraces } from '../../log/trace-feedback.ts';
import { checkLogFilter } from '../../log-filter.ts';
import type { FeedbackRecord, FeedbackTotals, LogStore, TraceFeedback } from '../../log-store.ts';
import type { ReaderCall, WriterCall } from '../protocol.ts';
import type { WorkerClient } from '../worker-client.ts';
import type { TraceFeedbackRow } from './feedback-reads.ts';
import type { FeedbackRow } from './feedback-row.ts';
import type { LogReaderCall } from './protocol.ts';

export type FeedbackStore = Pick<
  LogStore,
  'addFeedback' | 'getFeedback' | 'updateFeedback' | 'feedbackOf' | 'sumFeedback'
>;

/** Records parsed between two turns of the event loop. */
const SLICE = 500;

export function feedbackStore(
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<ReaderCall>,
  aggregates: Pick<WorkerClient<LogReaderCall>, 'call'>,
): FeedbackStore {
  return {
    addFeedback: async (batch) => {
      if (batch.length > 0) await writer.call(...addCall(batch, false));
    },

    getFeedback: async (scope, id) => {
      const { organisationId: org, workspaceId: workspace } = checkScope(scope);
      const found = await reader.call<string | null>({ kind: 'feedback', org, workspace, id });
      return found === null ? undefined : (JSON.parse(found) as FeedbackRecord);
    },

    updateFeedback: async (scope, { id, value, weight, metadata, updatedAt }) => {
      const { organisationId: org, workspaceId: workspace } = checkScope(scope);
      const members = JSON.stringify({ value, weight, metadata, updatedAt });
      const update = { org, workspace, id, mark: value * weight, members };
      return writer.call<boolean>({ kind: 'updateFeedback', update }, members.length);
    },

    feedbackOf: async (scope, traceIds, own) => {
      const { organisationId: org, workspaceId: workspace } = checkScope(scope);
      const of = { traceIds: checkTraces(traceIds), own: checkOwn(own) };
      if (traceIds.length === 0) return new Map();
      const rows = await reader.call<TraceFeedbackRow[]>({ kind: 'feedbackOf', org, workspace, ...of });
      const found = new Map<string, TraceFeedback>();
      for (const [traceId, count, sum, last] of rows)
        found.set(traceId, { count, sum, last: (await parsed(last)).reverse() });
      return found;
    },

    sumFeedback: async (scope, filter, by) => {
      const { organisationId: org, workspaceId: workspace } = checkScope(scope);
      const call = { kind: 'feedback', org, workspace, filter: checkLogFilter(filter) } as const;
      return aggregates.call<FeedbackTotals[]>({ ...call, by: checkGrouping(by) });
    },
  };
}

/** The call that stores feedback, and its length. */
export function addCall(batch: readonly FeedbackRecord[], onlyMissing: boolean): [WriterCall, number] {
  const rows = batch.map((record): FeedbackRow => {
    const { organisationId, workspaceId, id, traceId, createdAt, value, weight, entry } = record;
    const time = entry?.createdAt ?? createdAt;
    const mark = value * weight;
    return [organisationId, workspaceId, id, traceId, time, createdAt, mark, JSON.stringify(record)];
  });
  const length = rows.reduce((sum, [, , , , , , , record]) => sum + record.length, 0);
  return [{ kind: 'feedback', rows, onlyMissing }, length];
}

async function parsed(records: readonly string[]): Promise<FeedbackRecord[]> {
  const found: FeedbackRecord[] = [];
  for (const [index, record] of records.entries()) {
    if (index > 0 && index % SLICE === 0) await setImmediate();
    found.push(JSON.parse(record) as FeedbackRecord);
  }
  return found;
}
