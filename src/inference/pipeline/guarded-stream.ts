// A streamed answer behind its output guardrails: nothing goes out before it is judged, as far as a part can be.

import type { ChatCompletionChunk } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Completion } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { hookResults } from '../../checks/runner/answer.ts';
import type { HookRun } from '../../checks/runner/hook-result.ts';
import { guardEvents } from '../../checks/stream/guard-events.ts';
import {
  createStreamGuard,
  type Increment,
  type StreamGuardOptions,
} from '../../checks/stream/stream-guard.ts';
import { plain } from './explain.ts';

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

/** Resolves when the first event may go out. @throws GatewayError guardrail_denied (446) when none may */
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
  const first = await guarded.next();
  return { events: startingWith(first, guarded), outcome: () => guard.outcome };
}

/** An iterator of which the first result was taken already. Not a generator: leaving before the first read must end it too. */
function startingWith(
  first: IteratorResult<object, void>,
  rest: AsyncGenerator<object, void>,
): AsyncIterable<object> {
  let waiting: IteratorResult<object, void> | undefined = first;
  const iterator: AsyncIterableIterator<object, void> = {
    [Symbol.asyncIterator]: () => iterator,
    next() {
      const result = waiting;
      waiting = undefined;
      return result === undefined ? rest.next() : Promise.resolve(result);
    },
    return: () => rest.return(),
  };
  return iterator;
}

/** The texts of an event of a chat or of a text completion. */
function incrementsOf(event: object): readonly Increment[] {
  const { choices } = event as ChatCompletionChunk | Completion;
  return choices.flatMap((choice): Increment[] => {
    const unit = choice.index;
    if ('text' in choice) return text({ unit, kind: 'content', text: choice.text });
    const { delta } = choice as ChatCompletionChunk['choices'][number];
    if (delta === undefined) return [];
    const increments: Increment[] = [
      ...text({ unit, kind: 'content', text: delta.content ?? '' }),
      ...text({ unit, kind: 'reasoning', text: delta.reasoningContent ?? '' }),
    ];
    for (const { index: call, function: called } of delta.toolCalls) {
      increments.push({
        unit,
        kind: 'tool_call',
        call,
        text: called?.arguments ?? '',
        ...(called?.name === undefined ? {} : { name: called.name }),
      });
    }
    if (delta.functionCall) {
      const { name, arguments: given } = delta.functionCall;
      increments.push({
        unit,
        kind: 'tool_call',
        text: given ?? '',
        ...(name === undefined ? {} : { name }),
      });
    }
    return increments;
  });
}

function text(increment: Increment): Increment[] {
  return increment.text === '' ? [] : [increment];
}
