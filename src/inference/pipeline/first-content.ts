// How far a stream must have come before its caller is given any of it: until then it can still be another one.
import type { JsonValue } from '@bufbuild/protobuf';
import type { ChatCompletionChunk } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Completion } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { wordsOf } from '../../checks/stream/increments.ts';
import type { Increment } from '../../checks/stream/stream-guard.ts';

/** Most events without content that are read before the answer begins. */
const MOST_WAITING = 16;

/** Resolves when an event with content (or the stream's end) has come, with all events from the first on. @throws what the stream throws before */
export async function untilContent(events: AsyncIterable<object>): Promise<AsyncIterable<object>> {
  const rest = events[Symbol.asyncIterator]();
  const come: IteratorResult<object, unknown>[] = [];
  for (;;) {
    const result = await rest.next();
    come.push(result);
    if (result.done || hasContent(result.value) || come.length >= MOST_WAITING) break;
  }
  return startingWith(come, rest);
}

/** Results that were taken already, then the rest. Not a generator: leaving before the first read must end it too. */
function startingWith(
  come: IteratorResult<object, unknown>[],
  rest: AsyncIterator<object, unknown>,
): AsyncIterable<object> {
  let at = 0;
  const iterator: AsyncIterableIterator<object, unknown> = {
    [Symbol.asyncIterator]: () => iterator,
    next: () => (at < come.length ? Promise.resolve(come[at++]!) : rest.next()),
    async return() {
      at = come.length;
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
  return iterator;
}

function hasContent(event: object): boolean {
  const { choices } = event as ChatCompletionChunk | Completion;
  return (
    choices.length === 0 || choices.some((choice) => choice.finishReason) || incrementsOf(event).length > 0
  );
}

/** The texts of an event of a chat or of a text completion. */
export function incrementsOf(event: object): readonly Increment[] {
  const { choices } = event as ChatCompletionChunk | Completion;
  return choices.flatMap((choice): Increment[] => {
    const unit = choice.index;
    if ('text' in choice) return text({ unit, kind: 'content', text: choice.text });
    const { delta } = choice as ChatCompletionChunk['choices'][number];
    if (delta === undefined) return [];
    const { contentBlocks: blocks } = delta;
    const increments: Increment[] = [
      ...text({ unit, kind: 'content', text: contentOf(delta) || joined(blocks, 'text') }),
      ...text({ unit, kind: 'content', text: delta.refusal ?? '' }),
      ...text({ unit, kind: 'content', text: stringAt(delta.extra?.audio, 'transcript') }),
      ...text({ unit, kind: 'reasoning', text: reasoningOf(delta) || joined(blocks, 'thinking') }),
    ];
    for (const { index: call, function: called, extra } of delta.toolCalls) {
      const custom = extra?.custom;
      const name = called?.name ?? (stringAt(custom, 'name') || undefined);
      increments.push({
        unit,
        kind: 'tool_call',
        call,
        text: called?.arguments ?? (written(called?.extra?.arguments) || stringAt(custom, 'input')),
        ...(name === undefined ? {} : { name }),
      });
    }
    if (delta.functionCall) {
      const { name, arguments: given } = delta.functionCall;
      // Not to be taken for the first of the calls in the newer form.
      increments.push({
        unit,
        kind: 'tool_call',
        call: -1,
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

type Delta = NonNullable<ChatCompletionChunk['choices'][number]['delta']>;

/** What has another type than the contract says stands among the further members. */
function contentOf({ content, extra }: Delta): string {
  return content ?? wordsOf(extra?.content);
}

function reasoningOf({ reasoningContent, extra }: Delta): string {
  return reasoningContent ?? wordsOf(extra?.reasoning_content ?? extra?.reasoning);
}

/** Arguments that are no text but JSON. */
function written(value: JsonValue | undefined): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}

/** Blocks that a provider shows in place of the text, or in addition to it with the same words. */
function joined(blocks: Delta['contentBlocks'], member: 'text' | 'thinking'): string {
  return blocks.map((block) => block[member] ?? '').join('');
}

function stringAt(value: JsonValue | undefined, name: string): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return '';
  const member = value[name];
  return typeof member === 'string' ? member : '';
}
