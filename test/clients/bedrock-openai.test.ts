// Bedrock's OpenAI paths (/openai/v1/chat/completions and /openai/v1/responses of bedrock-runtime) by OpenAI's client: the
// bytes pass, each request is signed for AWS, and the tokens are counted.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import test from 'ava';
import OpenAI from 'openai';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const MODEL = 'openai.gpt-oss-120b-1:0';
const COUNTS = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const CHUNK = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: MODEL };
const CALL = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } };

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

let gateway: TestGateway;
let bedrock: http.Server;
const sent: Sent[] = [];
test.before(async () => {
  bedrock = http.createServer(async (req, res) => {
    let body = '';
    for await (const piece of req) body += String(piece);
    sent.push({ method: req.method ?? '', url: req.url ?? '', headers: req.headers, body });
    const asked = JSON.parse(body) as { stream?: boolean; tools?: unknown };
    if (req.url === '/openai/v1/responses')
      return res.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          id: 'resp_1',
          object: 'response',
          created_at: 1_700_000_000,
          status: 'completed',
          model: MODEL,
          output: [
            {
              id: 'msg_1',
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
            },
          ],
          usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
        }),
      );
    if (req.url !== '/openai/v1/chat/completions') return res.writeHead(404).end();
    const said = asked.tools === undefined ? { content: 'Hello' } : { content: null, tool_calls: [CALL] };
    const finish = asked.tools === undefined ? 'stop' : 'tool_calls';
    if (asked.stream !== true)
      return res.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          ...CHUNK,
          object: 'chat.completion',
          choices: [{ index: 0, message: { role: 'assistant', ...said }, finish_reason: finish }],
          usage: COUNTS,
        }),
      );
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const delta = asked.tools === undefined ? said : { tool_calls: [{ index: 0, ...CALL }] };
    const choices = [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }];
    res.write(`data: ${JSON.stringify({ ...CHUNK, choices })}\n\n`);
    const last = [{ index: 0, delta: {}, finish_reason: finish }];
    res.write(`data: ${JSON.stringify({ ...CHUNK, choices: last })}\n\n`);
    res.write(`data: ${JSON.stringify({ ...CHUNK, choices: [], usage: COUNTS })}\n\n`);
    return res.end('data: [DONE]\n\n');
  });
  await new Promise<void>((resolve) => bedrock.listen(0, '127.0.0.1', resolve));
  gateway = await startGateway();
});
test.beforeEach(() => void sent.splice(0));
test.after.always(async () => {
  await gateway?.close();
  bedrock?.close();
});

const origin = (): string => `http://127.0.0.1:${(bedrock.address() as AddressInfo).port}`;

function client(trace: string): OpenAI {
  return new OpenAI({
    baseURL: `${gateway.origin}/v1/proxy/openai/v1`,
    apiKey: WORKSPACE_KEY,
    maxRetries: 0,
    defaultHeaders: {
      'x-gateway-trace-id': trace,
      'x-gateway-config': config(),
    },
  });
}

const config = (): string =>
  JSON.stringify({
    provider: 'bedrock',
    custom_host: origin(),
    aws_region: 'us-west-2',
    aws_access_key_id: KEYS.accessKeyId,
    aws_secret_access_key: KEYS.secretAccessKey,
  });

/** That AWS's own library signs the request as it came. */
async function isSigned({ method, url, headers, body }: Sent): Promise<boolean> {
  const { authorization = '', host = '', 'x-amz-date': date = '' } = headers as Record<string, string>;
  const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? [];
  const at = String(date).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  const signer = new SignatureV4({
    credentials: KEYS,
    region: 'us-west-2',
    service: 'bedrock',
    sha256: Sha256,
    applyChecksum: false,
  });
  const { pathname, searchParams } = new URL(url, 'http://bedrock.example');
  const query = [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)] as const);
  const signed = await signer.sign(
    {
      method,
      protocol: 'http:',
      hostname: host,
      path: pathname,
      query: Object.fromEntries(query),
      headers: Object.fromEntries(names.map((name) => [name, String(headers[name])])),
      body,
    },
    { signingDate: new Date(at) },
  );
  return signed.headers.authorization === authorization;
}

/** The tokens that the log has of a call. */
async function tokensOf(trace: string): Promise<unknown> {
  return eventually('the log of the call', async () => {
    const answer = await fetch(`${gateway.origin}/v1/logs?trace_id=${trace}`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    const { data } = (await answer.json()) as { data: { usage?: { total_tokens?: number } }[] };
    return data?.[0]?.usage?.total_tokens;
  });
}

const MESSAGES = [{ role: 'user' as const, content: 'hi' }];
const TOOLS = [{ type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }];

test.serial('whole, streamed and with tools', async (t) => {
  const whole = await client('bedrock-whole').chat.completions.create({ model: MODEL, messages: MESSAGES });
  t.is(whole.choices[0]?.message.content, 'Hello');
  const tools = await client('bedrock-tools').chat.completions.create({
    model: MODEL,
    messages: MESSAGES,
    tools: TOOLS,
  });
  t.is(tools.choices[0]?.message.tool_calls?.[0]?.id, 'call_1');
  const streamed = await client('bedrock-stream')
    .chat.completions.stream({ model: MODEL, messages: MESSAGES, tools: TOOLS })
    .finalChatCompletion();
  t.is(streamed.choices[0]?.message.tool_calls?.[0]?.function.arguments, '{"city":"Oslo"}');
  for (const one of sent) {
    t.is(one.url, '/openai/v1/chat/completions');
    t.true(await isSigned(one));
    t.false(JSON.stringify(one).includes(WORKSPACE_KEY));
  }
  for (const trace of ['bedrock-whole', 'bedrock-tools', 'bedrock-stream']) t.is(await tokensOf(trace), 18);
});

test.serial('responses', async (t) => {
  const answer = await client('bedrock-responses').responses.create({ model: MODEL, input: 'hi' });
  t.is(answer.output_text, 'Hello');
  t.is(sent[0]?.url, '/openai/v1/responses');
  t.true(await isSigned(sent[0]!));
  t.is(await tokensOf('bedrock-responses'), 18);
});

function ask(query: string): Promise<Response> {
  return fetch(`${gateway.origin}/v1/proxy/own/path?${query}`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-config': config(),
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: MODEL, messages: MESSAGES }),
  });
}

test.serial('a query is signed as it is sent, up to a bound', async (t) => {
  t.is((await ask("b=2&a='(x)*!&b=1&e&f=%2F%20")).status, 404);
  t.is(sent.length, 1);
  t.regex(sent[0]!.url, /\?b=2&/);
  t.true(await isSigned(sent[0]!));
  const names = (count: number): string => Array.from({ length: count }, (_, i) => `n${i}`).join('&');
  t.is((await ask(names(256))).status, 404);
  t.true(await isSigned(sent[1]!));
  for (const query of [names(257), Array(3000).fill('a').join('&')]) {
    const answer = await ask(query);
    t.is(answer.status, 400);
    const { error } = (await answer.json()) as { error: { message: string; param: string } };
    t.is(error.param, 'query');
    t.regex(error.message, /at most 256 parameters/);
  }
  t.is(sent.length, 2);
});
