// Output guardrails over a stream. What is promised, with T = `holdMs` and H = `holdCharacters`, or the longest
// passage that a check is known to look for, where that is longer:
//
// 1. Checks of hooks with `deny` that can judge a part of a text (`reach` other than `whole`) are run while the stream
//    goes on. An event goes out once at least H characters after its text were checked with it, so that no character
//    of a passage of up to H characters (with what its pattern looks ahead at) goes out before the passage is judged.
// 2. When nothing has gone out for T although something is held, everything that has come is checked and goes out. Then
//    the beginning of a passage may have gone out, its last character never has. T = Infinity keeps promise 1 always.
// 3. A longer passage, and whatever only the whole answer shows (valid JSON, enough words), is judged at the end, when
//    every hook is run over the whole text. The answer has gone out by then, but for what is still held: the decision
//    and the results are for the last event.
// 4. Tool calls, and what comes after them, are held to the end when there is a check of promise 1: they are acted upon
//    only when they are whole, and only then can they be read.
// 5. A pattern that looks around may seem to match until more text comes. Nothing goes out meanwhile; it is denied when
//    it still matches at the end, or once `maxHeldCharacters` (or 16,384 events) are held. What else is held goes out
//    at that bound.
// 6. Events go out unchanged, in their order, none twice. How the text was cut into events changes no decision.
//
// Checks that write (`mustHoldAnswer`) cannot run on a stream: read the whole answer, run them, and send it in pieces.
import type { AbortLike } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import type { Hook, HookCheck } from '../hook.ts';
import {
  type GuardrailRunner,
  isOverloaded,
  type LaterHooks,
  overloaded,
} from '../runner/guardrail-runner.ts';
import type { CheckResult, HookRun } from '../runner/hook-result.ts';
import { resultOf, rewrites } from '../runner/result-of.ts';
import { type RunnerDeps, runCheck } from '../runner/run-check.ts';
import { responseBody } from '../view/body-of.ts';
import type { Body, JsonObject, TextSlot, Traffic } from '../view/traffic.ts';
import { answerOf } from './answer-of.ts';
import { Channel, type Increment } from './channel.ts';

export type { Increment } from './channel.ts';

/** What a guard is made from. */
export interface StreamGuardOptions<E> {
  /** The output's hooks. */
  readonly hooks: readonly Hook[];
  /** The call, without an answer. */
  readonly traffic: Traffic;
  readonly runner: GuardrailRunner;
  readonly deps: RunnerDeps;
  readonly signal: AbortLike;
  /** Is given the async hooks, which run after the answer. */
  readonly later?: LaterHooks | undefined;
  /** The texts of an event; none for one without text, which goes out in its turn. */
  increments(event: E): readonly Increment[];
  /** Default 128. */
  readonly holdCharacters?: number;
  /** Default 2,000. */
  readonly holdMs?: number;
  /** Default 65,536. */
  readonly maxHeldCharacters?: number;
}

/** A guard over one stream. Calls must not overlap; each rejects with the signal's reason when it ends. */
export interface StreamGuard<E> {
  /**
   * Takes an event and gives those that may go out, in order. Empty after a denial: ask `outcome`.
   * @throws GatewayError upstream_garbage when the stream has more texts than can be kept for its end
   */
  push(event: E): Promise<readonly E[]>;
  /** When `flush` is due, in milliseconds from now; undefined when nothing is held or no time was set. */
  readonly dueMs: number | undefined;
  /** Checks what has come and gives what is held (promise 2). */
  flush(): Promise<readonly E[]>;
  /** The stream is over: runs all hooks over the whole answer and gives what was held, nothing when it is denied. */
  end(answer?: JsonObject): Promise<readonly E[]>;
  /** What the hooks came to: set by a denial or by `end`. */
  readonly outcome: HookRun | undefined;
}

/** Whether hooks can only run over a whole answer, because they may write to it. */
export function mustHoldAnswer(hooks: readonly Hook[]): boolean {
  return hooks.some((hook) => !hook.async && rewrites(hook));
}

/** Events that are held at the most, however little they say. */
const MOST_HELD = 16_384;
/** Texts of one stream, and their characters: they are all kept for the end. */
const MOST_CHANNELS = 2048;
const MOST_CHARACTERS = 32 * 1024 * 1024;

interface Early {
  readonly hook: Hook;
  readonly check: HookCheck;
}

interface Held<E> {
  readonly event: E;
  /** Up to where each channel must be free for the event to go out. */
  readonly needs: readonly (readonly [Channel, number])[];
  readonly characters: number;
}

/** Makes a guard. @throws Error when the hooks must hold the answer */
export function createStreamGuard<E>(options: StreamGuardOptions<E>): StreamGuard<E> {
  if (mustHoldAnswer(options.hooks)) throw new Error('hooks that write run over whole answers only');
  return new Guard(options);
}

class Guard<E> implements StreamGuard<E> {
  readonly #options: StreamGuardOptions<E>;
  #early: readonly Early[];
  readonly #hold: number;
  readonly #holdMs: number;
  readonly #maxHeld: number;
  readonly #channels = new Map<string, Channel>();
  #characters = 0;
  #held: Held<E>[] = [];
  #heldCharacters = 0;
  #oldest = 0;
  /** Texts in which a pattern that looks around seems to match. */
  readonly #suspects = new Map<Channel, Early>();
  /** The last result that made one. */
  #suspicion: CheckResult | undefined;
  outcome: HookRun | undefined;

  constructor(options: StreamGuardOptions<E>) {
    this.#options = options;
    this.#holdMs = options.holdMs ?? 2000;
    this.#maxHeld = options.maxHeldCharacters ?? 65_536;
    this.#early = options.hooks
      .filter((hook) => hook.deny && !hook.async && hook.type === 'guardrail')
      .flatMap((hook) => hook.checks.map((check) => ({ hook, check })))
      .filter(({ check }) => check.bound.reach !== 'whole');
    const spans = this.#early.map(({ check }) => check.bound.span);
    this.#hold = Math.max(options.holdCharacters ?? 128, ...spans);
  }

  get dueMs(): number | undefined {
    if (this.#held.length === 0 || this.#holdMs === Number.POSITIVE_INFINITY) return undefined;
    if (this.#suspects.size > 0) return undefined;
    // Nothing that is waited for here may go out before the end.
    if (this.#held[0]?.needs.some(([{ kind }]) => kind === 'tool_call')) return undefined;
    return Math.max(0, this.#oldest + this.#holdMs - performance.now());
  }

  async push(event: E): Promise<readonly E[]> {
    if (this.outcome !== undefined) return [];
    const increments = this.#options.increments(event);
    const needs = increments.map((increment) => this.#take(increment));
    if (this.#early.length === 0) return [...this.#free(true), event];
    const characters = increments.reduce((sum, { text }) => sum + text.length, 0);
    if (this.#held.length === 0) this.#oldest = performance.now();
    this.#held.push({ event, needs, characters });
    this.#heldCharacters += characters;
    for (const [channel] of needs) {
      if (channel.kind === 'tool_call') continue;
      // Longer texts are checked in longer steps: some checks look at all that has come.
      const step = Math.max(1, this.#hold >> 2, channel.length >> 6);
      if (channel.length - channel.checked >= step) await this.#check(channel);
      if (this.outcome !== undefined) return [];
      if (!this.#suspects.has(channel)) channel.limit = Math.max(channel.limit, channel.checked - this.#hold);
    }
    const isFull = this.#heldCharacters > this.#maxHeld || this.#held.length > MOST_HELD;
    return isFull ? this.#overfull() : this.#free(false);
  }

  async flush(): Promise<readonly E[]> {
    await this.#checkAll();
    if (this.outcome !== undefined) return [];
    for (const channel of this.#channels.values()) {
      if (channel.kind !== 'tool_call' && !this.#suspects.has(channel)) channel.limit = channel.checked;
    }
    return this.#free(false);
  }

  async end(answer?: JsonObject): Promise<readonly E[]> {
    if (this.outcome !== undefined) return [];
    const { hooks, traffic, runner, signal, later } = this.#options;
    const body = answer === undefined ? this.#wholeBody() : responseBody(traffic.api, answer);
    this.outcome = await runner.run(hooks, { ...traffic, response: { ...body, status: 200 } }, signal, later);
    return this.outcome.decision === 'deny' ? this.#drop() : this.#free(true);
  }

  #take(increment: Increment): readonly [Channel, number] {
    const { unit, kind, call = 0 } = increment;
    const key = `${unit} ${kind} ${call}`;
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = new Channel(increment);
      this.#channels.set(key, channel);
    }
    channel.add(increment);
    this.#characters += increment.text.length;
    if (this.#channels.size > MOST_CHANNELS || this.#characters > MOST_CHARACTERS)
      throw fail(
        'upstream_garbage',
        'the stream has more texts, or longer ones, than guardrails can look at',
      );
    return [channel, channel.length];
  }

  async #checkAll(): Promise<void> {
    for (const channel of this.#channels.values()) {
      if (channel.kind !== 'tool_call' && channel.length > channel.checked) await this.#check(channel);
      if (this.outcome !== undefined) return;
    }
  }

  /** Runs the early checks over what has come of a text. */
  async #check(channel: Channel): Promise<void> {
    const results = await Promise.all(
      this.#early.map(async (early) => ({ early, result: await this.#run(early.check, channel) })),
    );
    channel.settle(this.#hold);
    this.#suspects.delete(channel);
    for (const { early, result } of results) {
      // One that cannot judge, and passes for it, would fail at every step: it has another chance at the end.
      if (result.verdict && result.error !== undefined)
        this.#early = this.#early.filter((one) => one !== early);
      if (result.verdict) continue;
      if (early.check.bound.reach !== 'edge' || result.error !== undefined) {
        this.#deny(early, result);
        return;
      }
      this.#suspects.set(channel, early);
      this.#suspicion = result;
    }
  }

  async #run(check: HookCheck, channel: Channel): Promise<CheckResult> {
    const { traffic, deps, signal } = this.#options;
    const text = check.bound.reach === 'window' ? channel.window : channel.soFar;
    const slots: readonly TextSlot[] = [channel.slot(text, 0)];
    const response = { json: {}, slots, units: 1, opaque: false, status: 200 };
    const context = { event: 'output', traffic: { ...traffic, response }, transformed: NOT_WRITTEN } as const;
    return (await runCheck(check, context, deps, signal)).result;
  }

  /** @throws GatewayError overloaded when the hook is mandatory and found no worker */
  #deny({ hook }: Early, result: CheckResult): void {
    if (isOverloaded(hook, [result])) throw overloaded(hook);
    const { traffic, deps } = this.#options;
    this.outcome = {
      results: [resultOf(hook, [result], deps.clock.now(), result.execution_time)],
      decision: 'deny',
      soft: hook.softDeny,
      headers: {},
      request: traffic.request.json,
      response: undefined,
    };
    this.#drop();
  }

  /** More is held than may be: a suspicion counts, and what is held for another reason goes out. */
  async #overfull(): Promise<readonly E[]> {
    await this.#checkAll();
    if (this.outcome !== undefined) return [];
    const [early] = this.#suspects.values();
    if (early === undefined || this.#suspicion === undefined) return this.#free(true);
    this.#deny(early, this.#suspicion);
    return [];
  }

  /** Takes out the events that may go, up to the first that may not. */
  #free(all: boolean): readonly E[] {
    const stop = all ? -1 : this.#held.findIndex(({ needs }) => needs.some(isBound));
    const free = this.#held.splice(0, stop === -1 ? this.#held.length : stop);
    if (free.length > 0) this.#oldest = performance.now();
    for (const { characters } of free) this.#heldCharacters -= characters;
    return free.map(({ event }) => event);
  }

  #drop(): readonly E[] {
    this.#held = [];
    this.#heldCharacters = 0;
    return [];
  }

  #wholeBody(): Body {
    const channels = [...this.#channels.values()];
    // Counted anew: a provider may number its choices as it likes.
    const units = [...new Set(channels.map(({ unit }) => unit))].sort((one, other) => one - other);
    const slots = channels.map((channel) => channel.slot(channel.soFar, units.indexOf(channel.unit)));
    return {
      json: answerOf(channels, units, this.#options.traffic.api),
      slots,
      units: Math.max(1, units.length),
      opaque: false,
    };
  }
}

/** Tool calls are limited only by their end, including those of which only the name has come. */
function isBound([{ kind, limit }, at]: readonly [Channel, number]): boolean {
  return kind === 'tool_call' || at > limit;
}

const NOT_WRITTEN = { request: false, response: false } as const;
