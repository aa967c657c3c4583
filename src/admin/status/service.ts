// The state of the gateway.
import { create } from '@bufbuild/protobuf';
import { type GatewayStatus, GatewayStatusSchema } from '../../../gen/gateway/admin/v2/status_pb.ts';
import { instancesOf, type ListedProcesses } from './instances.ts';

/** A store, asked whether it answers. */
export interface WatchedStore {
  readonly name: 'documents' | 'shared';
  readonly kind: 'embedded' | 'mongodb' | 'redis';
  /** Within a bound. */
  readonly ready: () => Promise<boolean>;
}

export interface StatusDeps {
  readonly status: {
    readonly version: string;
    readonly instance: string;
    /** ISO 8601. */
    readonly startedAt: string;
    readonly processes: number;
    readonly stores: readonly WatchedStore[];
    /** Entries of the request log that are not stored yet, and how long the oldest has waited. */
    readonly log: () => { readonly buffered: number; readonly lagMs: number };
    /** Within a bound. */
    readonly processesOf: () => Promise<ListedProcesses>;
  };
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The methods of StatusService. */
export function statusService({ status, now }: StatusDeps) {
  return {
    async getStatus(): Promise<GatewayStatus> {
      const { version, instance, startedAt, processes } = status;
      const { buffered, lagMs } = status.log();
      const [listed, ...stores] = await Promise.all([status.processesOf(), ...status.stores.map(asked)]);
      return create(GatewayStatusSchema, {
        object: 'status',
        version,
        runtime: process.version,
        instance,
        startedAt,
        processes,
        stores,
        logBuffered: buffered,
        logLagMs: lagMs,
        instances: instancesOf(listed, now()),
        instancesIncomplete: !listed.isComplete,
      });
    },
  };
}

async function asked({ name, kind, ready }: WatchedStore) {
  const began = performance.now();
  const isReady = await ready().catch(() => false);
  return { name, kind, ready: isReady, latencyMs: performance.now() - began };
}
