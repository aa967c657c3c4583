// A pipeline's call at the cache: where its settings, its key and its report come from and go to.
import type { Call } from '../../call/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { Dialect } from '../../providers/dialect.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import type { Written } from '../pipeline/write-request.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { withCacheHeaders } from './headers.ts';
import { type CacheReport, shadowHeader } from './report.ts';
import type { CacheCall } from './response-cache.ts';
import type { Embedder } from './semantic.ts';
import { subjectOf } from './subject-of.ts';

/** What of an attempt the cache must know. */
export interface CachedAttempt {
  readonly bound: BoundTarget;
  readonly dialect: Dialect;
  readonly operation: OperationName;
  /** What the provider is asked for: another one where the operation is translated. */
  readonly wire: OperationName;
  /** The request that asks for a whole answer, for streams as well; made only when the cache is used. */
  readonly outbound: () => Written | Promise<Written>;
  readonly model: string;
  /** Tells the guardrails that the answer passes from others; empty: none. */
  readonly guardrails?: string;
  /** Of the attempt. */
  readonly signal: AbortLike;
  /** Makes the vectors of semantic mode. */
  readonly embedder?: Embedder | undefined;
  /** 0 for a hedge: it must not wait for the call that it stands in for. */
  readonly waitMs?: number;
  /** False: another answer is wanted each time. */
  readonly repeatable?: boolean;
  /** Told with every report, e.g. for the explanation. */
  readonly onReport?: (report: CacheReport) => void;
}

/**
 * The call at the cache. Notes its status in the trail, and what a shadow would have answered in the answer's header
 * cache-shadow. A call without a principal does not use the cache.
 *
 *     const answer = await cache.whole(cacheCallOf(call, attempt), wholeMessages(json, schema), () => callWhole(…));
 *
 * @throws GatewayError invalid_header for a bad namespace.
 */
export function cacheCallOf(call: Call, attempt: CachedAttempt): CacheCall {
  const { bound, dialect, operation, wire, outbound, model, signal, embedder, waitMs, onReport } = attempt;
  const { principal, record } = call;
  const usable = principal !== undefined && operationRow(operation).cached && attempt.repeatable !== false;
  return {
    settings: usable ? withCacheHeaders(bound.plan.cache, call.headers) : undefined,
    subject: async () =>
      subjectOf(
        {
          organisationId: principal!.organisationId,
          workspaceId: principal!.workspaceId,
          metadata: record.metadata,
        },
        bound,
        dialect,
        operation,
        wire,
        await outbound(),
        model,
        attempt.guardrails,
      ),
    signal,
    note(report) {
      record.cacheStatus = report.status;
      // An answer from the cache has no attempt that would say so.
      if (record.model === '') record.model = model;
      if (report.note?.model !== undefined) record.responseModel = report.note.model;
      record.saved = report.note?.usage;
      const shadow = shadowHeader(report);
      if (shadow !== undefined) call.answerHeaders.set(`${call.headers.callerPrefix}cache-shadow`, shadow);
      onReport?.(report);
    },
    answerNote: () => ({
      ...(record.responseModel === '' ? {} : { model: record.responseModel }),
      ...(record.usage === undefined ? {} : { usage: record.usage }),
    }),
    embedder,
    ...(waitMs === undefined ? {} : { waitMs }),
  };
}
