// The pieces of a streamed chat or text completion: chunks with choices.
import type { DescMessage, JsonValue, Message } from '@bufbuild/protobuf';
import type { ChatCompletionChunk } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Completion } from '../../../../gen/gateway/inference/v2/completions_pb.ts';
import type { Increment } from '../../../checks/stream/stream-guard.ts';
import { codec } from '../../../rest/codec.ts';
import { AssembledChoices } from './assembled-choices.ts';
import type { PieceForm } from './piece-form.ts';
import { saidIn } from './said-in-choices.ts';
import { wordsOf } from './words-of.ts';

/** Chunks with choices. */
export const CHOICES: PieceForm = {
  increments: incrementsOf,
  hasContent,
  said: saidIn,
  cutOff: (last, chunk) => [cutOff(last, chunk)],
  // As the event that carries the usage: without choices.
  closing: (last, members) => ({ ...last, choices: [], usage: undefined, extra: members }),
  assembled: () => new AssembledChoices(),
  asksUsage: (request) =>
    (request as { readonly streamOptions?: { readonly includeUsage?: boolean } }).streamOptions
      ?.includeUsage === true,
};

function hasContent(event: object): boolean {
  const { choices } = event as ChatCompletionChunk | Completion;
  return (
    choices.length === 0 || choices.some((choice) => choice.finishReason) || incrementsOf(event).length > 0
  );
}

/** The texts of an event of a chat or of a text completion. */
function incrementsOf(event: object): readonly Increment[] {
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
  return (
    reasoningContent ?? wordsOf(extra?.reasoning_content ?? extra?.reasoning ?? extra?.reasoning_details)
  );
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
