// Where users' patterns and schemas run: apart from the event loop, each with a deadline that ends it by force.
// The engine is the language's own RegExp in a worker, and not a linear-time one (re2): guardrails that were written
// for other gateways use look-around and back-references, which linear engines refuse; a worker also bounds what no
// engine bounds by itself: schemas, memory, the size of a replaced text.

/** The spelling of a user's pattern: source and flags as RegExp takes them. */
export interface Pattern {
  readonly source: string;
  readonly flags: string;
}

/** One place where a pattern was found. */
export interface PatternMatch {
  /** UTF-16 position. */
  readonly at: number;
  readonly text: string;
  readonly groups: Readonly<Record<string, string>>;
  readonly captures: readonly string[];
}

/** A text with its matches replaced. */
export interface Replaced {
  readonly text: string;
  readonly count: number;
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

/**
 * Every call rejects with a CheckFailure: TimeoutError (ended by force), InputTooLongError, InvalidPatternError,
 * InvalidSchemaError, OverloadedError (queue or memory).
 */
export interface Sandbox {
  /** The first match in each text; null where there is none. */
  match(
    tenant: string,
    pattern: Pattern,
    texts: readonly string[],
  ): Promise<readonly (PatternMatch | null)[]>;
  /** Each text with the matches replaced as String.replace does (`$1`, `$<name>`): all with the flag g, else the first. */
  replace(
    tenant: string,
    pattern: Pattern,
    texts: readonly string[],
    by: string,
  ): Promise<readonly Replaced[]>;
  /** Looks for JSON in each text and validates it by a JSON Schema. */
  validate(tenant: string, schema: object, texts: readonly string[]): Promise<readonly SchemaResult[]>;
  /** The words that each text holds, in the order given. */
  includes(
    tenant: string,
    words: readonly string[],
    texts: readonly string[],
  ): Promise<readonly (readonly string[])[]>;
  /** The JSON values in each text, at most 20 of a text. */
  find(tenant: string, texts: readonly string[]): Promise<readonly (readonly unknown[])[]>;
  /** Ends the workers; what is queued or runs is rejected. */
  close(): Promise<void>;
}
