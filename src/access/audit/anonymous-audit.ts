// Audit entries of unauthenticated calls. Anyone can cause thousands of them a second, so callers do not wait for
// them; they are written in batches, and counted when they come too fast to be written one by one.
import type { AuditRecord } from './entry.ts';

/** The burst that is written one by one, and that refills with time. */
const BURST = 100;
const PER_SECOND = 5;
const EVERY_MS = 500;

interface Pending {
  tokens: number;
  refilledAt: number;
  queue: AuditRecord[];
  skipped: number;
  /** The last one that was only counted. */
  last: AuditRecord | undefined;
}

/** What is needed. */
export interface AnonymousAuditDeps {
  readonly append: (organisationId: string, record: AuditRecord) => Promise<unknown>;
  /** A monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
  /** Told of entries that could not be written. */
  readonly onLost: (error: unknown, count: number) => void;
}

export interface AnonymousAudit {
  /** Never waits, never fails. */
  tell(organisationId: string, record: AuditRecord): void;
  /** Resolves when entries taken so far are written, or given up. */
  flush(): Promise<void>;
}

export function createAnonymousAudit({ append, monotonic, onLost }: AnonymousAuditDeps): AnonymousAudit {
  const pending = new Map<string, Pending>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function refilled(organisationId: string): Pending {
    const now = monotonic();
    let one = pending.get(organisationId);
    if (one === undefined) {
      one = { tokens: BURST, refilledAt: now, queue: [], skipped: 0, last: undefined };
      pending.set(organisationId, one);
    }
    one.tokens = Math.min(BURST, one.tokens + ((now - one.refilledAt) / 1000) * PER_SECOND);
    one.refilledAt = now;
    return one;
  }

  async function write(): Promise<void> {
    const appends: Promise<unknown>[] = [];
    for (const [organisationId, one] of pending) {
      const due = one.queue;
      one.queue = [];
      if (one.last !== undefined) due.push(summary(one.last, one.skipped));
      one.skipped = 0;
      one.last = undefined;
      appends.push(...due.map((record) => append(organisationId, record)));
      if (refilled(organisationId).tokens >= BURST) pending.delete(organisationId);
    }
    const lost = (await Promise.allSettled(appends)).filter((outcome) => outcome.status === 'rejected');
    if (lost.length > 0) onLost(lost[0]?.reason, lost.length);
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    // One after the other: a flush also waits for a write in progress.
    writing = writing.then(write);
    return writing;
  }

  return {
    tell(organisationId, record) {
      const one = refilled(organisationId);
      if (one.tokens >= 1) {
        one.tokens--;
        one.queue.push(record);
      } else {
        one.skipped++;
        one.last = record;
      }
      timer ??= setTimeout(flush, EVERY_MS).unref();
    },
    flush,
  };
}

function summary(last: AuditRecord, skipped: number): AuditRecord {
  if (skipped === 1) return last;
  return {
    ...last,
    detail: `${skipped} calls like this one came too fast to be written one by one; this is the last. ${last.detail}`,
  };
}
