// A streamed answer with output guardrails: each part is sent after it was checked, as far as a part can be.

import type { DescMessage, Message } from '@bufbuild/protobuf';
import type { HookRun } from '../../checks/runner/hook-result.ts';
import { guardEvents } from '../../checks/stream/guard-events.ts';
import { createStreamGuard, type StreamGuardOptions } from '../../checks/stream/stream-guard.ts';
import type { GatewayError } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import { incrementsOf, untilContent } from './first-content.ts';

/** What a guarded stream is made from. */
export interface GuardedStreamDeps extends Omit<StreamGuardOptions<object>, 'increments'> {
  /** Of an event. */
  readonly chunk: DescMessage;
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
  { chunk, denied, ...options }: GuardedStreamDeps,
): Promise<GuardedStream> {
  const guard = createStreamGuard<object>({ ...options, increments: incrementsOf });
  let last: object | undefined;
  let begun = false;
  const guarded = (async function* () {
    try {
      for await (const event of guardEvents(events, guard)) {
        last = event;
        yield event;
      }
    } catch (thrown) {
      const { outcome } = guard;
      if (outcome?.decision !== 'deny') throw thrown;
      // No reply can follow what has gone out: the answer ends as one does that a filter cut.
      if (!begun || !outcome.soft || last === undefined) throw denied(outcome);
      yield cutOff(last, chunk);
    }
  })();
  const begins = await untilContent(guarded);
  begun = true;
  return { events: begins, outcome: () => guard.outcome };
}

/** The last event of an answer that is cut off. */
function cutOff(last: object, chunk: DescMessage): Message {
  const {
    choices,
    usage: _,
    ...head
  } = codec.encode(chunk, last as Message) as Readonly<Record<string, unknown>>;
  const [choice] = Array.isArray(choices) ? (choices as Readonly<Record<string, unknown>>[]) : [];
  const empty = choice !== undefined && 'text' in choice ? { text: '' } : { delta: {} };
  return codec.decode(chunk, {
    ...head,
    choices: [{ index: choice?.index ?? 0, ...empty, finish_reason: 'content_filter' }],
  });
}
