// What is copied from and to.
import type { DocumentMaintenance, LogMaintenance } from '../maintenance.ts';

export interface CopySide {
  readonly maintenance: DocumentMaintenance;
  readonly logMaintenance: LogMaintenance;
}

/** What one step came to. */
export interface Copied {
  readonly name: string;
  readonly written: number;
  /** There already, of an earlier run that was cut off. */
  readonly present: number;
}

/** Something in the target that is not the source's. */
export interface Conflict {
  readonly name: string;
  readonly organisationId: string;
  readonly id: string;
  readonly why: string;
}

/** The rows of one name on both sides. */
export interface Comparison {
  readonly name: string;
  readonly source: { readonly count: number; readonly hash: string };
  readonly target: { readonly count: number; readonly hash: string };
}

export function isEqual({ source, target }: Comparison): boolean {
  return source.count === target.count && source.hash === target.hash;
}

/** Conflicts that are told; one is enough to stop. */
export const TOLD = 20;
