// A streamed answer with output guardrails: each part is sent after it was checked, as far as a part can be.

import type { DescMessage } from '@bufbuild/protobuf';
import type { HookRun } from '../../checks/runner/hook-result.ts';
import { guardEvents } from '../../checks/stream/guard-events.ts';
import { createStreamGuard, type StreamGuardOptions } from '../../checks/stream/stream-guard.ts';
import type { GatewayError } from '../../lib/errors.ts';
import { untilContent } from './first-content.ts';
import type { PieceForm } from './pieces/piece-form.ts';

/** What a guarded stream is made from. */
export interface GuardedStreamDeps extends Omit<StreamGuardOptions<object>, 'increments'> {
  /** Of an event. */
  readonly chunk: DescMessage;
  /** Of the operation's pieces. */
  readonly form: PieceForm;
  /** The error of a denial. */
  readonly denied: (outcome: HookRun) => GatewayError;
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
  { chunk, form, denied, ...options }: GuardedStreamDeps,
): Promise<GuardedStream> {
  const increments = form.reader?.() ?? ((event: object) => form.increments(event));
  const guard = createStreamGuard<object>({ ...options, increments });
  let first: object | undefined;
  let last: object | undefined;
  let begun = false;
  const guarded = (async function* () {
    try {
      for await (const event of guardEvents(events, guard)) {
        first ??= event;
        last = event;
        yield event;
      }
    } catch (thrown) {
      const { outcome } = guard;
      if (outcome?.decision !== 'deny') throw thrown;
      // No reply can follow what has gone out: the answer ends as one does that a filter cut.
      if (!begun || !outcome.soft || last === undefined) throw denied(outcome);
      yield* form.cutOff(last, chunk, first ?? last);
    }
  })();
  const begins = await untilContent(guarded, form);
  begun = true;
  return { events: begins, outcome: () => guard.outcome };
}
