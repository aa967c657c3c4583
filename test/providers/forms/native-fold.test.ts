// The streams of Google's and AWS's forms: folded together they are the whole answer, over the answers of every chat
// dialect and however their texts and arguments are cut.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { create, type JsonObject } from '@bufbuild/protobuf';
import test from 'ava';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { GenerateContentResponseSchema } from '../../../gen/gateway/inference/v2/gemini_pb.ts';
import { converseAnswer, converseEvents } from '../../../src/providers/forms/bedrock/answer.ts';
import { ConverseFold } from '../../../src/providers/forms/bedrock/fold.ts';
import { wholeAsEvents } from '../../../src/providers/forms/bedrock/whole-as-events.ts';
import { responseJson } from '../../../src/providers/forms/gemini/answer.ts';
import { GeminiFold } from '../../../src/providers/forms/gemini/fold.ts';
import { GeminiPieces } from '../../../src/providers/forms/gemini/pieces.ts';
import { jsonOf } from '../../../src/providers/forms/json-of.ts';
import { messageJson } from '../../../src/providers/forms/messages/answer.ts';
import { MessageEvents } from '../../../src/providers/forms/messages/events.ts';
import { chatAsChunks } from '../../../src/providers/whole-as-chunks.ts';
import { codec } from '../../../src/rest/codec.ts';
import { seeded } from '../support/random.ts';

const ROOT = path.join(import.meta.dirname, '../golden');

interface Answer {
  readonly name: string;
  readonly completion: ChatCompletion;
}

/** Whole chat answers of all dialects. */
const answers: Answer[] = readdirSync(ROOT).flatMap((folder) =>
  readdirSync(path.join(ROOT, folder)).flatMap((name) => {
    const file = path.join(ROOT, folder, name, 'response.json');
    if (!existsSync(file)) return [];
    const { answer } = JSON.parse(readFileSync(file, 'utf8')) as { answer?: JsonObject };
    if (answer?.object !== 'chat.completion') return [];
    return [{ name: `${folder}/${name}`, completion: codec.decode(ChatCompletionSchema, answer) }];
  }),
);

/** Texts and arguments in random pieces. */
function cut(chunks: readonly ChatCompletionChunk[], random: () => number): ChatCompletionChunk[] {
  return chunks.flatMap((chunk) => {
    const [choice] = chunk.choices;
    const { content = '', toolCalls = [], contentBlocks = [] } = choice?.delta ?? {};
    // Blocks say the same again.
    if (contentBlocks.length > 0) return [chunk];
    if (choice?.delta === undefined || (content.length < 2 && toolCalls.length === 0)) return [chunk];
    const at = Math.floor(random() * content.length);
    const { $typeName: _, ...delta } = choice.delta;
    const piece = (part: object): ChatCompletionChunk =>
      create(ChatCompletionChunkSchema, {
        id: chunk.id,
        model: chunk.model,
        choices: [{ index: choice.index, delta: part }],
      });
    const texts =
      content.length < 2
        ? [{ ...delta, toolCalls: [] }]
        : [
            { reasoningContent: delta.reasoningContent },
            { content: content.slice(0, at) },
            { ...delta, reasoningContent: undefined, content: content.slice(at), toolCalls: [] },
          ];
    const calls = toolCalls.flatMap((call) => {
      const args = call.function?.arguments ?? '';
      const half = Math.floor(random() * args.length);
      const { $typeName: __, function: ___, ...rest } = call;
      return [
        { toolCalls: [{ ...rest, function: { name: call.function?.name, arguments: args.slice(0, half) } }] },
        { toolCalls: [{ index: call.index, function: { arguments: args.slice(half) } }] },
      ];
    });
    return [...texts, ...calls].map(piece);
  });
}

const ROUNDS = 10;

test('there are answers of every dialect', (t) => {
  for (const folder of [
    'openai',
    'anthropic',
    'google',
    'bedrock',
    'cohere',
    'oracle',
    'vertex-ai',
    'azure-ai',
  ])
    t.true(
      answers.some(({ name }) => name.startsWith(`${folder}/`)),
      folder,
    );
});

for (const { name, completion } of answers) {
  test(`${name}: generateContent`, (t) => {
    const whole = without(responseJson(completion, completion.usage, 'asked', true));
    for (let round = 0; round < ROUNDS; round++) {
      const pieces = new GeminiPieces(codec, 'asked', true);
      const chunks = cut(chatAsChunks(completion, true), seeded(round));
      const all = [...chunks.flatMap((chunk) => [...pieces.push(chunk)]), ...pieces.end(completion.usage)];
      const fold = new GeminiFold();
      for (const one of all) fold.push(jsonOf(codec, GenerateContentResponseSchema, one));
      t.deepEqual(without(fold.response()), whole, `round ${round}`);
    }
  });

  test(`${name}: Converse`, (t) => {
    const whole = converseAnswer(messageJson(completion, completion.usage, 'asked', 'some'));
    const again = new ConverseFold();
    for (const event of wholeAsEvents(whole)) again.push(event);
    t.deepEqual(again.answer(), whole);
    for (let round = 0; round < ROUNDS; round++) {
      const events = new MessageEvents((event) => converseEvents(event, () => 0), {
        model: 'asked',
        provider: 'some',
      });
      const fold = new ConverseFold();
      const chunks = cut(
        chatAsChunks({ ...completion, choices: completion.choices.slice(0, 1) }, true),
        seeded(round),
      );
      for (const chunk of chunks) for (const event of events.push(chunk)) fold.push(event);
      for (const event of events.end(completion.usage)) fold.push(event);
      t.deepEqual(fold.answer(), whole, `round ${round}`);
    }
  });
}

/** Logarithms come piece by piece, and stand in the first one alone. */
function without({ candidates, ...rest }: JsonObject): JsonObject {
  const shown = (candidates as JsonObject[]).map(({ logprobsResult: _, ...candidate }) => candidate);
  return { ...rest, candidates: shown };
}
