// How the control plane changes things: the change and its audit entry are one unit of work.

import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, WriteOperation } from '../../store/documents.ts';
import { auditedCall, type CallReaders } from './audited-call.ts';
import type { Chain } from './chain.ts';
import { diff } from './diff.ts';
import type { AuditRecord } from './entry.ts';
import { maskText } from './secrets.ts';

/** What a change is about. `before` and `after` are what callers are shown of it: no secret is in them. */
export interface AuditTarget {
  readonly id: string;
  /** What people know it by; empty when it has no name. */
  readonly name: string;
  /** The workspace that it belongs to; undefined for things of the organisation. */
  readonly workspaceId?: string | undefined;
  /** Absent when it is made. */
  readonly before?: JsonObject;
  /** Absent when it goes. */
  readonly after?: JsonObject;
}

/** Writes changes of the control plane. */
export interface Changes {
  /**
   * All operations and the call's audit entry, or nothing. Who, where from and which action are read off the
   * call and its method's audit annotation. Resolves with the documents of the operations as written.
   * @throws GatewayError what the document store throws; `failedOperation` counts the given operations.
   */
  commit(
    call: Call,
    scope: TenantScope,
    operations: readonly WriteOperation[],
    target: AuditTarget,
  ): Promise<readonly Document<object>[]>;
}

/** @throws GatewayError from `commit`, and `validation_failed` for an operation outside of the scope's workspace. */
export function createChanges(chain: Chain, readers: CallReaders): Changes {
  return {
    async commit(call, scope, operations, target) {
      const record = { ...auditedCall(call, readers), ...auditedTarget(scope, target), statusCode: 200 };
      const written = await chain.append(scope.organisationId, record, narrowed(operations, scope));
      call.audited = true;
      return written;
    },
  };
}

/** What an entry tells of a change that was made. */
export function auditedTarget({ workspaceId }: TenantScope, target: AuditTarget): AuditedTarget {
  const { changes, truncated } = diff(target.before, target.after);
  return {
    target: { id: target.id, name: maskText(target.name) },
    workspaceId: target.workspaceId ?? workspaceId ?? '',
    outcome: 'allowed',
    reason: '',
    detail: '',
    changes,
    changesTruncated: truncated,
  };
}

export type AuditedTarget = Pick<
  AuditRecord,
  'target' | 'workspaceId' | 'outcome' | 'reason' | 'detail' | 'changes' | 'changesTruncated'
>;

/** The chain commits for the whole organisation: what the scope narrows is narrowed operation by operation. */
export function narrowed(
  operations: readonly WriteOperation[],
  { workspaceId }: TenantScope,
): readonly WriteOperation[] {
  if (workspaceId === undefined) return operations;
  return operations.map((operation) => {
    const asked = operation.kind === 'insert' ? operation.document.workspaceId : operation.workspaceId;
    if (asked !== undefined && asked !== workspaceId) {
      throw invalidField('workspaceId', 'is not the workspace of the call', 'scope');
    }
    return operation.kind === 'insert'
      ? { ...operation, document: { ...operation.document, workspaceId } }
      : { ...operation, workspaceId };
  });
}
