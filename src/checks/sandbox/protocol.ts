// The messages between the sandbox and its workers.
import type { CheckFailureName } from '../contract/check.ts';
import type { Pattern, Replaceable } from './patterns.ts';
import type { TextWork } from './text-work.ts';

/** Work for a worker, one at a time. */
export type Job =
  | {
      readonly kind: 'match';
      readonly pattern: Pattern;
      readonly texts: readonly string[];
      readonly twice: boolean;
    }
  | {
      readonly kind: 'replace';
      readonly pattern: Pattern;
      readonly texts: readonly Replaceable[];
      readonly by: string;
    }
  /** `schema` as JSON text: it is also the key of its compiled form. */
  | { readonly kind: 'validate'; readonly schema: string; readonly texts: readonly string[] }
  | {
      readonly kind: 'includes';
      readonly words: readonly string[];
      readonly texts: readonly string[];
      readonly twice: boolean;
    }
  | { readonly kind: 'find'; readonly texts: readonly string[]; readonly keys: readonly string[] }
  | { readonly kind: 'examine'; readonly work: TextWork; readonly texts: readonly string[] };

/** A worker's word: it is up, or a job's end; with the processor time of its thread so far, in microseconds. */
export type Reply = { readonly cpuUs: number } & (
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly name: CheckFailureName; readonly message: string }
);
