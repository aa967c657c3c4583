// What goes between the sandbox and its workers.
import type { CheckFailureName } from '../contract/check.ts';
import type { Pattern } from './sandbox.ts';

/** Work for a worker, one at a time. */
export type Job =
  | { readonly kind: 'match'; readonly pattern: Pattern; readonly texts: readonly string[] }
  | {
      readonly kind: 'replace';
      readonly pattern: Pattern;
      readonly texts: readonly string[];
      readonly by: string;
    }
  /** `schema` as JSON text: it is also the key of its compiled form. */
  | { readonly kind: 'validate'; readonly schema: string; readonly texts: readonly string[] }
  | { readonly kind: 'includes'; readonly words: readonly string[]; readonly texts: readonly string[] }
  | { readonly kind: 'find'; readonly texts: readonly string[] };

/** A worker's word: it is up, or a job's end. */
export type Reply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly name: CheckFailureName; readonly message: string };
