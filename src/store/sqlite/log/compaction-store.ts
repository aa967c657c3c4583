// The port's parts that change what is kept: corrections, retention, bodies.
import { jsonTextInSlices } from '../../../lib/json-in-slices.ts';
import { nextSlice } from '../../../lib/time-slices.ts';
import type { BodiesRecord, LogStore } from '../../log-store.ts';
import type { WriterCall } from '../protocol.ts';
import type { WorkerClient } from '../worker-client.ts';
import type { BodyKey } from './body-files.ts';
import { type Bucket, bucketName, dayOf } from './buckets.ts';
import type { LogCompactor } from './compactor.ts';
import { scopeOf } from './entries.ts';
import type { SegmentChange } from './manifest.ts';
import type { LogCompactorCall, LogReaderCall } from './protocol.ts';
import type { RepricedSegments } from './reprice.ts';
import type { Dropping, Due, Unsummed } from './retire.ts';

/** Corrections over many segments, or a large day. */
const LONG_MS = 600_000;

export interface CompactionStore extends Pick<LogStore, 'reprice' | 'expire' | 'appendBodies' | 'bodies'> {
  /** Makes the roll-ups of past days; `expire` does this too. */
  makeRollups(now: number): Promise<void>;
  /** Remakes the roll-ups of a day whose entries still exist. @param at a time of the day, in Unix milliseconds */
  remakeRollups(at: number): Promise<void>;
}

export function compactionStore(
  writer: WorkerClient<WriterCall>,
  reader: WorkerClient<LogReaderCall>,
  keeping: WorkerClient<LogCompactorCall>,
  compactor: LogCompactor,
): CompactionStore {
  const ask = <T>(call: LogCompactorCall): Promise<T> => keeping.call<T>(call, 0, LONG_MS);

  async function changeAndDrop<T extends Dropping>(call: LogCompactorCall): Promise<T> {
    const found = await ask<T>(call);
    await compactor.change(found.change);
    for (const file of found.files) await ask({ kind: 'drop', file });
    return found;
  }

  return {
    makeRollups: (now) =>
      compactor.alone(async () => {
        while (await compactor.seal(true));
        for (const bucket of await ask<Bucket[]>({ kind: 'unsummed', now })) {
          await compactor.change(await ask<SegmentChange>({ kind: 'sum', bucket }));
        }
      }),

    remakeRollups: (at) =>
      compactor.alone(async () => {
        const { buckets } = await changeAndDrop<Unsummed>({ kind: 'unsum', day: dayOf(at) });
        for (const bucket of buckets)
          await compactor.change(await ask<SegmentChange>({ kind: 'sum', bucket }));
      }),

    reprice: (org, corrections) =>
      compactor.alone(async () => {
        if (corrections.length === 0) return 0;
        while (await compactor.seal(true));
        const { count, change } = await ask<RepricedSegments>({ kind: 'reprice', org, corrections });
        if (change.add.length > 0) await compactor.change(change);
        return count;
      }),

    expire: (retention, now) =>
      compactor.alone(async () => {
        // The compactor is a thread that starts for it: a gateway whose log began today has no use for one.
        if (!(await writer.call<boolean>({ kind: 'earlierDays', now }, 0, LONG_MS))) return [];
        let due = await ask<Due>({ kind: 'due', retention, now });
        if (due.tail) {
          while (await compactor.seal(true));
          due = await ask<Due>({ kind: 'due', retention, now });
        }
        const dropped: string[] = [];
        for (const bucket of due.retire) {
          const withSums = retention.metricDays > 0;
          await changeAndDrop({ kind: 'retire', bucket, withSums });
          dropped.push(`entries-${bucketName(bucket)}`);
        }
        for (const bucket of due.sum)
          await compactor.change(await ask<SegmentChange>({ kind: 'sum', bucket }));
        for (const bucket of due.forget) {
          await changeAndDrop({ kind: 'forget', bucket });
          dropped.push(`sums-${bucketName(bucket)}`);
        }
        const bodies = await ask<string[]>({ kind: 'expireBodies', days: retention.bodyDays, now });
        return [...dropped, ...bodies];
      }),

    appendBodies: async (batch) => {
      if (batch.length === 0) return;
      const { keys, lines, length } = await encoded(batch);
      await keeping.call({ kind: 'bodies', keys, lines }, length);
    },

    bodies: readBodies(reader),
  };
}

function readBodies(reader: WorkerClient<LogReaderCall>): LogStore['bodies'] {
  return async (scope, id, time) => {
    const { org, workspace } = scopeOf(scope);
    const line = await reader.call<string | null>({ kind: 'body', org, id, time });
    if (line === null) return undefined;
    // Those of several entries come at once.
    const next = nextSlice();
    if (next !== undefined) await next;
    const found = JSON.parse(line) as BodiesRecord;
    return workspace === null || found.workspaceId === workspace ? found : undefined;
  };
}

async function encoded(
  batch: readonly BodiesRecord[],
): Promise<{ readonly keys: BodyKey[]; readonly lines: string[]; readonly length: number }> {
  const lines: string[] = [];
  let length = 0;
  for (const record of batch) {
    const line = await jsonTextInSlices(record);
    lines.push(line);
    length += line.length;
    const next = nextSlice();
    if (next !== undefined) await next;
  }
  const keys = batch.map(({ organisationId, id, createdAt, keepDays }): BodyKey => {
    return [organisationId, id, createdAt, keepDays];
  });
  return { keys, lines, length };
}
