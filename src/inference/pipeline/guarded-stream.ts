// A streamed answer behind its output guardrails: nothing goes out before it is judged, as far as a part can be.

import { hookResults } from '../../checks/runner/answer.ts';
import type { HookRun } from '../../checks/runner/hook-result.ts';
import { guardEvents } from '../../checks/stream/guard-events.ts';
import { createStreamGuard, type StreamGuardOptions } from '../../checks/stream/stream-guard.ts';
import { plain } from './explain.ts';
import { incrementsOf, untilContent } from './first-content.ts';

/** What a guarded stream is made from. */
export interface GuardedStreamFacts extends Omit<StreamGuardOptions<object>, 'increments'> {
  readonly input: HookRun | undefined;
  /** Whether the stream ends with an event that holds the results of the guardrails. */
  readonly tells: boolean;
}

/** A guarded stream and what its guardrails came to. */
export interface GuardedStream {
  readonly events: AsyncIterable<object>;
  /** Known when the stream is over. */
  readonly outcome: () => HookRun | undefined;
}

/** Resolves when the first event with content may go out. @throws GatewayError guardrail_denied (446) when none may */
export async function guardedStream(
  events: AsyncIterable<object>,
  { input, tells, ...options }: GuardedStreamFacts,
): Promise<GuardedStream> {
  const guard = createStreamGuard<object>({ ...options, increments: incrementsOf });
  let last: object | undefined;
  const guarded = (async function* () {
    for await (const event of guardEvents(events, guard)) {
      last = event;
      yield event;
    }
    const results = tells && last !== undefined ? hookResults(input, guard.outcome) : undefined;
    // As the event that carries the usage: without choices.
    if (results !== undefined)
      yield { ...last, choices: [], usage: undefined, extra: plain({ hook_results: results }) };
  })();
  return { events: await untilContent(guarded), outcome: () => guard.outcome };
}
