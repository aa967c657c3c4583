// Graphs of feedback. Its time is that of the request that it is about.
import { create } from '@bufbuild/protobuf';
import {
  type CountGraph,
  CountGraphSchema,
  type FeedbackModelsGraph,
  FeedbackModelsGraphSchema,
  type FeedbackScoresGraph,
  FeedbackScoresGraphSchema,
  type WeightedFeedbackGraph,
  WeightedFeedbackGraphSchema,
} from '../../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { type AnalyticsRequest, AnalyticsSource } from '../../../gen/gateway/admin/v2/analytics_pb.ts';
import type { Call } from '../../call/call.ts';
import type { FeedbackTotals } from '../../store/log-store.ts';
import { timeText } from '../kit/time.ts';
import { arrangementOf } from './arrangement.ts';
import { bucketLength, bucketsOf } from './buckets.ts';
import type { AnalyticsDeps } from './deps.ts';
import { feedbackOf, together, weightedMean } from './feedback-of.ts';
import { selectionOf } from './selection.ts';
import { BY_TIME } from './timed-graph.ts';

const HEAD = { object: 'analytics-graph', source: AnalyticsSource.FEEDBACK };

/** The methods of AnalyticsGraphsService that are about feedback. */
export function feedbackGraphs(deps: AnalyticsDeps) {
  return {
    async getFeedbackGraph(request: AnalyticsRequest, call: Call): Promise<CountGraph> {
      const { feedback, points, head } = await overTime(deps, request, call);
      const total = ({ count }: Counted) => ({ total: BigInt(count) });
      return create(CountGraphSchema, { ...head, summary: total(feedback), dataPoints: points(total) });
    },

    async getWeightedFeedbackGraph(request: AnalyticsRequest, call: Call): Promise<WeightedFeedbackGraph> {
      const { feedback, points, head } = await overTime(deps, request, call);
      const avg = (of: Counted) => ({ avg: weightedMean(of) });
      return create(WeightedFeedbackGraphSchema, {
        ...head,
        summary: avg(feedback),
        dataPoints: points(avg),
      });
    },

    async getFeedbackScoresGraph(request: AnalyticsRequest, call: Call): Promise<FeedbackScoresGraph> {
      const arranged = arrangementOf<{ readonly score: number; readonly total: bigint }>(request, {
        score: ({ score }) => score,
        total: ({ total }) => Number(total),
      });
      const scores = await feedbackOf(deps, await selectionOf(deps, request, call), 'value');
      return create(FeedbackScoresGraphSchema, {
        ...HEAD,
        summary: { total: BigInt(together(scores).count) },
        dataPoints: arranged(
          scores.map(({ group, count }) => ({ score: Number(group), total: BigInt(count) })),
        ),
      });
    },

    async getFeedbackModelsGraph(request: AnalyticsRequest, call: Call): Promise<FeedbackModelsGraph> {
      const arranged = arrangementOf<{
        readonly aiModel: string;
        readonly total: bigint;
        readonly avgWeightedFeedback: number;
      }>(request, {
        ai_model: ({ aiModel }) => aiModel,
        total: ({ total }) => Number(total),
        avg_weighted_feedback: ({ avgWeightedFeedback }) => avgWeightedFeedback,
      });
      const models = await feedbackOf(deps, await selectionOf(deps, request, call), 'model');
      return create(FeedbackModelsGraphSchema, {
        ...HEAD,
        summary: {},
        dataPoints: arranged(
          models.map((of) => ({
            aiModel: of.group,
            total: BigInt(of.count),
            avgWeightedFeedback: weightedMean(of),
          })),
        ),
      });
    },
  };
}

type Counted = Pick<FeedbackTotals, 'count' | 'sum'>;

const NONE: Counted = { count: 0, sum: 0 };

/** The feedback of a request, and the function that makes the points of its graph. */
async function overTime(deps: AnalyticsDeps, request: AnalyticsRequest, call: Call) {
  const arranged = arrangementOf(request, BY_TIME);
  const selection = await selectionOf(deps, request, call);
  const { from, until } = selection.filter;
  const bucketMs = bucketLength(from, until);
  const found = await feedbackOf(deps, selection, { bucketMs });
  const byTime = new Map(found.map((of) => [Number(of.group), of]));
  const slots = bucketsOf(from, until, bucketMs).map((at) => ({
    timestamp: timeText(at),
    of: byTime.get(at),
  }));
  return {
    feedback: together(found),
    head: { ...HEAD, bucketSeconds: bucketMs / 1000 },
    points: <P extends object>(pointOf: (of: Counted) => P) =>
      arranged(slots).map(({ timestamp, of = NONE }) => ({ timestamp, ...pointOf(of) })),
  };
}
