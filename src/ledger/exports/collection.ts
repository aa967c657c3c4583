// Exports of the request log as they are stored.
import { type Collection, defineCollection, type JsonObject } from '../../store/collection.ts';
import type { LogFilter } from '../../store/request-log.ts';

export type ExportStatus = 'draft' | 'in_progress' | 'success' | 'failed' | 'stopped';

/** A filter of the request log as JSON: money in decimal digits. */
export interface KeptFilter extends Omit<LogFilter, 'cost'> {
  readonly cost?: { readonly min?: string; readonly max?: string };
}

/** Bytes under one name: an instance that takes a run over writes under another one. */
export interface ExportPart {
  readonly name: string;
  /** Parts that count; parts after them were written by a process that was killed, and are not read. */
  readonly bytes: number;
}

/** The progress of a run. Times are Unix milliseconds. */
export interface ExportRun {
  /** The filter of its entries, up to the time it was started. */
  readonly filter: KeptFilter;
  readonly fields: readonly string[];
  /** Entries to skip before the first that is written. */
  readonly skip: number;
  /** The most entries that are written. */
  readonly take: number;
  /** The cursor of the next page; absent at the beginning. */
  readonly next?: string;
  /** Entries skipped so far, and written so far. */
  readonly passed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly parts: readonly ExportPart[];
  /** The lease: the instance that runs the export, and the time the lease expires. */
  readonly lease?: { readonly owner: string; readonly until: number };
  readonly startedAt: number;
  /** When it was finished. */
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
  /** Id of the user, or of a service's key. */
  readonly createdBy: string;
  /** Narrows it to its maker's own calls, where the security settings hide the calls of others. */
  readonly own?: Pick<KeptFilter, 'userIds' | 'apiKeyIds'>;
  readonly status: ExportStatus;
  /** Absent: it was never started, or changed since. */
  readonly run?: ExportRun;
  /** How many turns began to write it, over all its runs: each writes under a name of its own (`partName`). */
  readonly turns: number;
  /** The output of turns up to this one is not read any more, and is deleted. */
  readonly discard?: number;
  /** The output of turns up to this one is deleted. */
  readonly cleared?: number;
}

/** The name that a turn writes under. */
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
