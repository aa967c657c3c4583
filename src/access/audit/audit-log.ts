// The audit log of a deployment, put together.
import type { DocumentStore } from '../../store/documents.ts';
import { createAnonymousAudit } from './anonymous-audit.ts';
import type { CallReaders } from './audited-call.ts';
import { createChain } from './chain.ts';
import { type Changes, createChanges, type ManagedReaders, type UnitOfChanges } from './changes.ts';
import { type AuditEvents, createEvents, type OwnerOf } from './events.ts';
import { createSystemChanges, type SystemChanges } from './system-changes.ts';

/** What the audit log needs. */
export interface AuditLogDeps extends CallReaders, ManagedReaders {
  readonly documents: DocumentStore;
  /** The organisation whose chain records unauthenticated callers. */
  readonly homeOrganisationId: string;
  readonly ownerOf: OwnerOf;
  /** Told of entries of refused and failed calls that could not be written. */
  readonly onLost: (error: unknown, count: number) => void;
}

/** The audit log. */
export interface AuditLog {
  /** For services: every mutation goes through it. */
  readonly changes: Changes & UnitOfChanges;
  /** For what the gateway does on its own. */
  readonly systemChanges: SystemChanges;
  /** For the interceptor. */
  readonly events: AuditEvents;
  /** Makes all recorded entries readable: those still queued are written, or given up. */
  flush(): Promise<void>;
  /** Entries of refused and failed calls that could not be written, since the start. */
  lost(): number;
  /** Resolves when nothing waits any more; for the end, when no call is left. */
  close(): Promise<void>;
}

export function createAuditLog(deps: AuditLogDeps): AuditLog {
  const { documents } = deps;
  let lost = 0;
  const onLost = (error: unknown, count: number): void => {
    lost += count;
    deps.onLost(error, count);
  };
  const chain = createChain({ documents });
  const anonymous = createAnonymousAudit({
    append: (organisationId, told) => chain.append(organisationId, told),
    monotonic: () => performance.now(),
    onLost,
  });
  return {
    changes: createChanges(chain, deps),
    systemChanges: createSystemChanges(chain, deps.now),
    events: createEvents({ ...deps, chain, anonymous, onLost }),
    flush: anonymous.flush,
    lost: () => lost,
    async close() {
      await anonymous.flush();
      await chain.idle();
    },
  };
}
