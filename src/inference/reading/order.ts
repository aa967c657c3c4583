// What crosses to the thread that reads long answers, and back.
import { fail, type GatewayError, type Reason } from '../../lib/errors.ts';
import type { OperationName } from '../../providers/operations.ts';

/** How an answer is read: all that an operation's `response` looks at, as plain values. */
export interface ReadingOrder {
  /** Identifier of the provider. */
  readonly provider: string;
  readonly name: OperationName;
  /** The request as JSON text; undefined where the operation has no body. */
  readonly request: string | Uint8Array | undefined;
  readonly options: Readonly<Record<string, string>>;
  readonly customHost: string | undefined;
  readonly strict: boolean;
  /** Unix milliseconds. */
  readonly now: number;
  /** Heaviest answer that is read, in the unit of `MOST_WEIGHT`. */
  readonly mostWeight: number;
}

/** The order with the answer's bytes, which both threads see. */
export interface PostedOrder extends ReadingOrder {
  readonly body: SharedArrayBuffer;
}

/** What was read. */
export interface ReadReply {
  readonly kind: 'read';
  /** The answer as JSON in the caller's form; undefined: the provider's own bytes are that. */
  readonly json: Uint8Array | undefined;
  /** Whether its JSON may be read on the event loop, and whether a message may be made of that there. */
  readonly isReadable: boolean;
  readonly isRewritable: boolean;
  /** Its identifier, where it has one. */
  readonly id: string | undefined;
  /** A Usage message in binary. */
  readonly usage: Uint8Array | 'refused' | undefined;
  readonly model: string | undefined;
  readonly tier: string | undefined;
  /** Its text, where the usage is not reported and must be estimated. */
  readonly said: string | undefined;
}

/** Why it could not be read. */
export interface FailedReply {
  readonly kind: 'failed';
  readonly reason: Reason;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export type ReadingReply = ReadReply | FailedReply;

/** The error of an answer that is too heavy to be read. */
export function tooHeavyAnswer(provider: string): GatewayError {
  return fail('upstream_garbage', `the answer of ${provider} has too many members and items`, { provider });
}
