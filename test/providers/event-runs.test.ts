// Events that repeat the one before them with another text are read as runs: what they say, and how it is written, is the
// same as of events that are parsed one by one, however the bytes are cut.
import test from 'ava';
import fc from 'fast-check';
import { CreateChatCompletionRequestSchema } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { CreateMessageRequestSchema } from '../../gen/gateway/inference/v2/messages_pb.ts';
import { CreateResponseRequestSchema } from '../../gen/gateway/inference/v2/responses_pb.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { rawJsonOf } from '../../src/lib/raw-json.ts';
import { Run } from '../../src/lib/runs.ts';
import { SseParser } from '../../src/lib/sse.ts';
import type { StreamTranslator } from '../../src/providers/dialect.ts';
import { EventRuns } from '../../src/providers/event-runs.ts';
import { spoken } from '../../src/providers/forms/spoken.ts';
import { codec } from '../../src/rest/codec.ts';
import { dialects } from './support/golden.ts';
import { piecesOf } from './support/pieces-of.ts';
import { contextOf, targetOf } from './support/target.ts';

const MESSAGES = [{ role: 'user', content: 'Hi' }];
const REQUESTS = {
  chat: codec.decodeRequest(CreateChatCompletionRequestSchema, {
    model: 'm',
    messages: MESSAGES,
    stream: true,
  }),
  messages: codec.decodeRequest(CreateMessageRequestSchema, {
    model: 'm',
    max_tokens: 9,
    messages: MESSAGES,
    stream: true,
  }),
  responses: codec.decodeRequest(CreateResponseRequestSchema, { model: 'm', input: 'Hi', stream: true }),
};
type Name = keyof typeof REQUESTS;
const NAMES = Object.keys(REQUESTS) as Name[];

function translatorOf(name: Name): StreamTranslator<object> {
  const target = targetOf('openai-compatible');
  const { operation } = spoken(codec, dialects.get('openai')!, target.provider, name)!;
  const streams = operation as unknown as {
    stream(request: object, context: object): StreamTranslator<object>;
  };
  return streams.stream(REQUESTS[name], contextOf(target));
}

interface Read {
  readonly texts: readonly string[];
  readonly usage: unknown;
  readonly model: string | undefined;
  readonly error: string | undefined;
  /** Pieces that came in runs. */
  readonly inRuns: number;
}

function read(name: Name, pieces: readonly Uint8Array[], asRuns: boolean): Read {
  const translator = translatorOf(name);
  const items: (object | Run<object>)[] = [];
  const take = (more: readonly (object | Run<object>)[]): void => void items.push(...more);
  const parser = new SseParser();
  const plain = {
    push: (bytes: Uint8Array) => {
      for (const event of parser.push(bytes)) take(translator.push(event));
    },
    end: () => {
      for (const event of parser.end()) take(translator.push(event));
    },
  };
  const reader = asRuns ? new EventRuns(translator, take) : plain;
  let error: string | undefined;
  try {
    for (const piece of pieces) {
      reader.push(Uint8Array.from(piece));
    }
    reader.end();
    take(translator.end());
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    error = thrown.message;
  }
  const inRuns = items.reduce((sum: number, item) => sum + (item instanceof Run ? item.count : 0), 0);
  const texts = piecesOf(items).map((piece) => withoutIds(String(rawJsonOf(piece))));
  return { texts, usage: translator.usage(), model: translator.model(), error, inRuns };
}

/** The gateway's own ids and times differ from answer to answer. */
function withoutIds(text: string): string {
  return text
    .replaceAll(/\b(msg|resp|rs|fc)_[0-9a-f]{20,}/g, '$1')
    .replaceAll(/"(created|completed)_at":\d+/g, '"$1_at":0');
}

interface Chunk {
  readonly delta?: object;
  readonly finish?: string;
  readonly more?: object;
}

function chunk({ delta = {}, finish, more = {} }: Chunk): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish ?? null }];
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices };
  return `data: ${JSON.stringify({ ...base, ...more })}\n\n`;
}

const FIRST = chunk({ delta: { role: 'assistant', content: '' } });
const LAST = `${chunk({ finish: 'stop' })}data: [DONE]\n\n`;

/** @param more further members of the chunk */
function told(texts: readonly string[], more: (at: number) => object = () => ({})): string {
  return FIRST + texts.map((content, at) => chunk({ delta: { content }, more: more(at) })).join('') + LAST;
}

const PLAIN = Array.from({ length: 50 }, (_, i) => ` word${i}`);

for (const name of NAMES) {
  test(`${name}: texts are read in runs, and say what events say that are parsed`, (t) => {
    const bytes = Buffer.from(told(PLAIN));
    const runs = read(name, [bytes], true);
    t.deepEqual({ ...runs, inRuns: 0 }, read(name, [bytes], false));
    t.true(runs.inRuns >= PLAIN.length - 2, `${runs.inRuns} in runs`);
  });

  test(`${name}: runs hold fillings of another text each, members of usage that are null, and any sign`, (t) => {
    const filled = told(PLAIN, (at) => ({ usage: null, obfuscation: 'x'.repeat((at % 7) + 1) }));
    const signs = told(PLAIN.map((text, at) => (at % 2 === 0 ? ` größer 漢字 😀${at}` : text)));
    for (const bytes of [Buffer.from(filled), Buffer.from(signs)]) {
      const runs = read(name, [bytes], true);
      t.deepEqual({ ...runs, inRuns: 0 }, read(name, [bytes], false));
      t.true(runs.inRuns >= PLAIN.length - 2, `${runs.inRuns} in runs`);
    }
  });

  test(`${name}: what is not a text alone is parsed, wherever it stands`, (t) => {
    const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const odd: readonly string[] = [
      ': a comment\n\n',
      '\n\n',
      'event: error\ndata: {"error":{"message":"no"}}\n\n',
      'data: {"error":{"message":"no"}}\n\n',
      'data: {"id":"chatcmpl-1"\n\n',
      `${chunk({ delta: { content: ' "x"\n\\ ' } })}`,
      chunk({ delta: { content: 'other' }, more: { id: 'chatcmpl-2' } }),
      chunk({
        delta: { content: ' x' },
        more: { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
      }),
      chunk({ delta: { content: ' x', reasoning_content: 'so' } }),
      chunk({ delta: { content: ' x', tool_calls: [call] } }),
      chunk({ delta: { content: ' x' }, finish: 'length' }),
      chunk({ delta: { content: ' word1' } })
        .replace('" word1"', '" word1')
        .replace('}\n\n', '"}\n\n'),
      chunk({ delta: { content: ' word1' } }).replace('word1', 'wo\\u0072d1'),
      chunk({ delta: { content: ' word1' } }).replace('word1', 'wo\u0001rd1'),
      chunk({ delta: { content: ' word1' } }).replaceAll('\n', '\r\n'),
      chunk({ delta: { content: ' word1' } }).replace('data: ', 'event: message\ndata: '),
      chunk({ delta: { content: ' word1' } }).replace('data: ', 'data:'),
    ];
    for (const event of odd) {
      const bytes = Buffer.from(
        FIRST + PLAIN.map((content) => chunk({ delta: { content } })).join('') + event + told(PLAIN),
      );
      t.deepEqual({ ...read(name, [bytes], true), inRuns: 0 }, read(name, [bytes], false), event);
    }
  });

  test(`${name}: bytes that are no UTF-8 are read as ever`, (t) => {
    const bytes = Buffer.from(told(PLAIN));
    bytes[bytes.indexOf('word30')] = 0xff;
    t.deepEqual({ ...read(name, [bytes], true), inRuns: 0 }, read(name, [bytes], false));
  });

  test(`${name}: an event that ends between two pieces is what further ones are compared with`, (t) => {
    const texts = PLAIN.map((content) => chunk({ delta: { content } })).join('');
    const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
    const between = chunk({ delta: { tool_calls: [call] } });
    const before = Buffer.from(FIRST + texts + between);
    const pieces = [before.subarray(0, -1), before.subarray(-1), Buffer.from(texts + LAST)];
    t.deepEqual({ ...read(name, pieces, true), inRuns: 0 }, read(name, [Buffer.concat(pieces)], false));
  });

  test(`${name}: the events are the same however the bytes are cut`, (t) => {
    const text = fc.string({
      unit: fc.constantFrom('a', ' ', '"', '\\', '\n', 'é', '漢', '😀', '}'),
      maxLength: 6,
    });
    const event = fc.oneof(
      { weight: 6, arbitrary: text.map((content) => chunk({ delta: { content } })) },
      { weight: 1, arbitrary: text.map((content) => chunk({ delta: { content, reasoning_content: 'r' } })) },
      { weight: 1, arbitrary: text.map((content) => chunk({ delta: { content }, more: { id: 'other' } })) },
      { weight: 1, arbitrary: fc.constant(': ping\n\n') },
    );
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 30 }),
        fc.array(fc.nat(4000), { maxLength: 12 }),
        (events, cuts) => {
          const bytes = Buffer.from(FIRST + events.join('') + LAST);
          const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
          const pieces = places.slice(1).map((to, at) => bytes.subarray(places[at], to));
          t.deepEqual({ ...read(name, pieces, true), inRuns: 0 }, read(name, [bytes], false));
        },
      ),
      { numRuns: 150 },
    );
  });
}

test('after some events that nothing repeats no further ones are compared', (t) => {
  const texts = Array.from({ length: 40 }, (_, at) =>
    chunk({ delta: { content: ' x' }, more: { id: `chatcmpl-${at}` } }),
  );
  const bytes = Buffer.from(FIRST + texts.join('') + told(PLAIN));
  const runs = read('messages', [bytes], true);
  t.deepEqual({ ...runs, inRuns: 0 }, read('messages', [bytes], false));
  t.is(runs.inRuns, 0);
});
