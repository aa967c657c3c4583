// Usage in pass-through answers, of every wire that a provider may speak on its own paths, however the bytes are cut.
import test from 'ava';
import { type TappedUsage, UsageTap } from '../../../src/inference/pipeline/usage-tap.ts';
import type { InboundHead } from '../../../src/lib/egress/outbound.ts';
import { createDialects } from '../../../src/providers/dialects/registry.ts';
import { codec } from '../../../src/rest/codec.ts';
import { targetOf } from '../../providers/support/target.ts';

const dialects = createDialects(codec);

function hear(provider: string, type: string, text: string, size: number): TappedUsage {
  const target = targetOf(provider);
  const dialect = dialects.get(target.provider.dialect);
  if (dialect === undefined) throw new Error('no such dialect');
  const head = {
    status: 200,
    rawHeaders: ['content-type', type],
    header: (name: string) => (name === 'content-type' ? type : undefined),
  } as unknown as InboundHead;
  const tap = new UsageTap(dialect, target.provider, head, () => 40);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) tap.push(bytes.subarray(at, at + size));
  return tap.end();
}

const events = (...all: readonly object[]): string =>
  all.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join('');

const RESPONSES = {
  input_tokens: 100,
  output_tokens: 50,
  total_tokens: 150,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens_details: { reasoning_tokens: 30 },
};
const COMPACTED = {
  input_tokens: 29,
  output_tokens: 5,
  iterations: [
    { type: 'compaction', input_tokens: 71, output_tokens: 126, cache_creation_input_tokens: 55_096 },
    { type: 'message', input_tokens: 29, output_tokens: 5, cache_creation_input_tokens: 0 },
  ],
};
const GEMINI = {
  promptTokenCount: 10,
  toolUsePromptTokenCount: 5,
  candidatesTokenCount: 118,
  thoughtsTokenCount: 1961,
  totalTokenCount: 2094,
  cachedContentTokenCount: 4,
};

interface Case {
  readonly provider: string;
  readonly type: 'application/json' | 'text/event-stream';
  readonly text: string;
  /** Prompt, cached, written to the cache, completion, reasoning. */
  readonly counts: readonly (number | undefined)[];
  readonly model: string;
  readonly tier?: string;
}

const CASES: Readonly<Record<string, Case>> = {
  'Responses, whole': {
    provider: 'openai',
    type: 'application/json',
    model: 'gpt-5',
    tier: 'flex',
    text: JSON.stringify({ object: 'response', model: 'gpt-5', service_tier: 'flex', usage: RESPONSES }),
    counts: [100, 40, undefined, 50, 30],
  },
  'Responses, streamed': {
    provider: 'openai',
    type: 'text/event-stream',
    model: 'gpt-5',
    tier: 'priority',
    text: events(
      { type: 'response.created', response: { model: 'gpt-5', usage: null, service_tier: 'auto' } },
      { type: 'response.output_text.delta', delta: 'Hi' },
      {
        type: 'response.completed',
        response: { model: 'gpt-5', usage: RESPONSES, service_tier: 'priority' },
      },
    ),
    counts: [100, 40, undefined, 50, 30],
  },
  "Anthropic's wire at a provider that speaks OpenAI's, streamed": {
    provider: 'deepseek',
    type: 'text/event-stream',
    model: 'm',
    text: events(
      {
        type: 'message_start',
        message: { model: 'm', usage: { input_tokens: 5, cache_read_input_tokens: 7 } },
      },
      { type: 'message_delta', usage: { output_tokens: 9 } },
    ),
    counts: [12, 7, undefined, 9, undefined],
  },
  'compaction: all iterations are paid, whole': {
    provider: 'anthropic',
    type: 'application/json',
    model: 'm',
    text: JSON.stringify({ type: 'message', model: 'm', usage: COMPACTED }),
    counts: [55_196, undefined, 55_096, 131, undefined],
  },
  'compaction, streamed': {
    provider: 'anthropic',
    type: 'text/event-stream',
    model: 'm',
    text: events(
      { type: 'message_start', message: { model: 'm', usage: { input_tokens: 29, output_tokens: 1 } } },
      { type: 'message_delta', usage: COMPACTED },
    ),
    counts: [55_196, undefined, 55_096, 131, undefined],
  },
  "OpenAI's wire at Anthropic": {
    provider: 'anthropic',
    type: 'application/json',
    model: 'm',
    text: JSON.stringify({ model: 'm', usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } }),
    counts: [3, undefined, undefined, 4, undefined],
  },
  'Gemini, whole': {
    provider: 'openai',
    type: 'application/json',
    model: 'gemini-3',
    text: JSON.stringify({ modelVersion: 'gemini-3', usageMetadata: GEMINI }),
    counts: [15, 4, undefined, 2079, 1961],
  },
  'Gemini, streamed as one list': {
    provider: 'openai',
    type: 'application/json',
    model: 'gemini-3',
    text: JSON.stringify([
      { modelVersion: 'gemini-3', usageMetadata: { promptTokenCount: 10 } },
      { usageMetadata: GEMINI },
    ]),
    counts: [15, 4, undefined, 2079, 1961],
  },
  "x-ai's reasoning beside the completion": {
    provider: 'x-ai',
    type: 'application/json',
    model: 'grok',
    text: JSON.stringify({
      model: 'grok',
      usage: {
        prompt_tokens: 291,
        completion_tokens: 26,
        total_tokens: 506,
        completion_tokens_details: { reasoning_tokens: 189 },
      },
    }),
    counts: [291, undefined, undefined, 215, 189],
  },
  'the same without a total': {
    provider: 'x-ai',
    type: 'application/json',
    model: 'grok',
    text: JSON.stringify({
      model: 'grok',
      usage: {
        prompt_tokens: 291,
        completion_tokens: 26,
        completion_tokens_details: { reasoning_tokens: 189 },
      },
    }),
    counts: [291, undefined, undefined, 215, 189],
  },
};

for (const [name, { provider, type, text, counts, model, tier }] of Object.entries(CASES)) {
  test(name, (t) => {
    for (const size of [1, 7, 1_000_000]) {
      const heard = hear(provider, type, text, size);
      const usage = typeof heard.usage === 'object' ? heard.usage : undefined;
      t.false(heard.usageEstimated);
      t.false(heard.usageRefused);
      const found = [
        usage?.promptTokens,
        usage?.promptTokensDetails?.cachedTokens,
        usage?.promptTokensDetails?.cacheCreationTokens,
        usage?.completionTokens,
        usage?.completionTokensDetails?.reasoningTokens,
      ];
      t.deepEqual(
        found.map((count) => (count === undefined ? undefined : Number(count))),
        [...counts],
      );
      t.is(heard.model, model);
      t.is(heard.tier, tier);
    }
  });
}

test('a report that cannot be true is told as such, with an estimate in its place', (t) => {
  const whole = hear(
    'openai',
    'application/json',
    '{"model":"m","usage":{"input_tokens":-5,"output_tokens":1}}',
    9,
  );
  t.like(whole, {
    usageRefused: true,
    usageEstimated: true,
    usage: { promptTokens: 10n, completionTokens: 15n },
  });
});
