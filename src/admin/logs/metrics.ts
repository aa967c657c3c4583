// An entry's numbers by the names that clients of this ecosystem read (admin-api facts, part 10.2).
import { create } from '@bufbuild/protobuf';
import { type LogMetrics, LogMetricsSchema } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { RequestRecord } from '../../call/record.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import { timeText } from '../kit/time.ts';

const FORWARD = 'gateway.inference.v2.ProxyService/Forward';

export function logMetrics(directory: Directory, entry: RequestRecord): LogMetrics {
  const { organisationId, workspaceId, usage, cost, attempts, cacheStatus, latencyMs } = entry;
  const upstream = attempts.reduce((sum, attempt) => sum + attempt.latencyMs, 0);
  const cache = (entry.spans ?? []).reduce(
    (sum, span) => sum + (span.kind === 'cache' ? span.latencyMs : 0),
    0,
  );
  const pairs = Object.entries(entry.metadata);
  return create(LogMetricsSchema, {
    id: entry.id,
    organisationId,
    workspaceId,
    apiKeyId: entry.apiKeyId,
    organisationName: directory.organisation(organisationId)?.body.name ?? '',
    workspaceSlug: directory.workspace(organisationId, workspaceId)?.slug ?? '',
    promptSlug: entry.prompt,
    promptVersion: entry.promptVersion,
    config: entry.config,
    createdAt: timeText(entry.createdAt),
    isSuccess: entry.statusCode >= 200 && entry.statusCode < 300,
    aiOrg: entry.provider,
    aiModel: entry.model,
    reqUnits: BigInt(usage?.promptTokens ?? 0),
    resUnits: BigInt(usage?.completionTokens ?? 0),
    totalUnits: BigInt(usage?.totalTokens ?? 0),
    ...(cost === undefined ? {} : { cost: inCents(BigInt(cost)) }),
    costCurrency: 'USD',
    requestUrl: entry.path,
    requestMethod: entry.method,
    responseStatusCode: entry.statusCode,
    responseTime: latencyMs,
    isProxyCall: entry.operation === FORWARD,
    cacheStatus: cacheStatus ?? 'DISABLED',
    ...(cacheStatus === undefined
      ? {}
      : { cacheType: cacheStatus.startsWith('SEMANTIC') ? 'semantic' : 'simple' }),
    streamMode: entry.streamed ? 1 : 0,
    retrySuccessCount: entry.retries ?? 0,
    traceId: entry.traceId,
    internalTraceId: entry.traceId,
    spanId: entry.spanId,
    spanName: entry.spanName,
    parentSpanId: entry.parentSpanId,
    mode: entry.mode ?? 'single',
    virtualKey: entry.virtualKey,
    source: entry.inserted ? 'custom' : 'gateway',
    metadataKeys: pairs.map(([key]) => key),
    metadataValues: pairs.map(([, value]) => value),
    upstreamResponseTime: upstream,
    // Attempts may run side by side: then they take longer together than the request.
    gatewayProcessingTime: Math.max(0, latencyMs - upstream),
    cacheProcessingTime: cache,
  });
}
