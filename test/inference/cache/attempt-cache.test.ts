// The cache as the pipeline's stage: every operation, whole and in pieces, with real dialects and two providers' words.
import test from 'ava';
import {
  ChatCompletionSchema,
  ChatService,
  CreateChatCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { CreateCompletionRequestSchema } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { Call } from '../../../src/access/call.ts';
import { createAttemptCache } from '../../../src/inference/cache/attempt-cache.ts';
import type { CachedAttempt } from '../../../src/inference/cache/call-of.ts';
import { openResponseCache } from '../../../src/inference/cache/open.ts';
import type { BoundTarget } from '../../../src/inference/plan/bind.ts';
import { GatewayHeaders, HeaderNames } from '../../../src/lib/gateway-headers.ts';
import { rawJsonOf } from '../../../src/lib/raw-json.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';
import type { OperationName, Outbound } from '../../../src/providers/dialect.ts';
import { createDialects } from '../../../src/providers/dialects/registry.ts';
import { codec } from '../../../src/rest/codec.ts';
import { read, SIMPLE } from './subject.ts';

const dialects = createDialects(codec);

function stage() {
  return createAttemptCache(
    openResponseCache({ state: undefined, bytes: 1e6, encryptionKey: new Uint8Array(32) }),
    codec,
  );
}

function attemptOf<N extends OperationName>(provider: string, operation: N, outbound: () => Outbound) {
  const entry = providerById(provider)!;
  const target = { provider: entry, apiKey: 'k', options: {}, customHost: undefined, strict: true };
  const call = new Call(ChatService.method.createChatCompletion, {
    protocol: 'rest',
    headers: new GatewayHeaders(new HeaderNames(['x-gateway-']), {}),
    httpMethod: 'POST',
    path: '/',
    remote: '',
  });
  call.principal = {
    organisationId: 'o',
    workspaceId: 'w',
    keyId: 'k',
    keyName: 'k',
    kind: 'workspace-service',
    scopes: new Set(),
  };
  const bound = {
    plan: { cache: SIMPLE },
    target,
    forwarded: [],
    model: undefined,
  } as unknown as BoundTarget;
  const attempt = {
    bound,
    dialect: dialects.get(entry.dialect)!,
    operation,
    outbound,
    model: 'm',
    signal: call.signal,
  };
  return {
    call,
    context: { target, now: () => 0 },
    attempt: attempt satisfies CachedAttempt as CachedAttempt & { operation: N },
  };
}

const OPENAI =
  '{"id":"c","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}';
const ANTHROPIC =
  '{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}';

for (const [provider, text] of [
  ['openai', OPENAI],
  ['anthropic', ANTHROPIC],
] as const) {
  test(`${provider}: a chat is kept whole and told at once, in pieces, and as a message`, async (t) => {
    const cache = stage();
    const request = codec.decodeRequest(CreateChatCompletionRequestSchema, {
      model: 'm',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'Hi' }],
    });
    const one = (run: () => Promise<never>) => {
      const parts = attemptOf(provider, 'chat', (): Outbound => chat.request(request, parts.context));
      const chat = parts.attempt.dialect.chat!;
      const pieces = {
        usage: false,
        pieces: (answer: Parameters<typeof chat.wholeAsChunks>[0]) => chat.wholeAsChunks(answer, request),
      };
      return {
        ...parts,
        answer: () =>
          cache.whole(parts.call, parts.attempt, run as never) as Promise<
            ReturnType<typeof chat.response>['answer']
          >,
        stream: () => cache.stream(parts.call, parts.attempt, pieces, run as never),
        made: () => chat.response(Buffer.from(text), request, parts.context).answer,
      };
    };
    const first = one(async () => first.made() as never);
    const given = await first.answer();
    t.is(first.call.trail.cacheStatus, 'MISS');
    const second = one(async () => t.fail() as never);
    const kept = await second.answer();
    t.is(second.call.trail.cacheStatus, 'HIT');
    t.is(second.call.trail.model, 'm');
    t.deepEqual(codec.encode(ChatCompletionSchema, kept), codec.encode(ChatCompletionSchema, given));
    t.not(rawJsonOf(kept), undefined);
    const third = one(async () => t.fail() as never);
    const chunks = await read(await third.stream());
    t.is(third.call.trail.cacheStatus, 'HIT');
    t.true(third.call.trail.streamed);
    t.is(chunks.map((chunk) => chunk.choices[0]?.delta?.content ?? '').join(''), 'Hello');
  });
}

test('a text completion in pieces finds what was kept whole', async (t) => {
  const cache = stage();
  const request = codec.decodeRequest(CreateCompletionRequestSchema, { model: 'm', prompt: 'Hi' });
  const text =
    '{"id":"c","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"Hello","finish_reason":"stop"}]}';
  const parts = attemptOf('openai', 'completions', (): Outbound => operation.request(request, parts.context));
  const operation = parts.attempt.dialect.completions!;
  await cache.whole(
    parts.call,
    parts.attempt,
    async () => operation.response(Buffer.from(text), request, parts.context).answer,
  );
  const stream = await cache.stream(
    parts.call,
    parts.attempt,
    { usage: false, pieces: (answer) => operation.wholeAsChunks(answer, request) },
    async () => t.fail() as never,
  );
  t.is((await read(stream)).map((chunk) => chunk.choices[0]?.text ?? '').join(''), 'Hello');
});

test('an operation that is not kept is only run', async (t) => {
  const parts = attemptOf('openai', 'models', () => t.fail() as never);
  let runs = 0;
  for (let i = 0; i < 2; i++) await stage().whole(parts.call, parts.attempt, async () => void runs++);
  t.is(runs, 2);
  t.is(parts.call.trail.cacheStatus, 'DISABLED');
});
