// Where users' patterns and schemas run: apart from the event loop, each with a deadline that ends it by force.
// The engine is the language's own RegExp in a worker, and not a linear-time one (re2): guardrails that were written
// for other gateways use look-around and back-references, which linear engines refuse; a worker also bounds what no
// engine bounds by itself: schemas, memory, the size of a replaced text.

import type { CallBudget } from './call-budget.ts';
import type { Line } from './fair-queue.ts';
import type { Pattern, Replaceable, Replaced } from './patterns.ts';
import type { TextResult, TextWork } from './text-work.ts';

export type { Pattern, Replaced } from './patterns.ts';

/** One place where a pattern was found. */
export interface PatternMatch {
  /** UTF-16 position. */
  readonly at: number;
  readonly text: string;
  readonly groups: Readonly<Record<string, string>>;
  readonly captures: readonly string[];
}

/** What is wrong with a JSON value by its schema. */
export interface SchemaViolation {
  /** JSON pointer. */
  readonly path: string;
  readonly message: string;
}

/** JSON found in a text, and what the schema says to it. */
export interface SchemaResult {
  readonly found: boolean;
  readonly valid: boolean;
  /** The first value that is valid, else the first that was found; null when there is none. */
  readonly matched: unknown;
  /** Of the first value found, at most 20; empty when one was valid. */
  readonly violations: readonly SchemaViolation[];
}

/** JSON found in a text. */
export interface FoundJson {
  /** Which of the keys it has; undefined when it is no object. */
  readonly present: readonly string[] | undefined;
  /** The value, or the beginning of its text when it is long. */
  readonly value: unknown;
}

/** The tenant that a job runs for: workers' time is shared by organisation, then by workspace. */
export interface JobOwner extends Line {
  /** What is left to the call; absent: no bound but each job's own. */
  readonly budget?: CallBudget | undefined;
}

/**
 * Short work over short texts runs on the event loop, as far as the turn's budget goes; all else in a worker.
 * Every call rejects with a CheckFailure: TimeoutError (ended by force), InputTooLongError, InvalidPatternError,
 * InvalidSchemaError, OverloadedError (queue or memory).
 */
export interface Sandbox {
  /**
   * The first match in each text; null where there is none.
   * @param twice looks once more where there is none, at the text as it is read (see plainLook)
   */
  match(
    owner: JobOwner,
    pattern: Pattern,
    texts: readonly string[],
    twice?: boolean,
  ): Promise<readonly (PatternMatch | null)[]>;
  /** Each text with the matches replaced as String.replace does (`$1`, `$<name>`): all with the flag g, else the first. */
  replace(
    owner: JobOwner,
    pattern: Pattern,
    texts: readonly Replaceable[],
    by: string,
  ): Promise<readonly Replaced[]>;
  /** Looks for JSON in each text and validates it by a JSON Schema. */
  validate(owner: JobOwner, schema: object, texts: readonly string[]): Promise<readonly SchemaResult[]>;
  /** The words that each text holds, in the order given. @param twice also those that it holds as it is read */
  includes(
    owner: JobOwner,
    words: readonly string[],
    texts: readonly string[],
    twice?: boolean,
  ): Promise<readonly (readonly string[])[]>;
  /** The JSON values in each text, at most 20 of a text, and which of some keys they have at their top level. */
  find(
    owner: JobOwner,
    texts: readonly string[],
    keys: readonly string[],
  ): Promise<readonly (readonly FoundJson[])[]>;
  /** What is computed of each text alone. */
  examine<W extends TextWork>(
    owner: JobOwner,
    work: W,
    texts: readonly string[],
  ): Promise<readonly TextResult<W>[]>;
  /** Whether work of so many steps (see TurnBudget) may run on the event loop in this turn; takes them. */
  spare(steps: number): boolean;
  /** Ends the workers; what is queued or runs is rejected. */
  close(): Promise<void>;
}
