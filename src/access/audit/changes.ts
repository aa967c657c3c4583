// How the control plane changes things: the change and its audit entry are one unit of work.

import type { DescMethod } from '@bufbuild/protobuf';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, type GatewayError, invalidField } from '../../lib/errors.ts';
import { mapInSlices } from '../../lib/time-slices.ts';
import { annotationsOf } from '../../rest/routes.ts';
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

/** One change of a unit of work: what is written, and what its audit entry tells. */
export interface ChangePart {
  /** The method that would make the change alone: its audit annotation names the action. */
  readonly method: DescMethod;
  readonly scope: TenantScope;
  readonly operations: readonly WriteOperation[];
  readonly target: AuditTarget;
}

/** Writes many changes at once. */
export interface UnitOfChanges {
  /**
   * All operations of all parts and an audit entry for each part, or nothing. Records that declared state manages may
   * be among them.
   * @throws GatewayError what the document store throws
   */
  commitAll(call: Call, organisationId: string, parts: readonly ChangePart[]): Promise<void>;
}

/** @throws GatewayError from `commit`, and `validation_failed` for an operation outside of the scope's workspace. */
export function createChanges(chain: Chain, readers: CallReaders & ManagedReaders): Changes & UnitOfChanges {
  return {
    async commit(call, scope, operations, target) {
      refuseManaged(call, operations, readers.managedBy);
      const record = { ...auditedCall(call, readers), ...auditedTarget(scope, target), statusCode: 200 };
      const written = await chain.append(scope.organisationId, record, narrowed(operations, scope));
      call.audited = true;
      return written;
    },

    async commitAll(call, organisationId, parts) {
      const all = await mapInSlices(parts, ({ method, scope, operations, target }) => ({
        record: {
          ...auditedCall(call, readers, call.principal, method),
          ...auditedTarget(scope, target),
          statusCode: 200,
        },
        operations: narrowed(operations, scope),
      }));
      await chain.appendAll(organisationId, all);
      call.audited = true;
    },
  };
}

/** How it is known which records come from declared state. */
export interface ManagedReaders {
  /** The file of a record, by its id; undefined: it is changed by hand. */
  readonly managedBy?: ((id: string) => string | undefined) | undefined;
}

/** What may be done by hand with records of declared state: nothing that files declare. */
const BY_HAND: ReadonlySet<string> = new Set(['rotate']);

/** @throws GatewayError conflict for a record that declared state manages */
function refuseManaged(
  { method }: Call,
  operations: readonly WriteOperation[],
  managedBy: ManagedReaders['managedBy'],
): void {
  if (managedBy === undefined) return;
  for (const operation of operations) {
    if (operation.kind === 'insert') continue;
    const file = managedBy(operation.id);
    if (file === undefined || BY_HAND.has(annotationsOf(method).audit.verb)) continue;
    throw managedByFile(file);
  }
}

/** The refusal of a change by hand. */
export function managedByFile(file: string): GatewayError {
  const applied = file.startsWith('the environment') ? 'and start again' : 'and apply the file';
  return fail('conflict', `the record is managed by ${file}: change it there ${applied}`);
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
