// The contract of a check: one file per check, all of this shape, one line each in registry.ts.
import type { AbortLike } from '../../lib/abort.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Event, JsonObject, Traffic } from '../view/traffic.ts';
import type { CheckFailure } from './failure.ts';
import type { KeySets } from './key-sets.ts';
import type { Fault, Fields, Parameters } from './parameters.ts';

export { CheckFailure, type CheckFailureName, isOfCaller } from './failure.ts';

/** What a check is given in addition to its parameters: it uses nothing else. */
export interface CheckDeps {
  /** The way out, with the egress rules. */
  readonly dialer: Dialer;
  /** Runs users' patterns and schemas apart from the event loop. */
  readonly sandbox: Sandbox;
  /** Key sets for tokens, fetched through the dialer and kept. */
  readonly keySets: KeySets;
  readonly introspection: Introspection;
  readonly resolver: NameResolver;
  readonly clock: Clock;
  /** Whether a lower-case header name is one of the gateway's own, under any of its prefixes. */
  ownsHeader(name: string): boolean;
  /** Ends when the caller leaves or the check's time is up. */
  readonly signal: AbortLike;
}

/** Time, in Unix milliseconds. */
export interface Clock {
  now(): number;
}

/** Looks a host's name up. Answers whether it has an address; rejects only when the lookup itself failed. */
export interface NameResolver {
  exists(host: string, signal: AbortLike): Promise<boolean>;
}

/** Asks authorisation servers about tokens (RFC 7662). */
export interface Introspection {
  /**
   * The claims of a token that is active, else undefined.
   * @throws CheckFailure when the server cannot be asked
   */
  claims(
    asking: {
      readonly endpoint: string;
      readonly contentType: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly token: string;
      /** How long an answer may be kept, in milliseconds; 0 asks every time. */
      readonly cacheMs: number;
    },
    deps: CheckDeps,
  ): Promise<JsonObject | undefined>;
}

/** How much of a conversation is examined: the last message, the user's messages, or all of it. */
export type Scope = 'last' | 'user' | 'all';

/** One run of a check. */
export interface CheckContext {
  readonly event: Event;
  readonly traffic: Traffic;
  /** Whether an earlier hook wrote to the request or the answer. */
  readonly transformed: { readonly request: boolean; readonly response: boolean };
  readonly scope: Scope;
  /** Whether tool calls and reasoning count as text; undefined leaves it to the check. */
  readonly beside: boolean | undefined;
}

/** What a check found. */
export interface CheckOutcome {
  readonly verdict: boolean;
  /** Facts for the caller; never a credential. */
  readonly data: JsonObject | null;
  /** New bodies, where the check rewrites. */
  readonly transformed?: { readonly request?: JsonObject; readonly response?: JsonObject };
  /** Headers to add to the caller's, by lower-case name, in place of any that the caller sent under these names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The check could not judge; the hook's `on_error` then decides and the verdict does not. */
  readonly error?: CheckFailure;
}

/**
 * How far a check can judge a text that is not complete.
 * `window`: what is wrong is a passage, and any part of the text that holds the passage shows it (a forbidden word).
 * `prefix`: what is wrong with a beginning stays wrong however the text goes on (too many words).
 * `edge`: what looks wrong about a beginning may come right by what follows (a pattern that looks ahead).
 * `whole`: only the complete text can be judged (valid JSON, enough words).
 */
export type Reach = 'window' | 'prefix' | 'edge' | 'whole';

/** What a check's file exports, by way of `defineCheck`. */
export interface CheckDefinition<F extends Fields> {
  /** `family.function`, e.g. `default.regexMatch`. */
  readonly id: string;
  /** Other ids that mean the same. Upper and lower case never matter. */
  readonly aliases?: readonly string[];
  /** Where it may run. */
  readonly events: readonly Event[];
  readonly fields: F;
  /** Rules over several parameters, and patterns that must compile: called when all fields are well. */
  validate?(parameters: Parameters<F>, fault: Fault): void;
  /** How far it can judge a stream; default `whole`. */
  reach?(parameters: Parameters<F>): Reach;
  /** Characters of the longest passage that it looks for, where that is known: a stream is held back by as many. */
  span?(parameters: Parameters<F>): number;
  /** Whether it may write to the bodies. Such checks run one after another, each on what the one before left. */
  readonly rewrites?: boolean;
  /** A check that may write, but asks an address for it: such checks are asked at once; see `runner/side-by-side.ts`. */
  readonly asks?: boolean;
  /**
   * What an error counts as where neither the check's parameters nor its hook say; default `pass`. With `deny`, and on
   * checks that write by themselves, what a caller can cause counts as a failure all the same; see `closes`.
   */
  readonly onError?: 'pass' | 'fail';
  /** Longest time of one run in milliseconds, unless the parameters say `timeout`; default 5,000. */
  readonly timeoutMs?: number;
  /** @throws CheckFailure when it cannot judge */
  run(
    context: CheckContext,
    parameters: Parameters<F>,
    deps: CheckDeps,
  ): CheckOutcome | Promise<CheckOutcome>;
}

/** A check with its parameters' types closed in. */
export interface Check {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly events: readonly Event[];
  readonly fields: Fields;
  readonly rewrites: boolean;
  readonly asks: boolean;
  readonly onError: 'pass' | 'fail';
  readonly timeoutMs: number;
  /** Reads parameters, all faults with their paths; undefined when there were any. */
  bind(value: JsonObject, path: string, fault: Fault): BoundCheck | undefined;
}

/** A check bound to parameters that were found well. */
export interface BoundCheck {
  readonly reach: Reach;
  /** 0 where it is not known. */
  readonly span: number;
  run(context: CheckContext, deps: CheckDeps): CheckOutcome | Promise<CheckOutcome>;
}
