// What one streamed event of a message or a response costs on its way: read, noted for the books, written as server-sent
// events. Native: from the form's own wire; translated: from a chat wire. node test/bench/message-events.ts prints
// microseconds per event.

import type { DescMessage } from '@bufbuild/protobuf';
import { CreateMessageRequestSchema } from '../../gen/gateway/inference/v2/messages_pb.ts';
import { CreateResponseRequestSchema } from '../../gen/gateway/inference/v2/responses_pb.ts';
import { pieceForm } from '../../src/inference/pipeline/pieces/piece-forms.ts';
import { rawJsonOf } from '../../src/lib/raw-json.ts';
import { Run } from '../../src/lib/runs.ts';
import { answerReader } from '../../src/providers/answer-reader.ts';
import { providerById } from '../../src/providers/catalog/registry.ts';
import type { Target } from '../../src/providers/dialect.ts';
import { createDialects } from '../../src/providers/dialects/registry.ts';
import { type StreamedOperation, spoken } from '../../src/providers/forms/spoken.ts';
import { operationRow, type RequestOf } from '../../src/providers/operations.ts';
import { codec } from '../../src/rest/codec.ts';
import { framed } from '../providers/support/aws-frames.ts';
import { median } from './median.ts';
import { STREAM_EVENTS, STREAM_USAGE, streamEvents } from './payloads.ts';

const ROUNDS = 400;

export type FormName = 'messages' | 'responses';
/** Forms of Google's and Amazon's clients. */
export type NativeFormName = 'generateContent' | 'converse';

interface Costs {
  readonly native: number;
  readonly translated: number;
}

/** Microseconds per event of each wire, medians over many streams. */
export function eventCosts(form: FormName, rounds = ROUNDS): Costs {
  const chat = Buffer.from(`${streamEvents().join('')}${STREAM_USAGE}data: [DONE]\n\n`);
  if (form === 'messages') {
    const request = codec.decode(CreateMessageRequestSchema, {
      model: 'm',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    });
    return {
      native: costOf('anthropic', form, request, anthropicStream(), rounds),
      translated: costOf('openai', form, request, chat, rounds),
    };
  }
  const request = codec.decode(CreateResponseRequestSchema, { model: 'm', input: 'Hi', stream: true });
  return {
    native: costOf('openai', form, request, responsesStream(), rounds),
    translated: costOf('openai-compatible', form, request, chat, rounds),
  };
}

/** The same of the forms of Google's and Amazon's clients. */
export function nativeEventCosts(form: NativeFormName, rounds = ROUNDS): Costs {
  const chat = Buffer.from(`${streamEvents().join('')}${STREAM_USAGE}data: [DONE]\n\n`);
  if (form === 'generateContent') {
    const request = codec.decode(operationRow(form).request, {
      model: 'm',
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    }) as RequestOf<typeof form>;
    return {
      native: costOf('google', form, request, geminiStream(), rounds),
      translated: costOf('openai', form, request, chat, rounds),
    };
  }
  const request = codec.decode(operationRow(form).request, {
    modelId: 'm',
    messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
  }) as RequestOf<typeof form>;
  return {
    native: costOf('bedrock', form, request, converseStream(), rounds),
    translated: costOf('openai', form, request, chat, rounds),
  };
}

function geminiStream(): Buffer {
  const say = (candidate: object, usage: object = {}): string =>
    `data: ${JSON.stringify({ candidates: [{ index: 0, ...candidate }], modelVersion: 'm', ...usage })}\r\n\r\n`;
  const pieces = Array.from({ length: STREAM_EVENTS }, (_, i) =>
    say({ content: { role: 'model', parts: [{ text: ` word${i}` }] } }),
  );
  const usageMetadata = { promptTokenCount: 12, candidatesTokenCount: 199, totalTokenCount: 211 };
  return Buffer.from(pieces.join('') + say({ finishReason: 'STOP' }, { usageMetadata }));
}

function converseStream(): Buffer {
  const usage = { inputTokens: 12, outputTokens: 199, totalTokens: 211 };
  return framed([
    ['messageStart', { role: 'assistant' }],
    ...Array.from({ length: STREAM_EVENTS }, (_, i) => [
      'contentBlockDelta',
      { contentBlockIndex: 0, delta: { text: ` word${i}` } },
    ]),
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'end_turn' }],
    ['metadata', { usage, metrics: { latencyMs: 5 } }],
  ]);
}

function responsesStream(): Buffer {
  let sequence = 0;
  const say = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...more })}\n\n`;
  const base = { id: 'resp_1', object: 'response', created_at: 1700000000, model: 'm', output: [] };
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const item = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
  const usage = { input_tokens: 12, output_tokens: 199, total_tokens: 211 };
  return Buffer.from(
    say('response.created', { response: { ...base, status: 'in_progress' } }) +
      say('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress' } }) +
      Array.from({ length: STREAM_EVENTS }, (_, i) =>
        say('response.output_text.delta', { ...place, delta: ` word${i}`, logprobs: [] }),
      ).join('') +
      say('response.output_item.done', { output_index: 0, item: { ...item, status: 'completed' } }) +
      say('response.completed', { response: { ...base, status: 'completed', usage } }),
  );
}

function anthropicStream(): Buffer {
  const say = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const pieces = Array.from({ length: STREAM_EVENTS }, (_, i) =>
    say('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ` word${i}` } }),
  );
  const usage = { input_tokens: 12, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage };
  return Buffer.from(
    say('message_start', { message }) +
      say('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
      pieces.join('') +
      say('content_block_stop', { index: 0 }) +
      say('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 199 } }) +
      say('message_stop', {}),
  );
}

function costOf<N extends FormName | NativeFormName>(
  id: string,
  name: N,
  request: RequestOf<N>,
  bytes: Buffer,
  rounds: number,
): number {
  const provider = providerById(id)!;
  const dialect = createDialects(codec).get(provider.dialect)!;
  const target: Target = { provider, apiKey: 'k', options: {}, customHost: undefined, strict: true };
  const operation = spoken(codec, dialect, provider, name)!.operation as StreamedOperation<N>;
  const context = { target, now: () => 0 };
  const form = pieceForm(name);
  const chunkSchema = operationRow(name).chunk as DescMessage;
  const times: number[] = [];
  const out = Buffer.alloc(256 * 1024);
  let written = 0;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const translator = operation.stream(request, context);
    const reader = answerReader(translator, dialect.framing ?? 'sse', (items) => {
      for (const piece of items) {
        if (piece instanceof Run) {
          written += piece.text.length + piece.write(true, out, 0);
          continue;
        }
        form.said(piece as never);
        written +=
          `event: x\ndata: ${String(rawJsonOf(piece) ?? JSON.stringify(codec.encode(chunkSchema, piece)))}\n\n`
            .length;
      }
    });
    reader.push(bytes);
    times.push(((performance.now() - start) * 1000) / STREAM_EVENTS);
  }
  if (written === 0) throw new Error('nothing was written');
  return median(times.slice(rounds / 2));
}

if (process.argv[1]?.endsWith('message-events.ts'))
  console.log({
    messages: eventCosts('messages'),
    responses: eventCosts('responses'),
    generateContent: nativeEventCosts('generateContent'),
    converse: nativeEventCosts('converse'),
  });
