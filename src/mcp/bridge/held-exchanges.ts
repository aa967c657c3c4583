// Exchanges with older servers that wait for a client of 2026-07-28 to come again with its answers.
import { randomBytes } from 'node:crypto';
import type { Aborter } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import type { MergedFrames } from '../notices/merged-frames.ts';
import type { Patience } from '../relay/patience.ts';
import type { JsonObject, RequestId } from '../wire/json-rpc.ts';
import type { Frame } from '../wire/sse-frames.ts';
import type { UpstreamSession } from './upstream-sessions.ts';

/** An exchange that waits for the client's answers. */
export interface HeldExchange {
  readonly owner: string;
  readonly session: UpstreamSession;
  readonly frames: MergedFrames;
  readonly aborter: Aborter;
  readonly patience: Patience;
  /** Takes no more of the session's stream. */
  readonly leave: () => void;
  /** Ids at the server, by the keys that the client knows. */
  readonly questions: Map<
    string,
    { readonly id: RequestId; readonly method: string; readonly params: JsonObject }
  >;
  readonly asTask: boolean;
  /** The next message, where it was waited for in vain. */
  pending: Promise<IteratorResult<Frame, void>> | undefined;
  timer: NodeJS.Timeout | undefined;
}

const HELD_MS = 900_000;
const MOST_HELD = 2000;
/** How long after one question another one is still asked with it. */
const TOGETHER_MS = 50;

export class HeldExchanges {
  readonly #held = new Map<string, HeldExchange>();

  /** @returns the state by which the client goes on */
  keep(held: HeldExchange): string {
    if (this.#held.size >= MOST_HELD) {
      const [first] = this.#held.keys();
      if (first !== undefined) this.#drop(first);
    }
    const state = randomBytes(24).toString('base64url');
    held.timer = setTimeout(() => this.#drop(state), HELD_MS).unref();
    this.#held.set(state, held);
    return state;
  }

  #drop(state: string): void {
    const held = this.#held.get(state);
    this.#held.delete(state);
    clearTimeout(held?.timer);
    held?.leave();
    held?.aborter.abort(fail('request_timeout', 'the client did not answer what the server asked'));
  }

  /** The exchange of a state, which stays held; undefined: there is none, or another's. */
  find(state: string, owner: string): HeldExchange | undefined {
    const held = this.#held.get(state);
    return held?.owner === owner ? held : undefined;
  }

  /** It goes on. */
  release(state: string): void {
    clearTimeout(this.#held.get(state)?.timer);
    this.#held.delete(state);
  }

  close(): void {
    for (const state of [...this.#held.keys()]) this.#drop(state);
  }
}

export function inputRequired({ questions }: HeldExchange, requestState: string): JsonObject {
  const all = [...questions].map(([key, { method, params }]) => {
    // The id of an elicitation is no more.
    const { elicitationId: _, ...rest } = params;
    return [key, { method, params: method === 'elicitation/create' ? rest : params }] as const;
  });
  return { resultType: 'input_required', inputRequests: Object.fromEntries(all), requestState };
}

/** The next message; undefined: the server has asked something, and nothing more at the same time. */
export async function nextOf(held: HeldExchange): Promise<IteratorResult<Frame, void> | undefined> {
  held.pending ??= held.frames.next();
  const { pending } = held;
  // Also where it fails while the client is asked.
  pending.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    if (held.questions.size > 0) timer = setTimeout(() => resolve(undefined), TOGETHER_MS);
  });
  try {
    const got = await (held.questions.size > 0 ? Promise.race([pending, late]) : pending);
    if (got !== undefined) held.pending = undefined;
    return got;
  } finally {
    clearTimeout(timer);
  }
}
