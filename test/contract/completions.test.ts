// Text completions: every row and limit of the specification's table, over every protocol.
import test from 'ava';
import { CompletionsService } from '../../gen/gateway/inference/v2/completions_pb.ts';
import {
  type Bench,
  type Case,
  invalid,
  type Json,
  type JsonObject,
  runCases,
  sentJson,
  startBench,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = CompletionsService.method.createCompletion;
const BASE: JsonObject = { model: 'gpt-ok', prompt: 'Say hello' };

/** A value that must be accepted and reach the provider as it is. */
const accepted = (field: string, value: Json, more: JsonObject = {}): Case => ({
  name: `${field}: ${show(value)}${showMore(more)} is accepted`,
  method,
  body: { ...BASE, ...more, [field]: value },
  check: (t, answer) => {
    t.deepEqual(sentJson(t, answer)[field], value);
    t.is(answer.json.object, 'text_completion');
  },
});

/** A value that breaks a limit: every protocol can say it. */
const refused = (field: string, value: Json, message: string | RegExp, more: JsonObject = {}): Case => ({
  name: `${field}: ${show(value)}${showMore(more)} is refused`,
  method,
  body: { ...BASE, ...more, [field]: value },
  refused: invalid(field, message),
});

/** A value of the wrong JSON type: only JSON can say it. */
const wrongType = (
  field: string,
  value: Json,
  message: string | RegExp = 'must be',
  param = field,
): Case => ({
  name: `${field}: ${show(value)} is of the wrong type`,
  method,
  body: { ...BASE, [field]: value },
  over: ['rest'],
  refused: invalid(param, message),
});

const show = (value: Json): string => JSON.stringify(value).slice(0, 60);
const showMore = (more: JsonObject): string => (Object.keys(more).length === 0 ? '' : ` with ${show(more)}`);

const numbers = (field: string, low: number, high: number, step: number, more: JsonObject = {}): Case[] => [
  accepted(field, low, more),
  accepted(field, high, more),
  refused(field, low - step, /must be greater than or equal to/),
  refused(field, high + step, /less than or equal to/),
  wrongType(field, String(low)),
  wrongType(field, true),
  wrongType(field, [low]),
  wrongType(field, { value: low }),
];

const CASES: Case[] = [
  {
    name: 'the answer is the specification’s',
    method,
    body: BASE,
    check: (t, answer) => {
      t.deepEqual(answer.json, {
        id: 'cmpl-1',
        object: 'text_completion',
        created: 1700000000,
        model: 'gpt-ok',
        choices: [{ index: 0, text: 'Hello, wörld! 👋', logprobs: null, finish_reason: 'stop' }],
        usage: {
          prompt_tokens: 11,
          completion_tokens: 7,
          total_tokens: 18,
          prompt_tokens_details: { cached_tokens: 3 },
        },
      });
      t.deepEqual(sentJson(t, answer), BASE);
      t.is(answer.sent[0]!.method, 'POST');
      t.regex(answer.sent[0]!.url, /^\/case-\d+\/completions$/);
      t.is(answer.headers.get('x-gateway-provider'), 'openai');
    },
  },
  // model
  { name: 'model: absent is refused', method, body: { prompt: 'x' }, refused: invalid('model') },
  { name: 'model: empty is refused', method, body: { ...BASE, model: '' }, refused: invalid('model') },
  {
    name: 'model: null is refused',
    method,
    body: { ...BASE, model: null },
    over: ['rest'],
    refused: invalid('model'),
  },
  wrongType('model', 7, 'must be a string'),
  wrongType('model', ['gpt-ok'], 'must be a string'),
  // prompt
  accepted('prompt', ''),
  accepted('prompt', 'one'),
  accepted('prompt', ['one', 'two']),
  accepted('prompt', [1, 2, 3]),
  accepted('prompt', [[1, 2], [3]]),
  wrongType('prompt', 7, /must be a string/),
  wrongType('prompt', true),
  wrongType('prompt', { text: 'x' }),
  wrongType('prompt', ['one', 2], 'must be a string', 'prompt[1]'),
  wrongType('prompt', [1, 'two'], 'must be a whole number', 'prompt[1]'),
  wrongType('prompt', [1.5], 'must be a whole number', 'prompt[0]'),
  wrongType('prompt', [[1], ['x']], 'must be a whole number', 'prompt[1][0]'),
  wrongType('prompt', [[1], 2], 'must be an array', 'prompt[1]'),
  wrongType('prompt', [null]),
  {
    name: 'prompt: absent is forwarded as absent',
    method,
    body: { model: 'gpt-ok' },
    check: (t, answer) => t.deepEqual(sentJson(t, answer), { model: 'gpt-ok' }),
  },
  // best_of
  accepted('best_of', 0),
  accepted('best_of', 20),
  refused('best_of', -1, /greater than or equal to/),
  refused('best_of', 21, /less than or equal to/),
  wrongType('best_of', 1.5, 'must be a whole number'),
  wrongType('best_of', '2'),
  accepted('best_of', 3, { n: 2 }),
  refused('best_of', 2, 'must be greater than n', { n: 2 }),
  refused('best_of', 1, 'must be greater than n', { n: 2 }),
  refused('best_of', 3, 'cannot be streamed', { stream: true }),
  // echo
  accepted('echo', true),
  accepted('echo', false),
  wrongType('echo', 'true', 'must be true or false'),
  wrongType('echo', 1),
  // penalties
  ...numbers('frequency_penalty', -2, 2, 0.001),
  ...numbers('presence_penalty', -2, 2, 0.001),
  // logit_bias
  accepted('logit_bias', { '50256': -100, '11': 100, '12': 0.5 }),
  accepted('logit_bias', {}),
  {
    name: 'logit_bias: over 100 is refused',
    method,
    body: { ...BASE, logit_bias: { '11': 100.5 } },
    refused: invalid('logit_bias["11"]', /less than or equal to/),
  },
  {
    name: 'logit_bias: under -100 is refused',
    method,
    body: { ...BASE, logit_bias: { '11': -100.5 } },
    refused: invalid('logit_bias["11"]', /greater than or equal to/),
  },
  wrongType('logit_bias', [1], 'must be an object'),
  wrongType('logit_bias', { '11': 'x' }, 'must be a number', 'logit_bias.11'),
  wrongType('logit_bias', { '11': null }, 'must be a number', 'logit_bias.11'),
  // logprobs
  ...numbers('logprobs', 0, 5, 1),
  wrongType('logprobs', 2.5, 'must be a whole number'),
  // max_tokens
  accepted('max_tokens', 0),
  accepted('max_tokens', 1),
  accepted('max_tokens', 4_000_000_000),
  refused('max_tokens', -1, /greater than or equal to/),
  wrongType('max_tokens', 1.5, 'must be a whole number'),
  wrongType('max_tokens', '16'),
  // n
  ...numbers('n', 1, 128, 1),
  wrongType('n', 1.5, 'must be a whole number'),
  // seed
  accepted('seed', 0),
  accepted('seed', -42),
  accepted('seed', 9223372036854776000),
  accepted('seed', -9223372036854776000),
  refused('seed', 9223372036854780000, /less than or equal to/),
  refused('seed', -9223372036854780000, /greater than or equal to/),
  refused('seed', 1.5, 'whole number'),
  wrongType('seed', '7'),
  // stop
  accepted('stop', 'END'),
  accepted('stop', ['a']),
  accepted('stop', ['a', 'b', 'c', 'd']),
  accepted('stop', []),
  refused('stop', ['a', 'b', 'c', 'd', 'e'], 'no more than 4'),
  wrongType('stop', 7),
  wrongType('stop', [1]),
  wrongType('stop', ['a', 1], 'must be a string', 'stop[1]'),
  // stream
  wrongType('stream', 'true', 'must be true or false'),
  wrongType('stream', 1),
  {
    name: 'stream: true answers in pieces of the same shape',
    method,
    body: { ...BASE, stream: true },
    check: (t, answer) => {
      t.true(answer.complete);
      const texts = answer.events.map(({ choices }) => ((choices as JsonObject[])[0] as JsonObject).text);
      t.deepEqual(texts, ['Hello', ', ', 'wörld', '']);
      for (const event of answer.events) t.is(event.object, 'text_completion');
      const last = answer.events.at(-1)!;
      t.is((last.choices as JsonObject[])[0]!.finish_reason, 'stop');
      t.is(sentJson(t, answer).stream, true);
    },
  },
  {
    name: 'stream: false answers whole',
    method,
    body: { ...BASE, stream: false },
    check: (t, answer) => t.is(answer.json.id, 'cmpl-1'),
  },
  // stream_options
  {
    name: 'stream_options: only when stream is true',
    method,
    body: { ...BASE, stream_options: { include_usage: true } },
    refused: invalid('stream_options', 'only when stream is true'),
  },
  {
    name: 'stream_options: refused when stream is false',
    method,
    body: { ...BASE, stream: false, stream_options: {} },
    refused: invalid('stream_options'),
  },
  {
    name: 'stream_options: usage that was asked for is given',
    method,
    body: { ...BASE, stream: true, stream_options: { include_usage: true } },
    check: (t, answer) => {
      t.deepEqual(sentJson(t, answer).stream_options, { include_usage: true });
      t.is((answer.events.at(-1)!.usage as JsonObject).total_tokens, 18);
    },
  },
  {
    name: 'stream_options: usage that was not asked for is kept back',
    method,
    body: { ...BASE, stream: true },
    check: (t, answer) => {
      t.deepEqual(sentJson(t, answer).stream_options, { include_usage: true });
      for (const event of answer.events) t.false('usage' in event);
    },
  },
  wrongType('stream_options', 'x', 'must be an object'),
  // suffix, user
  accepted('suffix', ' the end'),
  wrongType('suffix', 7, 'must be a string'),
  accepted('user', 'user-1'),
  wrongType('user', { id: 1 }, 'must be a string'),
  // temperature, top_p
  ...numbers('temperature', 0, 2, 0.001),
  ...numbers('top_p', 0, 1, 0.001),
  // several at once
  {
    name: 'every broken field is listed',
    method,
    body: { ...BASE, temperature: 3, top_p: -1, n: 0 },
    refused: invalid('n', /temperature.*top_p|n: .*temperature/s),
  },
  {
    name: 'every wrong type is listed',
    method,
    body: { ...BASE, temperature: 'hot', top_p: [], n: {} },
    over: ['rest'],
    refused: invalid('temperature', /temperature: .*; top_p: .*; n: /),
  },
  // members that the contract does not name
  {
    name: 'unknown members go on to the provider',
    method,
    body: { ...BASE, vendor_option: { a: [1, null, 'x'], b: { c: true } }, top_k: 5 },
    check: (t, answer) =>
      t.deepEqual(sentJson(t, answer), {
        ...BASE,
        vendor_option: { a: [1, null, 'x'], b: { c: true } },
        top_k: 5,
      }),
  },
  {
    name: 'null members go on as null',
    method,
    body: { ...BASE, temperature: null, stop: null, logit_bias: null, suffix: null, n: null, prompt: null },
    check: (t, answer) =>
      t.deepEqual(sentJson(t, answer), {
        model: 'gpt-ok',
        prompt: null,
        temperature: null,
        stop: null,
        logit_bias: null,
        suffix: null,
        n: null,
      }),
  },
];

runCases(test, () => bench, CASES);
