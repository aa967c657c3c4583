// How far a call's settlement has come. Kept on the call: a map of calls would burden every garbage collection.
import type { RequestRecord } from './record.ts';

/** A budget that a call is charged to, and by what. */
export interface ChargedTo {
  readonly key: string;
  readonly type: 'cost' | 'tokens' | 'requests';
}

/** Whose call it is, as limits match and count it. */
export interface LimitSubject {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
  readonly workspaceSlug: string | undefined;
  readonly keyId: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What the ledger keeps about a call until its entry is written. */
export interface CallAccount {
  /** Its entry was taken. */
  taken: boolean;
  /** Resolves when all attempts have ended and have their usage. */
  completing: Promise<void> | undefined;
  /** Receives the entry in place of the log. */
  claim: ((entry: RequestRecord) => void) | undefined;
  /** The call's lines in the in-flight journal. */
  flight: object | undefined;
  /** The budgets that the hold of its own id is charged to; undefined: it has none. */
  held: readonly ChargedTo[] | undefined;
}
