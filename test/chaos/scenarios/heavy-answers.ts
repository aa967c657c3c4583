// A provider whose whole answers are long, or cheap to send and expensive to read.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario, type Verdict } from '../scenario.ts';

type Json = Record<string, unknown>;

/** For debugging: only these paths, and every load that took more than 30 ms is listed. */
const ONLY = process.env.CHAOS_ANSWERS_ONLY;

const names = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":1`).join();
const TOKEN = '{"token":" the","logprob":-0.12345678,"bytes":[32,116,104,101]';
const tokens = (likely: number): string =>
  `${TOKEN},"top_logprobs":[${Array(likely).fill(`${TOKEN}}`).join()}]}`;
const numbers = (count: number): string => `[${'0.01234567,'.repeat(count)}1]`;
/** What stands in an answer: as its text, as another member, or as numbers of a vector. */
interface Load {
  readonly text?: string;
  readonly extra?: string;
  /** Of vectors alone. */
  readonly vector?: string;
}
const LOADS: Readonly<Record<string, Load>> = {
  'a text of 20 MB': { text: JSON.stringify('hello wo'.repeat(2_500_000)) },
  'a text of 60 MB': { text: JSON.stringify('hello wo'.repeat(7_500_000)) },
  'a text of 20 MB in Cyrillic': { text: JSON.stringify('ж'.repeat(10_000_000)) },
  '3 million escapes': { text: `"${'\\u00e9'.repeat(3_000_000)}"` },
  '10 million line ends': { text: `"${'\\n'.repeat(9_000_000)}"` },
  '300,000 members': { extra: `[${'{"a":1},'.repeat(180_000)}{}]` },
  '70,000 names': { extra: `{${names(70_000)}}` },
  '300,000 names': { extra: `{${names(300_000)}}` },
  '1.9 million numbers': { extra: numbers(1_900_000) },
  '470,000 nests': { extra: `${'['.repeat(470_000)}${']'.repeat(470_000)}` },
  '380,000 empty objects': { extra: `[${'{},'.repeat(380_000)}{}]` },
  '2,000 tokens with 20 likely ones each': { extra: `[${Array(2000).fill(tokens(20)).join()}]` },
  '1,800 vectors of 3,000 numbers': { vector: `[${'0.0123,'.repeat(5_400_000)}1]` },
  'a text of 7.5 MB, as long as passes everywhere': { text: JSON.stringify('hello wo'.repeat(930_000)) },
  '7.5 MB in Cyrillic, as long as passes everywhere': { text: JSON.stringify('ж'.repeat(3_750_000)) },
  '15,000 names, as many as pass everywhere': { extra: `{${names(15_000)}}` },
  '40,000 objects, as many as pass everywhere': { extra: `[${'{"a":1},'.repeat(40_000)}{}]` },
  '220,000 numbers, as many as pass everywhere': { extra: `[${'1,'.repeat(220_000)}1]` },
  '600 tokens with 20 likely ones each, as many as pass everywhere': {
    extra: `[${Array(600).fill(tokens(20)).join()}]`,
  },
};
const TEXT = '"@text"';
const EXTRA = '"@extra"';
const VECTOR = '"@vector"';
const messages = [{ role: 'user', content: 'x' }];
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const message = { role: 'assistant', content: '@text', extra: '@extra' };
const completion = (more: Json): Json => ({
  id: 'c',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  ...more,
});
const tool = { type: 'tool_use', id: 't', name: 'n', input: { a: '@extra' } };
const anthropic = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: '@text' }, tool],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
};
const parts = [{ text: '@text' }, { functionCall: { name: 'f', args: { a: '@extra' } } }];
const gemini = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] };
const output = [{ type: 'message', id: 'o', content: [{ type: 'output_text', text: '@text' }] }];
const response = { id: 'r', object: 'response', status: 'completed', output, extra: '@extra' };
const vectors = { data: [{ index: 0, object: 'embedding', embedding: '@vector' }], extra: '@extra', usage };
const guard = {
  deny: true,
  checks: [{ id: 'wordCount', parameters: { minWords: 0, maxWords: 99_999_999 } }],
};

/** A path, the provider that is asked and what it answers. */
interface Asked {
  readonly path: string;
  readonly provider: string;
  readonly body: Json;
  readonly answer: Json;
  readonly config?: Json;
  /** Whether it is asked as a row of a batch of the gateway's own. */
  readonly batch?: true;
}

const CHAT = { path: '/v1/chat/completions', provider: 'openai', body: { messages } };
const CONNECT = '/gateway.inference.v2.ChatService/CreateChatCompletion';
const ASKED: Readonly<Record<string, Asked>> = {
  chat: { ...CHAT, answer: completion({ usage }) },
  'chat, usage untold': { ...CHAT, answer: completion({}) },
  'chat at Anthropic': { ...CHAT, provider: 'anthropic', answer: anthropic },
  'chat at Google': { ...CHAT, provider: 'google', answer: gemini },
  'chat, guarded': { ...CHAT, answer: completion({ usage }), config: { output_guardrails: [guard] } },
  'chat, cached': { ...CHAT, answer: completion({ usage }), config: { cache: { mode: 'simple' } } },
  'chat, retried': { ...CHAT, answer: completion({ usage }), config: { retry: { attempts: 1 } } },
  'chat, streamed': { ...CHAT, answer: completion({ usage }), body: { messages, stream: true } },
  'chat over Connect': {
    ...CHAT,
    path: CONNECT,
    body: { messages: [{ role: 'user', content: { text: 'x' } }] },
    answer: completion({ usage }),
  },
  'a row of a batch': { ...CHAT, answer: completion({ usage }), batch: true },
  messages: {
    path: '/v1/messages',
    provider: 'anthropic',
    body: { max_tokens: 9, messages },
    answer: anthropic,
  },
  'messages at OpenAI': {
    path: '/v1/messages',
    provider: 'openai',
    body: { max_tokens: 9, messages },
    answer: completion({ usage }),
  },
  responses: { path: '/v1/responses', provider: 'openai', body: { input: 'x' }, answer: response },
  'responses at Mistral': {
    path: '/v1/responses',
    provider: 'mistral-ai',
    body: { input: 'x' },
    answer: completion({ usage }),
  },
  embeddings: { path: '/v1/embeddings', provider: 'openai', body: { input: 'x' }, answer: vectors },
  'passed through': { ...CHAT, path: '/v1/proxy/chat/completions', answer: completion({ usage }) },
  'passed through, guarded': {
    ...CHAT,
    path: '/v1/proxy/chat/completions',
    answer: completion({ usage }),
    config: { output_guardrails: [guard] },
  },
};

const scenario: Scenario = {
  name: 'heavy-answers',
  attack:
    'a provider answers whole with texts of 60 MB, millions of escapes or numbers, 300,000 names or 470,000 nests, translated, guarded, cached and passed through',
  bound: 'no turn over 50 ms; every call has an answer',
  test: 'test/inference/pipeline/heavy-answers.test.ts',
  async run(lab) {
    let answer = '';
    const server = http.createServer((req, res) => {
      req.resume().on('end', () => {
        res.writeHead(200, { 'content-type': 'application/json' }).end(answer);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    lab.onEnd(() => void server.close());
    const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const gateway = await lab.startGateway({}, { nodeOptions: process.env.CHAOS_NODE?.split(' ') ?? [] });
    const verdicts: Verdict[] = [];
    const unanswered: string[] = [];
    for (const [what, asked] of Object.entries(ASKED)) {
      if (ONLY !== undefined && !what.includes(ONLY)) continue;
      const send = async ({ text = '"x"', extra = '1', vector = '[1]' }: Load): Promise<number> => {
        answer = JSON.stringify(asked.answer)
          .replace(TEXT, () => text)
          .replace(EXTRA, () => extra)
          .replace(VECTOR, () => vector);
        return ask(gateway.origin, host, asked).catch(() => 0);
      };
      // What is read and compiled once is not counted.
      for (let i = 0; i < 3; i++) await send({});
      for (let i = 0; i < 2; i++)
        await send({ extra: numbers(300_000), text: JSON.stringify('x'.repeat(3_000_000)) });
      await gateway.longestTurnMs();
      let longest = { ms: 0, load: '' };
      for (const [load, sent] of Object.entries(LOADS)) {
        const mark = [TEXT, EXTRA, VECTOR][sent.text ? 0 : sent.extra ? 1 : 2]!;
        if (!JSON.stringify(asked.answer).includes(mark)) continue;
        const status = await send(sent);
        if (status === 0 || status === 500) unanswered.push(`${what}: ${load} (${status})`);
        const ms = await gateway.longestTurnMs();
        if (ONLY !== undefined || ms > 50)
          console.log(`  ${ms.toFixed(0).padStart(6)} ms  ${status}  ${what}: ${load}`);
        if (ms > longest.ms) longest = { ms, load };
      }
      verdicts.push(atMost(`longest turn, ${what} (${longest.load})`, longest.ms, 50, 'ms'));
    }
    return [
      ...verdicts,
      isTrue('every call has an answer', unanswered.length === 0, unanswered.join() || 'true'),
      isTrue('a caller is answered', await gateway.healthy()),
    ];
  },
};
export default scenario;

async function ask(origin: string, host: string, asked: Asked): Promise<number> {
  const { path, provider, body, config, batch } = asked;
  const headers = {
    'x-gateway-api-key': WORKSPACE_KEY,
    ...(config === undefined
      ? { 'x-gateway-provider': provider, 'x-gateway-custom-host': host, authorization: 'Bearer sk-x' }
      : { 'x-gateway-config': JSON.stringify({ provider, api_key: 'k', custom_host: host, ...config }) }),
  };
  if (batch) return runBatch(origin, headers, { model: 'm', ...body });
  const answer = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', ...body }),
    signal: AbortSignal.timeout(60_000),
  });
  const said = await answer.text();
  if (ONLY !== undefined && answer.status >= 400) console.log(said.slice(0, 300));
  return answer.status;
}

/** One row as a batch of the gateway's own: DeepSeek has none itself. */
async function runBatch(
  origin: string,
  headers: Readonly<Record<string, string>>,
  body: Json,
): Promise<number> {
  const own = { ...headers, 'x-gateway-provider': 'deepseek' };
  const row = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body };
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([JSON.stringify(row)]), 'in.jsonl');
  const key = { 'x-gateway-api-key': WORKSPACE_KEY };
  const json = async (answer: Response): Promise<Json> => (await answer.json()) as Json;
  const file = await json(await fetch(`${origin}/v1/files`, { method: 'POST', headers: key, body: form }));
  const asked = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const made = await json(
    await fetch(`${origin}/v1/batches`, {
      method: 'POST',
      headers: { ...own, 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    }),
  );
  for (let tries = 0; tries < 600; tries++) {
    const { status, output_file_id, error_file_id } = await json(
      await fetch(`${origin}/v1/batches/${made.id}`, { headers: key }),
    );
    if (status === 'completed' || status === 'failed') {
      const answers = await fetch(`${origin}/v1/files/${output_file_id ?? error_file_id}/content`, {
        headers: key,
      });
      await answers.arrayBuffer();
      return answers.status;
    }
    await sleep(50);
  }
  return 0;
}
