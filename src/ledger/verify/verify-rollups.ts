// Verifies day by day that the roll-ups match the entries.
import type { LogRollups } from '../../store/log/aggregation.ts';
import type { LogStore } from '../../store/log-store.ts';
import type { LogFilter } from '../../store/request-log.ts';

/** What it takes. */
export interface VerifyRollupsDeps {
  readonly store: Pick<LogStore, 'aggregate'>;
  readonly organisations: readonly string[];
  /** Days that entries are kept. */
  readonly logDays: number;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A day whose roll-ups differ from its entries. */
export interface DifferentDay {
  readonly organisationId: string;
  /** Unix milliseconds of its begin. */
  readonly day: number;
  readonly sums: bigint;
  readonly entries: bigint;
}

const DAY_MS = 86_400_000;
/** No roll-ups are kept by it, and every entry matches: it is answered from entries. */
const FROM_ENTRIES: LogFilter = { latencyMs: { min: 0 } };

/** Compares all past days; returns how many have roll-ups, and which differ. @throws GatewayError store_unavailable */
export async function verifyRollups({ store, organisations, logDays, now }: VerifyRollupsDeps): Promise<{
  readonly days: number;
  readonly different: readonly DifferentDay[];
}> {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const different: DifferentDay[] = [];
  let days = 0;
  for (const organisationId of organisations) {
    const scope = { organisationId, workspaceId: undefined };
    for (let day = today - (logDays - 1) * DAY_MS; day < today; day += DAY_MS) {
      const span = { from: day, until: day + DAY_MS };
      const kept = await store.aggregate(scope, span, {});
      if (kept.source !== 'rollups') continue;
      days++;
      const added = await store.aggregate(scope, { ...span, ...FROM_ENTRIES }, {});
      const [rollup, entries] = [kept.rows[0]?.rollup, added.rows[0]?.rollup];
      if (textOf(rollup) !== textOf(entries))
        different.push({ organisationId, day, sums: rollup?.cost ?? 0n, entries: entries?.cost ?? 0n });
    }
  }
  return { days, different };
}

/** All that is counted, in one order. */
function textOf(rollup: LogRollups | undefined): string {
  if (rollup === undefined) return '';
  const { latencies, ...rest } = rollup;
  const plain = Object.entries(rest).map(([name, value]) => `${name}=${value}`);
  const counts = [...latencies].sort(([a], [b]) => a - b).map(([bucket, count]) => `${bucket}:${count}`);
  return [...plain.sort(), ...counts].join(' ');
}
