// The event grammar of streamed messages: folded together, the events of an answer are the whole answer, over every chat
// dialect and however its pieces are cut.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { create, type JsonObject } from '@bufbuild/protobuf';
import test from 'ava';
import fc from 'fast-check';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { type MessageEvent, MessageEventSchema } from '../../../gen/gateway/inference/v2/messages_pb.ts';
import { jsonOf } from '../../../src/providers/forms/json-of.ts';
import { messageJson } from '../../../src/providers/forms/messages/answer.ts';
import { eventOf, MessageEvents } from '../../../src/providers/forms/messages/events.ts';
import { MessageFold } from '../../../src/providers/forms/messages/fold.ts';
import { wholeAsEvents } from '../../../src/providers/forms/messages/whole-as-events.ts';
import { chatAsChunks } from '../../../src/providers/whole-as-chunks.ts';
import { codec } from '../../../src/rest/codec.ts';
import { dialects } from '../support/golden.ts';
import { contextOf, targetOf } from '../support/target.ts';

const MODEL = 'asked';

function eventsOf(chunks: readonly ChatCompletionChunk[]): JsonObject[] {
  const events = new MessageEvents((event) => [eventOf(codec, event)], { model: MODEL, provider: 'some' });
  const all: MessageEvent[] = chunks.flatMap((chunk) => [...events.push(chunk)]);
  all.push(...events.end(undefined));
  return all.map((event) => jsonOf(codec, MessageEventSchema, event));
}

function folded(events: readonly JsonObject[]): JsonObject {
  const fold = new MessageFold();
  for (const event of events) fold.push(event);
  return fold.message();
}

/** As Anthropic's own clients check it: one block at a time, in order, each piece inside of its block. */
function grammarFault(events: readonly JsonObject[]): string | undefined {
  if (events[0]?.type !== 'message_start') return 'it begins with message_start';
  if (events.at(-1)?.type !== 'message_stop') return 'it ends with message_stop';
  if (events.at(-2)?.type !== 'message_delta') return 'message_delta comes before the end';
  let open = -1;
  let next = 0;
  for (const { type, index } of events.slice(1, -2)) {
    if (type === 'content_block_start') {
      if (open !== -1 || index !== next) return `block ${String(index)} begins out of order`;
      open = next++;
    } else if (type === 'content_block_delta') {
      if (index !== open) return `a piece of block ${String(index)} while ${open} is open`;
    } else if (type === 'content_block_stop') {
      if (index !== open) return `block ${String(index)} ends while ${open} is open`;
      open = -1;
    } else if (type !== 'ping') return `${String(type)} among the blocks`;
  }
  return open === -1 ? undefined : `block ${open} does not end`;
}

const GOLDEN = path.join(import.meta.dirname, '..', 'golden');
const NO_CHAT = new Set(['messages']);

for (const dialect of readdirSync(GOLDEN).filter((name) => !NO_CHAT.has(name))) {
  for (const name of readdirSync(path.join(GOLDEN, dialect))) {
    const completion = wholeChat(dialect, path.join(GOLDEN, dialect, name));
    if (completion === undefined) continue;
    test(`${dialect}: ${name}`, (t) => {
      const whole = messageJson(completion, completion.usage, MODEL, 'some');
      const events = eventsOf(chatAsChunks(completion, true));
      t.is(grammarFault(events), undefined);
      t.deepEqual(folded(events), whole);
      const again = wholeAsEvents(whole);
      t.is(grammarFault(again), undefined);
      t.deepEqual(folded(again), whole);
    });
  }
}

/** The chat completion of a golden case; undefined: it has none. */
function wholeChat(dialect: string, folder: string): ChatCompletion | undefined {
  const files = readdirSync(folder);
  if (!files.includes('provider-response.json')) return undefined;
  const read = (file: string): JsonObject =>
    JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as JsonObject;
  const settings = files.includes('case.json') ? read('case.json') : {};
  if ((settings.operation ?? 'chat') !== 'chat') return undefined;
  const target = targetOf(String(settings.provider ?? dialect), { strict: false, options: {} });
  const chat = dialects.get(target.provider.dialect)?.chat;
  if (chat === undefined) return undefined;
  const request = files.includes('request.json') ? read('request.json') : {};
  try {
    return chat.response(
      readFileSync(path.join(folder, 'provider-response.json')),
      codec.decode(CreateChatCompletionRequestSchema, request),
      contextOf(target),
    ).answer;
  } catch {
    // An error inside of a good status.
    return undefined;
  }
}

const text = fc.string({ minLength: 1, maxLength: 20 });
const args = fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), {
  maxKeys: 3,
});
const answers = fc.record({
  reasoning: fc.option(text, { nil: undefined }),
  content: fc.option(text, { nil: undefined }),
  calls: fc.array(fc.record({ name: fc.stringMatching(/^[a-z]{1,8}$/), args }), { maxLength: 4 }),
});

test('answers cut anywhere, calls in order or mixed', (t) => {
  fc.assert(
    fc.property(answers, fc.nat({ max: 7 }), fc.boolean(), ({ reasoning, content, calls }, step, mixed) => {
      const completion = codec.decode(ChatCompletionSchema, {
        id: 'x',
        object: 'chat.completion',
        model: 'm',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: content ?? null,
              ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
              tool_calls: calls.map(({ name, args: given }, i) => ({
                id: `call_${i}`,
                type: 'function',
                function: { name, arguments: JSON.stringify(given) },
              })),
            },
            finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
          },
        ],
        usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
      });
      const chunk = (delta: JsonObject, finish: string | null = null, usage?: JsonObject) =>
        codec.decode(ChatCompletionChunkSchema, {
          id: 'x',
          object: 'chat.completion.chunk',
          model: 'm',
          choices: usage === undefined ? [{ index: 0, delta, finish_reason: finish }] : [],
          ...(usage === undefined ? {} : { usage }),
        });
      const size = step + 1;
      const cut = (whole: string): string[] => whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      const argumentPieces = calls.map(({ args: given }) => cut(JSON.stringify(given)));
      const begins = calls.map(({ name }, index) =>
        chunk({
          tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } }],
        }),
      );
      const rest = argumentPieces.map((pieces, index) =>
        pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
      );
      const longest = Math.max(0, ...rest.map(({ length }) => length));
      const turns = Array.from({ length: longest }, (_, at) => rest.flatMap((own) => own.slice(at, at + 1)));
      const chunks = [
        chunk({ role: 'assistant', content: '' }),
        ...cut(reasoning ?? '').map((piece) => chunk({ reasoning_content: piece })),
        ...cut(content ?? '').map((piece) => chunk({ content: piece })),
        ...(mixed ? [...begins, ...turns.flat()] : begins.flatMap((begin, i) => [begin, ...rest[i]!])),
        chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
        chunk({}, null, { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }),
      ];
      const events = eventsOf(chunks);
      t.is(grammarFault(events), undefined);
      t.deepEqual(folded(events), messageJson(completion, completion.usage, MODEL, 'some'));
    }),
    { numRuns: 300 },
  );
});

test('an answer without a single chunk is still a message', (t) => {
  const events = eventsOf([create(ChatCompletionChunkSchema, {})]);
  t.is(grammarFault(events), undefined);
  t.like(folded(events), { type: 'message', content: [], stop_reason: 'end_turn', model: MODEL });
});
