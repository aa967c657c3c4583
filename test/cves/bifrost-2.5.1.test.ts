// What Bifrost 2.5.1 mended: empty and null messages, and a hook that fails in mid-stream, ended the process. Here they
// are a 400 or an error in the stream, the process lives, and the books settle.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { type Bench, exchange, type JsonObject, PROTOCOLS, startBench } from '../contract/runner.ts';
import { type Json, type LimitsClient, limitsClient } from '../support/limits-client.ts';

let bench: Bench;
let client: LimitsClient;
/** A hook that does what its path says. */
let hook: http.Server;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
  hook = http.createServer((req, res) => {
    req.resume();
    req.on('end', () => {
      switch (req.url) {
        case '/closes':
          return void res.destroy();
        case '/breaks-off':
          res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
          return void res.write('{"verdict":', () => res.destroy());
        case '/garbage':
          return void res.end('{"verdict": nothing');
        case '/null':
          return void res.end('null');
        case '/error':
          return void res.writeHead(500).end('{"error":"no"}');
        default:
          return void res.end('{"verdict":"perhaps","transformedData":{"response":{"json":null}}}');
      }
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
});
test.after.always(async () => {
  hook?.closeAllConnections();
  hook?.close();
  await bench?.close();
});

const lives = async (t: ExecutionContext): Promise<void> => {
  t.is((await fetch(`${bench.gateway.origin}/healthz`)).status, 200);
  t.is((await client.chat({}, { model: 'gpt-ok' })).status, 200);
};

const BODIES: Readonly<Record<string, unknown>> = {
  'no messages': {},
  'messages that are null': { messages: null },
  'an empty list': { messages: [] },
  'a null among them': { messages: [null] },
  'a null behind a good one': { messages: [{ role: 'user', content: 'hi' }, null] },
  'an empty object': { messages: [{}] },
  'a text': { messages: 'hi' },
  'a number': { messages: [7] },
  'a null role': { messages: [{ role: null, content: 'hi' }] },
  'a null part': { messages: [{ role: 'user', content: [null] }] },
};

for (const [name, more] of Object.entries(BODIES)) {
  for (const stream of [false, true]) {
    test(`${name}${stream ? ', streamed' : ''}: a 400 that names the field, and the process lives`, async (t) => {
      const { status, json } = await client.chat(
        {},
        { model: 'gpt-ok', messages: undefined, ...(more as Json), stream },
      );
      t.is(status, 400, JSON.stringify(json));
      t.regex(JSON.stringify(json), /messages/);
      await lives(t);
    });
  }
}

test('content that is null reaches the provider, whose word it is, or is refused: never a 500', async (t) => {
  for (const message of [
    { role: 'user', content: null },
    { role: 'assistant', content: null },
    { role: 'user', content: [] },
  ])
    for (const provider of ['openai', 'anthropic']) {
      const { status } = await client.chat(
        { 'x-gateway-provider': provider },
        { model: 'gpt-ok', messages: [message] },
      );
      t.true(
        status === 200 || (status >= 400 && status < 500),
        `${provider} ${JSON.stringify(message)}: ${status}`,
      );
    }
  await lives(t);
});

for (const protocol of PROTOCOLS.filter((one) => one !== 'rest')) {
  test(`no messages over ${protocol}: invalid argument`, async (t) => {
    const { error } = await exchange(
      bench,
      { method: ChatService.method.createChatCompletion, body: { model: 'gpt-ok', messages: [] } },
      protocol,
    );
    t.is(error?.kind === 'rpc' ? error.code : undefined, 3);
    await lives(t);
  });
}

for (const fault of ['closes', 'breaks-off', 'garbage', 'null', 'error', 'odd-verdict']) {
  for (const deny of [false, true]) {
    test(`a hook that ${fault} at the end of a stream${deny ? ' and denies' : ''}: the books settle`, async (t) => {
      const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 100 } });
      const { port } = hook.address() as AddressInfo;
      const trace = `hook-${fault}-${deny}`;
      const config: JsonObject = {
        provider: 'openai',
        api_key: 'sk-1',
        custom_host: bench.provider.origin,
        output_guardrails: [{ 'default.webhook': { webhookURL: `http://127.0.0.1:${port}/${fault}` }, deny }],
      };
      const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': key,
          'content-type': 'application/json',
          'x-gateway-trace-id': trace,
          'x-gateway-config': JSON.stringify(config),
        },
        body: JSON.stringify({ model: 'gpt-ok', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
      });
      const text = await answer.text();
      t.true([200, 246, 446].includes(answer.status), `${answer.status} ${text}`);
      if (answer.status !== 446) t.regex(text, /\[DONE\]|"error"/, 'an end, or an error in the stream');
      const settled = await client.keyUntil(id, (record) => (record.usage_limits as Json).held_usage === 0);
      t.is((settled.usage_limits as Json).held_usage, 0, 'nothing stays held');
      t.is((await client.logs(trace)).length, 1, 'one entry');
      await lives(t);
    });
  }
}

test('a provider that breaks off in mid-stream under a hook: an error in the stream, and the books settle', async (t) => {
  const { id, key } = await client.key({ usage_limits: { type: 'cost', credit_limit: 100 } });
  const { port } = hook.address() as AddressInfo;
  const mark = bench.mark();
  bench.provider.next(`${mark}/chat/completions`, (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(
      'data: {"id":"x","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}\n\n',
      () => setImmediate(() => res.destroy()),
    );
  });
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': key,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({
        provider: 'openai',
        api_key: 'sk-1',
        custom_host: bench.provider.origin + mark,
        output_guardrails: [{ 'default.webhook': { webhookURL: `http://127.0.0.1:${port}/closes` } }],
      }),
    },
    body: JSON.stringify({ model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  });
  const text = await answer.text();
  t.true(answer.status >= 500 || /"error"/.test(text), `${answer.status} ${text}`);
  const settled = await client.keyUntil(id, (record) => (record.usage_limits as Json).held_usage === 0);
  t.is((settled.usage_limits as Json).held_usage, 0);
  await lives(t);
});
