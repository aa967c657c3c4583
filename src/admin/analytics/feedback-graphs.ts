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
import type { Call } from '../../access/call.ts';
import type { FeedbackRecord } from '../../store/log-store.ts';
import { timeText } from '../time.ts';
import { arrangementOf } from './arrangement.ts';
import { bucketLength, bucketsOf } from './buckets.ts';
import type { AnalyticsFacts } from './facts.ts';
import { feedbackBy, feedbackOf, weightedMean } from './feedback-of.ts';
import { selectionOf } from './selection.ts';
import { BY_TIME } from './timed-graph.ts';

const HEAD = { object: 'analytics-graph', source: AnalyticsSource.FEEDBACK };

/** The methods of AnalyticsGraphsService that are about feedback. */
export function feedbackGraphs(facts: AnalyticsFacts) {
  return {
    async getFeedbackGraph(request: AnalyticsRequest, call: Call): Promise<CountGraph> {
      const { feedback, points, head } = await overTime(facts, request, call);
      const total = (of: readonly FeedbackRecord[]) => ({ total: BigInt(of.length) });
      return create(CountGraphSchema, { ...head, summary: total(feedback), dataPoints: points(total) });
    },

    async getWeightedFeedbackGraph(request: AnalyticsRequest, call: Call): Promise<WeightedFeedbackGraph> {
      const { feedback, points, head } = await overTime(facts, request, call);
      const avg = (of: readonly FeedbackRecord[]) => ({ avg: weightedMean(of) });
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
      const feedback = await feedbackOf(facts, await selectionOf(facts, request, call));
      const scores = [...feedbackBy(feedback, ({ value }) => value)];
      return create(FeedbackScoresGraphSchema, {
        ...HEAD,
        summary: { total: BigInt(feedback.length) },
        dataPoints: arranged(scores.map(([score, of]) => ({ score, total: BigInt(of.length) }))),
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
      const feedback = await feedbackOf(facts, await selectionOf(facts, request, call));
      const models = [...feedbackBy(feedback, ({ entry }) => entry?.model ?? '')];
      return create(FeedbackModelsGraphSchema, {
        ...HEAD,
        summary: {},
        dataPoints: arranged(
          models.map(([aiModel, of]) => ({
            aiModel,
            total: BigInt(of.length),
            avgWeightedFeedback: weightedMean(of),
          })),
        ),
      });
    },
  };
}

/** The feedback of a request, and what makes the points of its graph. */
async function overTime(facts: AnalyticsFacts, request: AnalyticsRequest, call: Call) {
  const arranged = arrangementOf(request, BY_TIME);
  const selection = await selectionOf(facts, request, call);
  const { from, until } = selection.filter;
  const feedback = await feedbackOf(facts, selection);
  const bucketMs = bucketLength(from, until);
  const byTime = feedbackBy(feedback, timeOf);
  const slots = bucketsOf(from, until, bucketMs).map((at) => ({
    timestamp: timeText(at),
    of: byTime.get(at),
  }));
  return {
    feedback,
    head: { ...HEAD, bucketSeconds: bucketMs / 1000 },
    points: <P extends object>(pointOf: (of: readonly FeedbackRecord[]) => P) =>
      arranged(slots).map(({ timestamp, of = [] }) => ({ timestamp, ...pointOf(of) })),
  };

  function timeOf({ entry, createdAt }: FeedbackRecord): number {
    return Math.floor((entry?.createdAt ?? createdAt) / bucketMs) * bucketMs;
  }
}
