// A provider whose streams have one event that is cheap to send and expensive to read.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

type Json = Record<string, unknown>;

const names = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":1`).join();
const TOKEN = '{"token":" the","logprob":-0.12345678,"bytes":[32,116,104,101]';
const tokens = (likely: number): string =>
  `${TOKEN},"top_logprobs":[${Array(likely).fill(`${TOKEN}}`).join()}]}`;
/** What an event holds: some bytes below the bound of an event, and far above that of one turn. */
const LOADS: Readonly<Record<string, string>> = {
  'a million empty objects': `[${'{},'.repeat(1_000_000)}{}]`,
  '300,000 names': `{${names(300_000)}}`,
  'a million nests': '['.repeat(1_000_000),
  '60,000 nests in 60 KB': `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  '600 tokens with 20 likely ones each, as many as pass': `[${Array(600).fill(tokens(20)).join()}]`,
  '15,000 names, as many as pass': `{${names(15_000)}}`,
  '90,000 empty objects, as many as pass': `[${'{},'.repeat(90_000)}{}]`,
  '220,000 numbers, as many as pass': `[${'1,'.repeat(220_000)}1]`,
  '15 MB of blanks': `[${' '.repeat(15_000_000)}]`,
  '7.5 MB of a text, as long as passes': JSON.stringify('x'.repeat(7_500_000)),
  '15 MB of a text': JSON.stringify('x'.repeat(15_000_000)),
};
const MARK = '"@load"';
const messages = [{ role: 'user', content: 'x' }];
const content = { id: 'c', usage: {}, choices: [{ index: 0, delta: { content: 'x', extra: '@load' } }] };
const call = { type: 'tool_use', id: 't', name: 'n', input: '@load' };
const block = { type: 'content_block_start', index: 0, content_block: call };
const completed = { type: 'response.completed', response: { id: 'r', extra: '@load' } };
const parts = [{ functionCall: { name: 'f', args: '@load' } }];

/** A path, the provider that is asked and what it sends. */
interface Asked {
  readonly path: string;
  readonly provider: string;
  readonly body: Json;
  readonly event: Json;
}

const ASKED: readonly Asked[] = [
  { path: '/chat/completions', provider: 'openai', body: { messages }, event: content },
  { path: '/chat/completions', provider: 'anthropic', body: { messages }, event: block },
  {
    path: '/chat/completions',
    provider: 'google',
    body: { messages },
    event: { candidates: [{ content: { parts } }] },
  },
  { path: '/messages', provider: 'anthropic', body: { max_tokens: 9, messages }, event: block },
  { path: '/messages', provider: 'openai', body: { max_tokens: 9, messages }, event: content },
  { path: '/responses', provider: 'openai', body: { input: 'x' }, event: completed },
  { path: '/responses', provider: 'mistral-ai', body: { input: 'x' }, event: content },
  { path: '/proxy/chat/completions', provider: 'openai', body: { messages: [] }, event: content },
];

const scenario: Scenario = {
  name: 'heavy-events',
  attack:
    'a provider sends one event of a stream with a million empty objects, 300,000 names or a million nests, translated and passed through',
  bound: 'no turn over 50 ms; the stream ends with an error, and what is passed through arrives as it came',
  test: 'test/inference/pipeline/heavy-events.test.ts',
  async run(lab) {
    let event = '';
    const server = http.createServer((req, res) => {
      req.resume().on('end', () => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${event}\n\n`);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    lab.onEnd(() => void server.close());
    const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const gateway = await lab.startGateway();
    const verdicts = [];
    for (const asked of ASKED) {
      const send = async (load: string): Promise<void> => {
        event = JSON.stringify(asked.event).replace(MARK, () => load);
        await ask(gateway.origin, host, asked);
      };
      // What is read and compiled once is not counted.
      for (let i = 0; i < 3; i++) await send('"x"');
      await gateway.longestTurnMs();
      for (const load of Object.values(LOADS)) await send(load);
      const what = `longest turn of the event loop, ${asked.path} at ${asked.provider}`;
      verdicts.push(atMost(what, await gateway.longestTurnMs(), 50, 'ms'));
    }
    return [...verdicts, isTrue('a caller is answered', await gateway.healthy())];
  },
};
export default scenario;

async function ask(origin: string, host: string, { path, provider, body }: Asked): Promise<void> {
  const answer = await fetch(`${origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': provider,
      'x-gateway-custom-host': host,
      authorization: 'Bearer sk-x',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'm', stream: true, ...body }),
  });
  await answer.arrayBuffer();
}
