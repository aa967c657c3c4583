// One event of a provider's stream that is cheap to send and expensive to read ends the stream before it is read; what is
// passed through goes on as it came.
import test from 'ava';
import { type Bench, raw, startBench } from '../../contract/runner.ts';
import { frame, framed } from '../../providers/support/aws-frames.ts';
import { type LimitsClient, limitsClient } from '../../support/limits-client.ts';

type Json = Record<string, unknown>;

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
});
test.after.always(() => bench?.close());

const LOADS: Readonly<Record<string, string>> = {
  'empty objects': `[${'{},'.repeat(300_000)}{}]`,
  names: `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join()}}`,
  nests: '['.repeat(400_000),
};
/** How texts with a load are known. */
const MANY = /(?:\{\},){50}|"k0":1,"k1":1,"k2":1|\[{50}/;
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const chunk = (delta: Json, more: Json = {}): Json => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta }],
  ...more,
});
const chats = [
  chunk({ content: 'first' }, { usage: USAGE }),
  chunk({ content: 'x', own: '@load' }, { usage: USAGE }),
];
const messages = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      usage: { input_tokens: 11, output_tokens: 7 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'first' } },
  {
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: 't', name: 'n', input: '@load' },
  },
];
const responses = [
  {
    type: 'response.created',
    sequence_number: 0,
    response: { id: 'r', output: [], model: 'm', instructions: 'first' },
  },
  { type: 'response.completed', sequence_number: 1, response: { id: 'r', output: [], own: '@load' } },
];
const asked = [{ role: 'user', content: 'x' }];

interface Form {
  readonly path: string;
  readonly provider: string;
  readonly upstream: string;
  readonly body: Json;
  readonly events: readonly Json[];
  /** How the stream ends. */
  readonly error: RegExp;
}

const FORMS: Readonly<Record<string, Form>> = {
  'chat of a provider that speaks it': {
    path: '/chat/completions',
    provider: 'openai',
    upstream: '/chat/completions',
    body: { messages: asked },
    events: chats,
    error: /data: \{[^\n]*too many members and items[^\n]*\n\n$/,
  },
  'chat that is translated': {
    path: '/chat/completions',
    provider: 'anthropic',
    upstream: '/messages',
    body: { messages: asked },
    events: messages,
    error: /data: \{[^\n]*too many members and items[^\n]*\n\n$/,
  },
  'messages of a provider that speaks them': {
    path: '/messages',
    provider: 'anthropic',
    upstream: '/messages',
    body: { max_tokens: 9, messages: asked },
    events: messages,
    error: /event: error\ndata: \{"type":"error",[^\n]*too many members and items[^\n]*\n\n$/,
  },
  'messages over chat': {
    path: '/messages',
    provider: 'openai',
    upstream: '/chat/completions',
    body: { max_tokens: 9, messages: asked },
    events: chats,
    error: /event: error\ndata: \{"type":"error",[^\n]*too many members and items[^\n]*\n\n$/,
  },
  'responses of a provider that speaks them': {
    path: '/responses',
    provider: 'openai',
    upstream: '/responses',
    body: { input: 'x' },
    events: responses,
    error: /event: response.failed\ndata: [^\n]*too many members and items[^\n]*\n\n$/,
  },
  'responses over chat': {
    path: '/responses',
    provider: 'mistral-ai',
    upstream: '/chat/completions',
    body: { input: 'x' },
    events: chats,
    error: /event: response.failed\ndata: [^\n]*too many members and items[^\n]*\n\n$/,
  },
};

/** Whether a text with many items is read as JSON while a call runs: the gateway runs in this process. */
async function watched<T>(run: () => Promise<T>): Promise<readonly [T, boolean]> {
  const parse = JSON.parse;
  let isRead = false;
  JSON.parse = (text: string, reviver?: Parameters<typeof parse>[1]): unknown => {
    isRead ||= MANY.test(text);
    return parse(text, reviver) as unknown;
  };
  try {
    return [await run(), isRead];
  } finally {
    JSON.parse = parse;
  }
}

async function streamed({ path, provider, upstream, body }: Omit<Form, 'events' | 'error'>, sent: Sent) {
  const prefix = bench.mark();
  bench.provider.next(prefix + upstream, (_req, res) => {
    res.writeHead(200, { 'content-type': sent.type ?? 'text/event-stream' }).end(sent.bytes);
  });
  const [answer, isRead] = await watched(() =>
    raw(bench.gateway.origin, {
      method: 'POST',
      path: `/v1${path}`,
      headers: {
        ...bench.headers(prefix),
        'x-gateway-provider': provider,
        'x-gateway-trace-id': prefix.slice(1),
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'm', stream: true, ...body }),
    }),
  );
  const [entry = {}] = await client.logs(prefix.slice(1));
  return { answer, isRead, entry };
}

interface Sent {
  readonly bytes: string | Buffer;
  readonly type?: string;
}

function sse(events: readonly Json[], load: string): string {
  return events
    .map(
      (event) =>
        `event: ${event.type ?? 'message'}\ndata: ${JSON.stringify(event).replace('"@load"', () => load)}\n\n`,
    )
    .join('');
}

for (const [name, form] of Object.entries(FORMS))
  for (const [what, load] of Object.entries(LOADS))
    test.serial(
      `${name}: an event with very many ${what} ends it with an error and is not read`,
      async (t) => {
        const { answer, isRead, entry } = await streamed(form, { bytes: sse(form.events, load) });
        t.is(answer.status, 200);
        const text = answer.body.toString();
        t.regex(text, /first/);
        t.regex(text, form.error);
        t.false(isRead);
        t.is(entry.outcome, 'interrupted');
        if (form.upstream === '/responses') return;
        const usage = entry.usage as Json;
        t.is(Number(usage.prompt_tokens), 11);
        // The beginning of Anthropic's wire counts the prompt alone: what was said ("first") is estimated.
        t.is(Number(usage.completion_tokens), form.upstream === '/messages' ? 1 : 7);
      },
    );

test.serial('an event as heavy as they come is read', async (t) => {
  const likely = (count: number): string =>
    `[${Array(count).fill('{"token":" the","logprob":-0.12,"bytes":[32,116,104,101]}').join()}]`;
  const form = FORMS['responses of a provider that speaks them']!;
  const { answer } = await streamed(form, { bytes: sse(form.events, likely(12_000)) });
  t.regex(answer.body.toString(), /event: response.completed/);
});

for (const [what, load] of Object.entries(LOADS)) {
  const form = { path: '/proxy/chat/completions', provider: 'openai', upstream: '/chat/completions' };
  test.serial(`a stream that is passed through: very many ${what} go on and are not read`, async (t) => {
    const bytes = sse(chats, load);
    const { answer, isRead, entry } = await streamed({ ...form, body: { messages: [] } }, { bytes });
    t.is(answer.status, 200);
    t.is(answer.body.toString(), bytes);
    t.false(isRead);
    t.is(Number((entry.usage as Json).prompt_tokens), 11);
  });
  test.serial(`frames that are passed through: very many ${what} go on and are not read`, async (t) => {
    const usage = { inputTokens: 11, outputTokens: 7, totalTokens: 18 };
    const bytes = Buffer.concat([framed([['metadata', { usage }]]), frame('contentBlockDelta', load)]);
    const { answer, isRead, entry } = await streamed(
      {
        path: '/proxy/model/m/converse-stream',
        provider: 'openai',
        upstream: '/model/m/converse-stream',
        body: { messages: [] },
      },
      { bytes, type: 'application/vnd.amazon.eventstream' },
    );
    t.is(answer.status, 200);
    t.true(answer.body.equals(bytes));
    t.false(isRead);
    t.is(Number((entry.usage as Json).prompt_tokens), 11);
  });
}

test.serial('a whole answer to a streamed request that is too heavy is a 502, and is not read', async (t) => {
  const form = FORMS['chat of a provider that speaks it']!;
  const bytes = `{"id":"c","choices":[],"own":[${'{},'.repeat(500_000)}{}]}`;
  const { answer, isRead } = await streamed(form, { bytes, type: 'application/json' });
  t.is(answer.status, 502);
  t.regex(answer.body.toString(), /too many members and items/);
  t.false(isRead);
});
