// Each form of a request for each wire, and each wire's answer for each form, as heavy as they pass: an image of 20 MB,
// thousands of images, of calls and of thoughts. Also as the first call of a process, before V8 has compiled what it runs.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { byConfig, many, send } from '../caller.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

/** For debugging: only what has this in its name; all of it is listed. */
const ONLY = process.env.CHAOS_TRANSLATIONS_ONLY;

/** One of so many is also tried as the first call of a process. */
const FIRSTS = 11;

type Json = Readonly<Record<string, unknown>>;

/** A form of request: where it goes, and how it says what the loads hold. */
interface Door {
  readonly path: string;
  image(data: string): Json;
  images(count: number): Json;
  calls(count: number): Json;
}

const IMAGE = (data: string): string => `data:image/png;base64,${data}`;
const URL_OF_IMAGE = 'https://a.b/c.png';
const hi = { role: 'user', content: 'hi' };
const asked = (content: unknown): Json => ({ messages: [{ role: 'user', content }] });
const pairs = (count: number, pair: (i: number) => readonly Json[]): Json[] => many(count, pair).flat();

const DOORS: Readonly<Record<string, Door>> = {
  chat: {
    path: '/chat/completions',
    image: (data) => asked([{ type: 'image_url', image_url: { url: IMAGE(data) } }]),
    images: (count) => asked(many(count, () => ({ type: 'image_url', image_url: { url: URL_OF_IMAGE } }))),
    calls: (count) => ({
      messages: [
        hi,
        ...pairs(count, (i) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: `c${i}`, type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          },
          { role: 'tool', tool_call_id: `c${i}`, content: 'ok' },
        ]),
      ],
    }),
  },
  messages: {
    path: '/messages',
    image: (data) => ({
      max_tokens: 9,
      ...asked([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }]),
    }),
    images: (count) => ({
      max_tokens: 9,
      ...asked(many(count, () => ({ type: 'image', source: { type: 'url', url: URL_OF_IMAGE } }))),
    }),
    calls: (count) => ({
      max_tokens: 9,
      messages: [
        hi,
        ...pairs(count, (i) => [
          { role: 'assistant', content: [{ type: 'tool_use', id: `c${i}`, name: 'f', input: { a: 1 } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${i}`, content: 'ok' }] },
        ]),
      ],
    }),
  },
  responses: {
    path: '/responses',
    image: (data) => ({
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE(data) }] }],
    }),
    images: (count) => ({
      input: [
        { role: 'user', content: many(count, () => ({ type: 'input_image', image_url: URL_OF_IMAGE })) },
      ],
    }),
    calls: (count) => ({
      input: [
        hi,
        ...pairs(count, (i) => [
          { type: 'function_call', call_id: `c${i}`, name: 'f', arguments: '{"a":1}' },
          { type: 'function_call_output', call_id: `c${i}`, output: 'ok' },
        ]),
      ],
    }),
  },
  gemini: {
    path: '/models/gpt-ok:generateContent',
    image: (data) => ({
      contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data } }] }],
    }),
    images: (count) => ({
      contents: [
        {
          role: 'user',
          parts: many(count, () => ({ fileData: { mimeType: 'image/png', fileUri: URL_OF_IMAGE } })),
        },
      ],
    }),
    calls: (count) => ({
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        ...pairs(count, (i) => [
          { role: 'model', parts: [{ functionCall: { id: `c${i}`, name: 'f', args: { a: 1 } } }] },
          {
            role: 'user',
            parts: [{ functionResponse: { id: `c${i}`, name: 'f', response: { result: 'ok' } } }],
          },
        ]),
      ],
    }),
  },
  converse: {
    path: '/model/gpt-ok/converse',
    image: (bytes) => asked([{ image: { format: 'png', source: { bytes } } }]),
    images: (count) => asked(many(count, () => ({ image: { format: 'png', source: { bytes: 'QUJD' } } }))),
    calls: (count) => ({
      messages: [
        { role: 'user', content: [{ text: 'hi' }] },
        ...pairs(count, (i) => [
          { role: 'assistant', content: [{ toolUse: { toolUseId: `c${i}`, name: 'f', input: { a: 1 } } }] },
          {
            role: 'user',
            content: [{ toolResult: { toolUseId: `c${i}`, content: [{ text: 'ok' }] } }],
          },
        ]),
      ],
    }),
  },
};

/** Largest first: what is refused for its size is asked for smaller, too. */
const LOADS: Readonly<Record<string, (door: Door, n: number) => Json>> = {
  'an image of 20 MB': (door, n) => door.image('QUJD'.repeat(5e6 / n)),
  '8,000 images': (door, n) => door.images(8000 / n),
  '3,000 calls and results': (door, n) => door.calls(3000 / n),
  '1,500 calls and results': (door, n) => door.calls(1500 / n),
};

const AWS = {
  api_key: undefined,
  aws_access_key_id: 'a',
  aws_secret_access_key: 'b',
  aws_region: 'us-east-1',
};
/** Wires by a provider that speaks each. */
const WIRES: Readonly<Record<string, Json>> = {
  openai: {},
  ollama: {},
  'mistral-ai': {},
  anthropic: {},
  google: {},
  bedrock: AWS,
  cohere: {},
};

/** What a provider answers, by its wire. */
const ANSWERS: Readonly<Record<string, Readonly<Record<string, (n: number) => Json>>>> = {
  openai: {
    '4,000 calls': (n) => chatAnswer({ content: null, tool_calls: many(4000 / n, chatCall) }, 'tool_calls'),
    '7 MB of thoughts': (n) =>
      chatAnswer({ content: 'x', reasoning_content: 'hello wo'.repeat(9e5 / n) }, 'stop'),
  },
  anthropic: {
    '6,000 calls': (n) =>
      anthropicAnswer(many(6000 / n, (i) => ({ type: 'tool_use', id: `t${i}`, name: 'f', input: { a: 1 } }))),
    '4,000 signed thoughts': (n) =>
      anthropicAnswer(
        many(4000 / n, (i) => ({ type: 'thinking', thinking: 'hm', signature: `${'s'.repeat(200)}${i}` })),
      ),
    'a signature of 6 MB': (n) =>
      anthropicAnswer([{ type: 'thinking', thinking: 'hm', signature: 'abcd'.repeat(1.5e6 / n) }]),
  },
  google: {
    '4,000 calls': (n) =>
      geminiAnswer(many(4000 / n, (i) => ({ functionCall: { id: `t${i}`, name: 'f', args: { a: 1 } } }))),
    '4,000 signed calls': (n) =>
      geminiAnswer(
        many(4000 / n, () => ({
          functionCall: { name: 'f', args: { a: 1 } },
          thoughtSignature: 's'.repeat(200),
        })),
      ),
    'an image of 6 MB': (n) =>
      geminiAnswer([{ inlineData: { mimeType: 'image/png', data: 'QUJD'.repeat(1.5e6 / n) } }]),
  },
  bedrock: {
    '4,000 calls': (n) =>
      converseAnswer(
        many(4000 / n, (i) => ({ toolUse: { toolUseId: `t${i}`, name: 'f', input: { a: 1 } } })),
      ),
  },
  cohere: {
    '4,000 calls': (n) => ({
      id: 'c',
      finish_reason: 'TOOL_CALL',
      message: { role: 'assistant', tool_calls: many(4000 / n, chatCall) },
      usage: { tokens: { input_tokens: 1, output_tokens: 1 } },
    }),
  },
};

function chatCall(i: number): Json {
  return { id: `t${i}`, type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
}

function chatAnswer(message: Json, finish_reason: string): Json {
  return {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

function anthropicAnswer(content: readonly Json[]): Json {
  return {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}

function geminiAnswer(parts: readonly Json[]): Json {
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
}

function converseAnswer(content: readonly Json[]): Json {
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: 'tool_use',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    metrics: { latencyMs: 1 },
  };
}

interface Tried {
  readonly name: string;
  /** Smaller by so many times for what is read once. @returns its status */
  send(gateway: GatewayProcess, smaller: number): Promise<number>;
}

const SMALL: Readonly<Record<string, Json>> = {
  openai: chatAnswer({ content: 'x' }, 'stop'),
  ollama: chatAnswer({ content: 'x' }, 'stop'),
  'mistral-ai': chatAnswer({ content: 'x' }, 'stop'),
  anthropic: anthropicAnswer([{ type: 'text', text: 'x' }]),
  google: geminiAnswer([{ text: 'x' }]),
  bedrock: converseAnswer([{ text: 'x' }]),
  cohere: {
    id: 'c',
    finish_reason: 'COMPLETE',
    message: { role: 'assistant', content: [{ type: 'text', text: 'x' }] },
  },
};
/** What a provider with the Responses API answers there. */
const RESPONSE: Json = {
  id: 'r',
  object: 'response',
  status: 'completed',
  output: [{ type: 'message', id: 'o', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }],
};
const GUARD = [
  {
    deny: true,
    checks: [{ id: 'contains', parameters: { words: ['zzz'], operator: 'none' } }],
  },
];
const WAYS: Readonly<Record<string, Json>> = {
  '': {},
  ', cached': { cache: { mode: 'simple' } },
  ', guarded': { output_guardrails: GUARD },
};

function* requests(host: string, answerWith: (answer: Json) => void): Generator<Tried> {
  for (const [wire, more] of Object.entries(WIRES))
    for (const [form, door] of Object.entries(DOORS))
      for (const [what, load] of Object.entries(LOADS))
        yield {
          name: `${what}, ${form} at ${wire}`,
          async send(gateway, n) {
            answerWith(SMALL[wire]!);
            const body = { model: 'gpt-ok', ...load(door, n) };
            return (await send(gateway, door.path, body, byConfig(host, { provider: wire, ...more }))).status;
          },
        };
}

function* answers(host: string, answerWith: (answer: Json) => void): Generator<Tried> {
  for (const [wire, loads] of Object.entries(ANSWERS))
    for (const [form, door] of Object.entries(DOORS))
      for (const [way, config] of Object.entries(WAYS))
        for (const [what, answer] of Object.entries(loads))
          yield {
            name: `an answer of ${what}, ${wire} as ${form}${way}`,
            async send(gateway, n) {
              answerWith(answer(n));
              const body = { model: 'gpt-ok', ...door.calls(1) };
              const headers = byConfig(host, { provider: wire, ...WIRES[wire], ...config });
              return (await send(gateway, door.path, body, headers)).status;
            },
          };
}

const scenario: Scenario = {
  name: 'heavy-translations',
  attack:
    'callers send images of 20 MB, thousands of images and of calls in each form to each wire, and providers answer with thousands of calls and of signed thoughts for each form',
  bound: 'no turn over 50 ms, the first call of a process included; every call has an answer, and no 500',
  test: 'test/inference/pipeline/long-requests.test.ts',
  async run(lab) {
    let answer = '';
    const server = http.createServer((req, res) => {
      req.resume().on('end', () => {
        const native = req.url?.endsWith('/responses') === true;
        res
          .writeHead(200, { 'content-type': 'application/json' })
          .end(native ? JSON.stringify(RESPONSE) : answer);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    lab.onEnd(() => void server.close());
    const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answerWith = (json: Json): void => {
      answer = JSON.stringify(json);
    };
    const all = [...requests(host, answerWith), ...answers(host, answerWith)].filter(({ name }) =>
      name.includes(ONLY ?? ''),
    );
    const statuses = new Map<number, number>();
    const failed: string[] = [];
    const longest = async (gateway: GatewayProcess, some: readonly Tried[]) => {
      let worst = { ms: 0, name: '' };
      for (const { name, send } of some) {
        const status = await send(gateway, 1).catch(() => 0);
        const ms = await gateway.longestTurnMs();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 0 || status === 500) failed.push(`${name} (${status})`);
        if (ms > 50 || ONLY !== undefined)
          console.log(`  ${ms.toFixed(0).padStart(6)} ms  ${status}  ${name}`);
        if (ms > worst.ms) worst = { ms, name };
      }
      return worst;
    };
    const firsts = { ms: 0, name: '' };
    const cold = all.filter((_, i) => i % FIRSTS === 0);
    for (const one of cold) {
      const gateway = await lab.startGateway({}, { nodeOptions: process.env.CHAOS_NODE?.split(' ') ?? [] });
      const first = await longest(gateway, [one]);
      if (first.ms > firsts.ms) Object.assign(firsts, first);
      await gateway.child.stop();
    }
    const gateway = await lab.startGateway();
    // What is compiled and read once is not counted here.
    for (const one of all) await one.send(gateway, 100).catch(() => 0);
    await gateway.longestTurnMs();
    const later = await longest(gateway, all);
    const told = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ');
    return [
      atMost(`longest turn of ${cold.length} first calls of a process (${firsts.name})`, firsts.ms, 50, 'ms'),
      atMost(`longest turn of ${all.length} calls (${later.name})`, later.ms, 50, 'ms'),
      isTrue('every call has an answer, none is a 500', failed.length === 0, failed.join() || told),
      isTrue('a caller is answered', await gateway.healthy()),
    ];
  },
};
export default scenario;
