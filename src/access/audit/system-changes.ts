// Changes without a call: by the command line, and by the gateway on its own.

import type { TenantScope } from '../../call/scope.ts';
import type { Document, WriteOperation } from '../../store/documents.ts';
import { systemAction } from './audited-call.ts';
import type { Chain } from './chain.ts';
import { type AuditTarget, auditedTarget, narrowed } from './changes.ts';
import type { AuditRecord } from './entry.ts';

/** What is done, in the words of the audit annotations, e.g. "rotate" and "api-key". */
export interface SystemAction {
  readonly verb: string;
  readonly resource: string;
  /** Why, or by which command; no secret. */
  readonly detail?: string;
  /** Who asked for it by another way than a call of the contract, and how; the gateway itself when absent. */
  readonly by?: Partial<
    Pick<AuditRecord, 'actor' | 'requestId' | 'protocol' | 'method' | 'path' | 'clientIp'>
  >;
}

/** Writes changes of the gateway itself. */
export interface SystemChanges {
  /** As `Changes.commit`; the entry's actor is the system. */
  commit(
    action: SystemAction,
    scope: TenantScope,
    operations: readonly WriteOperation[],
    target: AuditTarget,
  ): Promise<readonly Document<object>[]>;
}

/** @param now Unix milliseconds */
export function createSystemChanges(chain: Chain, now: () => number): SystemChanges {
  return {
    commit({ verb, resource, detail = '', by }, scope, operations, target) {
      const record = {
        ...systemAction(now(), verb, resource, target),
        ...auditedTarget(scope, target),
        ...by,
        detail,
      };
      return chain.append(scope.organisationId, record, narrowed(operations, scope));
    },
  };
}
