// Processes with a recent heartbeat, grouped into instances.
import { create } from '@bufbuild/protobuf';
import { type InstanceStatus, InstanceStatusSchema } from '../../../gen/gateway/admin/v2/status_pb.ts';
import { timeText } from '../kit/time.ts';

/** A process that serves, and how long ago it told of itself, in milliseconds. */
export interface ListedProcess {
  readonly id: string;
  readonly instance: string;
  readonly pid: number;
  readonly version: string;
  readonly runtime: string;
  /** How long it had run then, in milliseconds. */
  readonly upMs: number;
  readonly logBuffered: number;
  readonly logLagMs: number;
  readonly ageMs: number;
}

export interface ListedProcesses {
  /** Of the process that answers. */
  readonly ownId: string;
  readonly processes: readonly ListedProcess[];
  /** False: others may run. */
  readonly isComplete: boolean;
}

/** The oldest first. @param now Unix milliseconds: ages are taken off it */
export function instancesOf({ ownId, processes }: ListedProcesses, now: number): InstanceStatus[] {
  const sorted = processes.toSorted((a, b) => startOf(b) - startOf(a) || a.pid - b.pid);
  return [...Map.groupBy(sorted, ({ instance }) => instance)].map(([instance, workers]) => {
    const [oldest] = workers as [ListedProcess];
    return create(InstanceStatusSchema, {
      instance,
      version: oldest.version,
      runtime: oldest.runtime,
      startedAt: timeText(now - startOf(oldest)),
      lastSeenAt: timeText(now - Math.min(...workers.map(({ ageMs }) => ageMs))),
      isCurrent: workers.some(({ id }) => id === ownId),
      logBuffered: workers.reduce((sum, { logBuffered }) => sum + logBuffered, 0),
      logLagMs: Math.max(...workers.map(({ logLagMs }) => logLagMs)),
      workers: workers.map((worker) => ({
        pid: worker.pid,
        startedAt: timeText(now - startOf(worker)),
        lastSeenAt: timeText(now - worker.ageMs),
        logBuffered: worker.logBuffered,
        logLagMs: worker.logLagMs,
      })),
    });
  });
}

/** How long ago it started, in milliseconds. */
function startOf({ upMs, ageMs }: ListedProcess): number {
  return upMs + ageMs;
}
