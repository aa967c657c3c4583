// What one streamed event of a message costs on its way: read, noted for the books, written as server-sent events. Native:
// from Anthropic's wire; translated: from OpenAI's. node test/bench/message-events.ts prints microseconds per event.

import { CreateMessageRequestSchema } from '../../gen/gateway/inference/v2/messages_pb.ts';
import { pieceForm } from '../../src/inference/pipeline/pieces/piece-forms.ts';
import { rawJsonOf } from '../../src/lib/raw-json.ts';
import { providerById } from '../../src/providers/catalog/registry.ts';
import type { Target } from '../../src/providers/dialect.ts';
import { createDialects } from '../../src/providers/dialects/registry.ts';
import { type StreamedOperation, spoken } from '../../src/providers/forms/spoken.ts';
import { frameParser } from '../../src/providers/framing.ts';
import { codec } from '../../src/rest/codec.ts';
import { median } from './median.ts';
import { STREAM_EVENTS, STREAM_USAGE, streamEvents } from './payloads.ts';

const ROUNDS = 400;

/** Microseconds per event of each wire, medians over many streams. */
export function messageEventCosts(rounds = ROUNDS): { readonly native: number; readonly translated: number } {
  return {
    native: costOf('anthropic', anthropicStream(), rounds),
    translated: costOf(
      'openai',
      Buffer.from(`${streamEvents().join('')}${STREAM_USAGE}data: [DONE]\n\n`),
      rounds,
    ),
  };
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

function costOf(id: string, bytes: Buffer, rounds: number): number {
  const provider = providerById(id)!;
  const dialect = createDialects(codec).get(provider.dialect)!;
  const target: Target = { provider, apiKey: 'k', options: {}, customHost: undefined, strict: true };
  const found = spoken(codec, dialect, provider, 'messages');
  const operation = found!.operation as StreamedOperation<'messages'>;
  const request = codec.decode(CreateMessageRequestSchema, {
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
  });
  const context = { target, now: () => 0 };
  const form = pieceForm('messages');
  const times: number[] = [];
  let written = 0;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const parser = frameParser('sse');
    const translator = operation.stream(request, context);
    for (const event of parser.push(bytes)) {
      for (const piece of translator.push(event)) {
        form.said(piece);
        written += `event: x\ndata: ${String(rawJsonOf(piece))}\n\n`.length;
      }
    }
    times.push(((performance.now() - start) * 1000) / STREAM_EVENTS);
  }
  if (written === 0) throw new Error('nothing was written');
  return median(times.slice(rounds / 2));
}

if (process.argv[1]?.endsWith('message-events.ts')) console.log(messageEventCosts());
