// JSON within texts: arguments and results of tools, which wires of other providers take as objects, and the pieces of a stream
// from which answers and counts are put together.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { byConfig, many, send } from '../caller.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const OBJECTS = `{"a":[${'{},'.repeat(1300)}1]}`;
const HUGE = `{"a":[${'{},'.repeat(3_000_000)}1]}`;
const called = (id: string, args: string) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
});
const asked = (calls: readonly object[], results: readonly object[]) =>
  JSON.stringify({
    model: 'gpt-ok',
    messages: [{ role: 'assistant', content: null, tool_calls: calls }, ...results],
  });
const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });

const REQUESTS: Readonly<Record<string, string>> = {
  'arguments of 12 MB': asked([called('c', HUGE)], [result('c', 'x')]),
  'a result of 12 MB': asked([called('c', '{}')], [result('c', HUGE)]),
  'arguments of 2,900 calls': asked(
    many(2900, (i) => called(`c${i}`, OBJECTS)),
    many(2900, (i) => result(`c${i}`, 'x')),
  ),
};

const chunk = (members: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], ...members })}\n\n`;
const piece = (index: number, args: string): string =>
  chunk({
    choices: [{ index: 0, delta: { tool_calls: [{ index, function: { name: 'f', arguments: args } }] } }],
  });

/** Streams whose every event could have all of the events before it read again. */
const STREAMS: Readonly<Record<string, string>> = {
  'pieces of a call that never ends': [
    piece(0, `{"a":[${'1,'.repeat(150_000)}`),
    ...many(3000, () => piece(0, '{}')),
  ].join(''),
  'pieces of a call behind one that never ends': [
    piece(0, `{"a":[${'1,'.repeat(150_000)}}`),
    ...many(3000, () => piece(1, '{}')),
  ].join(''),
  '4,000 calls': many(4000, (i) => piece(i, OBJECTS)).join(''),
  '20,000 counts of other names': many(20_000, (i) => chunk({ usage: { [`k${i}`]: 1 } })).join(''),
};
const LAST = `${chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] })}data: [DONE]\n\n`;

const scenario: Scenario = {
  name: 'heavy-arguments',
  attack:
    'callers send arguments and results of tools whose JSON has millions of objects; a provider streams calls that never end, 4,000 calls, and 20,000 counts of other names',
  bound: 'no turn over 50 ms; every request has an answer, and no 500',
  test: 'test/inference/pipeline/inner-json.test.ts',
  async run(lab) {
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    let stream = '';
    const streaming = http.createServer((req, res) => {
      req.resume().on('end', () => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream + LAST);
      });
    });
    await new Promise<void>((resolve) => streaming.listen(0, '127.0.0.1', resolve));
    lab.onEnd(() => {
      streaming.close();
      streaming.closeAllConnections();
    });
    const gateway = await lab.startGateway();
    const user = { messages: [{ role: 'user', content: 'hi' }] };
    const from = byConfig(`http://127.0.0.1:${(streaming.address() as AddressInfo).port}`, {});
    const contents = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
    const turns: { readonly name: string; readonly ms: number; readonly status: number }[] = [];
    const watched = async (name: string, ...call: Parameters<typeof send>) => {
      const status = await send(...call).then(
        (answer) => answer.status,
        () => 0,
      );
      turns.push({ name, status, ms: await gateway.longestTurnMs() });
    };
    const warm = asked([called('c', '{"a":1}')], [result('c', '{}')]);
    const wires: Readonly<Record<string, object>> = {
      anthropic: {},
      google: {},
      bedrock: {
        api_key: undefined,
        aws_access_key_id: 'a',
        aws_secret_access_key: 'b',
        aws_region: 'us-east-1',
      },
    };
    for (const [wire, more] of Object.entries(wires)) {
      const to = byConfig(provider.origin, { provider: wire, ...more });
      for (let i = 0; i < 20; i++) await send(gateway, '/chat/completions', warm, to);
      await gateway.longestTurnMs();
      for (const [name, body] of Object.entries(REQUESTS))
        await watched(`${wire}: ${name}`, gateway, '/chat/completions', body, to);
    }
    const forms: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
      ['/chat/completions', { model: 'm', stream: true, ...user }],
      ['/messages', { model: 'm', stream: true, max_tokens: 9, ...user }],
      ['/models/m:streamGenerateContent', contents],
    ];
    for (const [path, body] of forms) {
      stream = piece(0, '{}');
      for (let i = 0; i < 20; i++) await send(gateway, path, body, from);
      await gateway.longestTurnMs();
      for (const [name, text] of Object.entries(STREAMS)) {
        stream = text;
        await watched(`${path}: ${name}`, gateway, path, body, from);
      }
    }
    const [worst] = turns.toSorted((one, other) => other.ms - one.ms);
    const failed = turns.filter(({ status }) => status === 0 || status === 500).map(({ name }) => name);
    return [
      atMost(`the longest turn, by ${worst?.name}`, worst?.ms ?? 0, 50, 'ms'),
      isTrue('every request has an answer, and no 500', failed.length === 0, failed.join('; ') || 'true'),
      isTrue('the gateway answers', await gateway.healthy()),
    ];
  },
};
export default scenario;
