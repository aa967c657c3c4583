// Exports of the request log as they are kept.
import { type Collection, defineCollection, type JsonObject } from '../../store/collection.ts';
import type { LogFilter } from '../../store/request-log.ts';

export type ExportStatus = 'draft' | 'in_progress' | 'success' | 'failed' | 'stopped';

/** A filter of the request log as JSON: money in decimal digits. */
export interface KeptFilter extends Omit<LogFilter, 'cost'> {
  readonly cost?: { readonly min?: string; readonly max?: string };
}

/** Bytes under one name: who takes a run over writes under another one. */
export interface ExportPart {
  readonly name: string;
  /** Parts that count; parts after them were written by a process that was killed, and are not read. */
  readonly bytes: number;
}

/** How far it is. Times are Unix milliseconds. */
export interface ExportRun {
  /** Which entries, until when it was started. */
  readonly filter: KeptFilter;
  readonly fields: readonly string[];
  /** Entries that are passed over before those that are written. */
  readonly skip: number;
  /** Entries that are written at the most. */
  readonly take: number;
  /** Where the next page begins; absent at the begin. */
  readonly next?: string;
  /** Entries passed over so far, and written so far. */
  readonly passed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly parts: readonly ExportPart[];
  /** The lease: the instance that runs the export, and the time the lease expires. */
  readonly lease?: { readonly owner: string; readonly until: number };
  readonly startedAt: number;
  /** Of one that is done. */
  readonly endedAt?: number;
  /** Why it failed. */
  readonly error?: string;
}

/** An export. */
export interface LogExportBody {
  /** As callers write them. */
  readonly filters: JsonObject;
  readonly requestedData: readonly string[];
  readonly description?: string;
  /** Id of the user, or of the key of a service. */
  readonly createdBy: string;
  /** What narrows it to the calls of who made it, where the security settings showed them no others. */
  readonly own?: Pick<KeptFilter, 'userIds' | 'apiKeyIds'>;
  readonly status: ExportStatus;
  /** Absent: it was never started, or changed since. */
  readonly run?: ExportRun;
  /** How often somebody began to write it, over all its runs: each writes under a name of its own (`partName`). */
  readonly turns: number;
  /** What turns up to this one wrote is not read any more, and goes. */
  readonly discard?: number;
  /** What turns up to this one wrote is gone. */
  readonly cleared?: number;
}

/** Under which name a turn writes. */
export function partName(id: string, turn: number): string {
  return `${id}.${turn}`;
}

export const logExports: Collection<LogExportBody> = defineCollection<LogExportBody>({
  name: 'log_exports',
  schemaVersion: 1,
  noticed: true,
  fields: [
    { name: 'status', type: 'text' },
    { name: 'createdBy', type: 'text' },
  ],
});

/** All collections of this room. */
export const exportCollections: readonly Collection<object>[] = [logExports];

export function keptFilter({ cost, ...filter }: LogFilter): KeptFilter {
  if (cost === undefined) return filter;
  const { min, max } = cost;
  return {
    ...filter,
    cost: {
      ...(min === undefined ? {} : { min: min.toString() }),
      ...(max === undefined ? {} : { max: max.toString() }),
    },
  };
}

export function filterOf({ cost, ...filter }: KeptFilter): LogFilter {
  if (cost === undefined) return filter;
  const { min, max } = cost;
  return {
    ...filter,
    cost: {
      ...(min === undefined ? {} : { min: BigInt(min) }),
      ...(max === undefined ? {} : { max: BigInt(max) }),
    },
  };
}
