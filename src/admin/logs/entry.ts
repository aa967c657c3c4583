// Entries of the request log as messages.
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type LogEntry,
  LogEntrySchema,
  type LogFeedback,
  LogFeedbackSchema,
  LogSpanSchema,
  Outcome,
} from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { type Usage, UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { AttemptRecord, OutcomeRecord, RequestRecord, UsageRecord } from '../../call/record.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import type { TraceFeedback } from '../../store/log-store.ts';
import { timeText } from '../kit/time.ts';

const OUTCOMES: Readonly<Record<OutcomeRecord, Outcome>> = {
  success: Outcome.SUCCESS,
  error: Outcome.ERROR,
  cancelled: Outcome.CANCELLED,
  interrupted: Outcome.INTERRUPTED,
};
/** @param feedback of the entry's trace, where there is some */
export function logEntry(record: RequestRecord, feedback?: TraceFeedback): LogEntry {
  const { createdAt, outcome, usage, cost, saved, promptCacheSaved, attempts, spans, ...same } = record;
  return create(LogEntrySchema, {
    ...same,
    object: 'log',
    createdAt: timeText(createdAt),
    outcome: OUTCOMES[outcome],
    ...(usage ? { usage: usageMessage(usage) } : {}),
    ...moneyOf(cost),
    ...(saved === undefined ? {} : { saved: inCents(BigInt(saved)), savedExact: saved }),
    ...(promptCacheSaved === undefined
      ? {}
      : { promptCacheSaved: inCents(BigInt(promptCacheSaved)), promptCacheSavedExact: promptCacheSaved }),
    attempts: attempts.map(attempt),
    cacheStatus: record.cacheStatus ?? 'DISABLED',
    mode: record.mode ?? 'single',
    hasBodies: record.bodies ?? false,
    spans: (spans ?? []).map((span) =>
      create(LogSpanSchema, { ...span, startedAt: timeText(span.startedAt) }),
    ),
    ...feedbackMembers(feedback),
  });
}

/** The part of a trace's feedback that is shown with it. */
export function feedbackMembers(feedback: TraceFeedback | undefined): {
  readonly feedback: LogFeedback[];
  readonly weightedFeedback?: number;
} {
  if (feedback === undefined) return { feedback: [] };
  const { count, sum, last } = feedback;
  const shown = last.map(({ id, value, weight, createdAt, metadata }) =>
    create(LogFeedbackSchema, {
      id,
      value,
      weight,
      metadata: { ...metadata },
      createdAt: timeText(createdAt),
    }),
  );
  return { feedback: shown, weightedFeedback: sum / count };
}

function attempt({ startedAt, outcome, usage, cost, ...same }: AttemptRecord) {
  return {
    ...same,
    startedAt: timeText(startedAt),
    outcome: OUTCOMES[outcome],
    ...(usage ? { usage: usageMessage(usage) } : {}),
    ...moneyOf(cost),
  };
}

/** A sum in 1e-12 USD as messages have it: in US cents, and exact. */
export function moneyOf(cost: string | undefined): { readonly cost?: number; readonly costExact?: string } {
  return cost === undefined ? {} : { cost: inCents(BigInt(cost)), costExact: cost };
}

function usageMessage(usage: UsageRecord): Usage {
  const { cachedTokens, cacheCreationTokens, cacheCreation1hTokens, reasoningTokens } = usage;
  return create(UsageSchema, {
    promptTokens: BigInt(usage.promptTokens),
    totalTokens: BigInt(usage.totalTokens),
    ...(usage.completionTokens === undefined ? {} : { completionTokens: BigInt(usage.completionTokens) }),
    ...(cachedTokens === undefined && cacheCreationTokens === undefined
      ? {}
      : {
          promptTokensDetails: {
            ...(cachedTokens === undefined ? {} : { cachedTokens: BigInt(cachedTokens) }),
            ...(cacheCreationTokens === undefined
              ? {}
              : { cacheCreationTokens: BigInt(cacheCreationTokens) }),
            ...(cacheCreation1hTokens === undefined
              ? {}
              : { cacheCreation1hTokens: BigInt(cacheCreation1hTokens) }),
          },
        }),
    ...(reasoningTokens === undefined
      ? {}
      : { completionTokensDetails: { reasoningTokens: BigInt(reasoningTokens) } }),
    ...unitsOf(usage),
  });
}

/** What was counted apart from tokens, under the names of its prices. */
function unitsOf(usage: UsageRecord): { readonly extra?: JsonObject } {
  const { images, imageKind, audioMs, videoMs, characters, pages, trainedTokens } = usage;
  const units: [string, number | string | undefined][] = [
    ['images', images],
    ['image_kind', imageKind],
    ['audio_seconds', audioMs === undefined ? undefined : audioMs / 1000],
    ['video_seconds', videoMs === undefined ? undefined : videoMs / 1000],
    ['characters', characters],
    ['pages', pages],
    ['searches', usage.searchUnits],
    ['web_searches', usage.webSearches],
    ['trained_tokens', trainedTokens],
  ];
  const known = units.filter((unit): unit is [string, number | string] => unit[1] !== undefined);
  return known.length === 0 ? {} : { extra: { units: Object.fromEntries(known) } };
}
