// Patterns of users, and what they are used on.

/** The spelling of a user's pattern: source and flags as RegExp takes them. */
export interface Pattern {
  readonly source: string;
  readonly flags: string;
}

/** A text with its matches replaced. */
export interface Replaced {
  readonly text: string;
  readonly count: number;
}

/** A text, or JSON as text whose strings are meant. */
export interface Replaceable {
  readonly text: string;
  readonly json: boolean;
}
