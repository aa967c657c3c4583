// Feedback summed up by the server.
import type mongoose from 'mongoose';
import { invalidField } from '../../../lib/errors.ts';
import { TOO_MUCH } from '../../log/trace-feedback.ts';
import type { FeedbackGrouping, FeedbackTotals } from '../../log-store.ts';
import type { LogFilter } from '../../request-log.ts';
import type { Deadline } from '../calls.ts';
import type { CheckedScope } from './entry-filter.ts';
import { pairKey } from './entry-row.ts';
import { feedbackMatch, MARK, rowsIn } from './feedback.ts';
import { textOfKept } from './kept-text.ts';
import type { LogPlace } from './place.ts';

/** Pieces that are added up for one answer, and groups of it. */
const MOST = 1_000_000;
const GROUPS = 100_000;

interface Row {
  readonly _id: unknown;
  readonly count: number;
  readonly sum: number;
  readonly traces: number;
}

/** @throws GatewayError validation_failed on `until` for too much of it */
export async function sumFeedback(
  place: LogPlace,
  scope: CheckedScope,
  filter: LogFilter,
  by: FeedbackGrouping,
  deadline: Deadline,
): Promise<FeedbackTotals[]> {
  const { match, hint } = await feedbackMatch(place, scope, filter, deadline);
  const { stages, group } = groupingOf(by);
  const rows = await rowsIn(place)
    .aggregate<Row>(
      [
        ...[{ $match: match }, { $limit: MOST + 1 }, ...stages],
        // First by trace, so that traces are counted and not collected.
        { $group: { _id: { g: group, t: '$traceId' }, n: { $sum: 1 }, sum: { $sum: MARK } } },
        {
          $group: { _id: '$_id.g', count: { $sum: '$n' }, sum: { $sum: '$sum' }, traces: { $sum: 1 } },
        },
        { $limit: GROUPS + 1 },
      ],
      { hint, allowDiskUse: true, maxTimeMS: deadline.remaining() },
    )
    .toArray();
  const all = rows.reduce((sum, { count }) => sum + Number(count), 0);
  if (all > MOST || rows.length > GROUPS) throw invalidField('until', TOO_MUCH, 'too_many');
  return rows.map(({ _id, count, sum, traces }) => ({
    group: textOfKept(String(_id)),
    count: Number(count),
    sum: Number(sum),
    traces: Number(traces),
  }));
}

function groupingOf(by: FeedbackGrouping): {
  readonly stages: readonly mongoose.mongo.Document[];
  readonly group: unknown;
} {
  if (by === 'value') return { stages: [], group: '$value' };
  if (by === 'model') return { stages: [], group: { $ifNull: ['$of.model', ''] } };
  if ('bucketMs' in by) return { stages: [], group: { $subtract: ['$at', { $mod: ['$at', by.bucketMs] }] } };
  const key = pairKey(by.metadata);
  const pair = {
    $filter: {
      input: { $ifNull: ['$of.metadata', []] },
      cond: { $eq: [{ $indexOfBytes: ['$$this', { $literal: key }] }, 0] },
    },
  };
  return {
    stages: [{ $set: { pair: { $first: pair } } }, { $match: { pair: { $type: 'string' } } }],
    group: { $substrBytes: ['$pair', Buffer.byteLength(key), -1] },
  };
}
