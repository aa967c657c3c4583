// The results of asynchronous guardrails, which end after their calls, merged into the entry's spans and results.

import type { RequestRecord, SpanRecord } from '../../call/record.ts';
import type { TenantScope } from '../../call/scope.ts';
import { type KeptLateHook, keptLateHook, lateHookId } from '../../ledger/late-hooks.ts';
import type { LogStore } from '../../store/log-store.ts';

/** An entry as it stands now, and the results that followed it. */
export interface LateEntry {
  readonly entry: RequestRecord;
  readonly late: readonly KeptLateHook[];
}

/** Guardrails that are looked for together; those beyond stay `pending`. */
const MOST = 1000;
/** Read at once. */
const LANES = 8;
/** No guardrail runs for longer than this: one without a result by then never has one. */
const PATIENCE_MS = 10 * 60_000;

/** @param now Unix milliseconds @throws GatewayError store_unavailable */
export async function withLate(
  store: Pick<LogStore, 'bodies'>,
  scope: TenantScope,
  entries: readonly RequestRecord[],
  now: number,
): Promise<readonly LateEntry[]> {
  const found = new Map<SpanRecord, KeptLateHook>();
  const queue = pendingOf(entries).values();
  const lane = async (): Promise<void> => {
    for (const { entry, span, place } of queue) {
      const record = await store.bodies(scope, lateHookId(entry.id, place), entry.createdAt);
      const late = record && keptLateHook(record);
      if (late !== undefined) found.set(span, late);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return entries.map((entry) => placed(entry, found, now));
}

interface Pending {
  readonly entry: RequestRecord;
  readonly span: SpanRecord;
  readonly place: number;
}

function pendingOf(entries: readonly RequestRecord[]): Pending[] {
  const pending: Pending[] = [];
  for (const entry of entries)
    for (const [place, span] of (entry.spans ?? []).entries())
      if (isPending(span) && pending.length < MOST) pending.push({ entry, span, place });
  return pending;
}

function isPending({ kind, verdict }: SpanRecord): boolean {
  return kind === 'guardrail' && verdict === 'pending';
}

function placed(entry: RequestRecord, found: ReadonlyMap<SpanRecord, KeptLateHook>, now: number): LateEntry {
  const { spans } = entry;
  if (!spans?.some(isPending)) return { entry, late: [] };
  const over = entry.createdAt + entry.latencyMs + PATIENCE_MS < now;
  return {
    entry: {
      ...entry,
      spans: spans.map((span): SpanRecord => {
        const late = found.get(span);
        if (late !== undefined) return { ...span, verdict: late.verdict, latencyMs: late.latencyMs };
        return over && isPending(span) ? { ...span, verdict: 'unknown' } : span;
      }),
    },
    late: spans.flatMap((span) => found.get(span) ?? []),
  };
}
