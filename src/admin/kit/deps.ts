// What the services of identity are made with.
import type { Changes } from '../../access/audit/changes.ts';
import type { Directory } from '../../access/directory.ts';
import type { DocumentStore } from '../../store/documents.ts';

/** Shared by organisations, deployments, workspaces, members and users. */
export interface IdentityDeps {
  readonly documents: DocumentStore;
  readonly changes: Changes;
  readonly directory: Directory;
  /** Unix milliseconds. */
  readonly now: () => number;
}
