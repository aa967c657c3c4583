// What services change while declared state is worked out: nothing is stored, everything is noted.
import type { DescMethod } from '@bufbuild/protobuf';
import { type AuditTarget, type Changes, narrowed } from '../../access/audit/changes.ts';
import type { TenantScope } from '../../call/scope.ts';
import type { WriteOperation } from '../../store/documents.ts';
import type { StagedDocuments } from './staged-documents.ts';

/** A change that a service made. */
export interface NotedChange {
  readonly method: DescMethod;
  readonly scope: TenantScope;
  readonly target: AuditTarget;
}

/** Changes that go to staged documents. */
export class StagedChanges implements Changes {
  readonly #staged: StagedDocuments;
  #noted: NotedChange[] = [];
  /** The slug that the next new document of a collection gets in the place of a generated one. */
  wanted: { readonly collection: string; readonly slug: string } | undefined;

  constructor(staged: StagedDocuments) {
    this.#staged = staged;
  }

  commit: Changes['commit'] = async (call, scope, operations, target) => {
    const { wanted } = this;
    const isWanted = (operation: WriteOperation): boolean =>
      operation.kind === 'insert' && operation.collection.name === wanted?.collection;
    const all = narrowed(operations, scope).map((operation) =>
      wanted !== undefined && operation.kind === 'insert' && isWanted(operation)
        ? { ...operation, document: { ...operation.document, slug: wanted.slug } }
        : operation,
    );
    const written = await this.#staged.commit(scope, all);
    const renamed = wanted !== undefined && all.some(isWanted) && target.after !== undefined;
    const after = renamed ? { ...target.after, slug: wanted.slug } : target.after;
    this.#noted.push({
      method: call.method,
      scope,
      target: after === undefined ? target : { ...target, after },
    });
    call.audited = true;
    return written;
  };

  /** What was noted since it was last asked. */
  take(): readonly NotedChange[] {
    const noted = this.#noted;
    this.#noted = [];
    return noted;
  }
}
