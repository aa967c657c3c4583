// Embeddings, moderations and models, over every protocol.

import { Code } from '@connectrpc/connect';
import test from 'ava';
import { EmbeddingsService } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import { ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import { ModerationsService } from '../../gen/gateway/inference/v2/moderations_pb.ts';
import {
  type Bench,
  bad,
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

const embed = EmbeddingsService.method.createEmbeddings;
const moderate = ModerationsService.method.createModeration;
const { listModels, getModel } = ModelsService.method;
const NAMES = [
  'hate',
  'hate/threatening',
  'harassment',
  'harassment/threatening',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
];

const embedded = (name: string, input: Json, vectors: number): Case => ({
  name: `embeddings of ${name}`,
  method: embed,
  body: { model: 'embed-ok', input },
  check: (t, answer) => {
    t.deepEqual(sentJson(t, answer), { model: 'embed-ok', input });
    t.regex(answer.sent[0]!.url, /\/embeddings$/);
    t.deepEqual(answer.json, {
      object: 'list',
      data: Array.from({ length: vectors }, (_, index) => ({
        object: 'embedding',
        index,
        embedding: [0.1, -0.25, 3],
      })),
      model: 'embed-ok',
      usage: { prompt_tokens: 5, total_tokens: 5 },
    });
  },
});

const noInput = (name: string, input: Json | undefined): Case => ({
  name: `embeddings of ${name} are refused`,
  method: embed,
  body: input === undefined ? { model: 'm' } : { model: 'm', input },
  ...(input === undefined ? {} : { over: ['rest' as const] }),
  refused: invalid('input'),
});

const moderated = (name: string, body: JsonObject, sent: JsonObject, results: number): Case => ({
  name: `moderation of ${name}`,
  method: moderate,
  body,
  check: (t, answer) => {
    t.deepEqual(sentJson(t, answer), sent);
    t.is(answer.json.model, sent.model!);
    t.is((answer.json.results as Json[]).length, results);
    for (const result of answer.json.results as JsonObject[]) {
      t.is(result.flagged, true);
      t.deepEqual(Object.keys(result.categories as object), NAMES);
      t.deepEqual(Object.keys(result.category_scores as object), NAMES);
      t.is((result.categories as JsonObject).violence, true);
      t.is((result.categories as JsonObject)['hate/threatening'], false);
      t.is((result.category_scores as JsonObject)['self-harm/intent'], 0.05);
    }
  },
});

const LATEST = 'text-moderation-latest';

const CASES: Case[] = [
  embedded('a text', 'hello', 1),
  embedded('texts', ['a', 'b'], 2),
  embedded('tokens', [1, 2, 3], 3),
  embedded('token lists', [[1], [2, 3]], 2),
  {
    name: 'embeddings as base64',
    method: embed,
    body: { model: 'embed-ok', input: 'x', encoding_format: 'base64', dimensions: 3, user: 'u', vendor: [1] },
    check: (t, answer) => {
      t.deepEqual(sentJson(t, answer), {
        model: 'embed-ok',
        input: 'x',
        encoding_format: 'base64',
        dimensions: 3,
        user: 'u',
        vendor: [1],
      });
      const base64 = (answer.json.data as JsonObject[])[0]!.embedding;
      t.is(base64, Buffer.from(new Float32Array([0.1, -0.25, 3]).buffer).toString('base64'));
    },
  },
  noInput('nothing', undefined),
  noInput('null', null),
  noInput('a number', 5),
  noInput('an object', { text: 'x' }),
  { ...noInput('mixed lists', ['a', 1]), refused: invalid('input[1]', 'must be a string') },
  {
    name: 'embeddings of no dimensions are refused',
    method: embed,
    body: { model: 'm', input: 'x', dimensions: 0 },
    refused: invalid('dimensions', /greater than or equal/),
  },
  {
    name: 'embeddings without a model are refused',
    method: embed,
    body: { input: 'x' },
    refused: bad('model_missing', 'model'),
  },

  moderated('a text, with the default model', { input: 'x' }, { input: 'x', model: LATEST }, 1),
  moderated('a text, with a null model', { input: 'x', model: null }, { input: 'x', model: LATEST }, 1),
  moderated(
    'a text, with the stable model',
    { input: 'x', model: 'text-moderation-stable' },
    { input: 'x', model: 'text-moderation-stable' },
    1,
  ),
  moderated(
    'texts, with another model',
    { input: ['a', 'b'], model: 'omni-moderation-latest' },
    { input: ['a', 'b'], model: 'omni-moderation-latest' },
    2,
  ),
  moderated(
    'parts',
    {
      input: [
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      ],
    },
    {
      input: [
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      ],
      model: LATEST,
    },
    2,
  ),
  { name: 'moderation of nothing is refused', method: moderate, body: {}, refused: invalid('input') },
  {
    name: 'moderation of a number is refused',
    method: moderate,
    body: { input: 7 },
    over: ['rest'],
    refused: invalid('input', 'must be a string'),
  },
  {
    name: 'moderation with an empty model is refused',
    method: moderate,
    body: { input: 'x', model: '' },
    refused: invalid('model'),
  },

  {
    name: 'the list of models names its provider',
    method: listModels,
    check: (t, answer) => {
      t.deepEqual(answer.json, {
        object: 'list',
        data: [
          {
            id: 'gpt-ok',
            object: 'model',
            created: 1,
            owned_by: 'fake',
            provider: 'openai',
            extra_member: [1],
          },
        ],
      });
      t.is(answer.sent.length, 1);
      t.is(answer.sent[0]!.method, 'GET');
      t.regex(answer.sent[0]!.url, /^\/case-\d+\/models$/);
    },
  },
  {
    name: 'a page of models',
    method: listModels,
    body: { after: 'gpt a/b', limit: 1000 },
    check: (t, answer) => t.regex(answer.sent[0]!.url, /\/models\?after=gpt(\+|%20)a%2Fb&limit=1000$/),
  },
  {
    name: 'a page of no models is refused',
    method: listModels,
    body: { limit: 0 },
    refused: invalid('limit', /greater than or equal/),
  },
  {
    name: 'a page of too many models is refused',
    method: listModels,
    body: { limit: 1001 },
    refused: invalid('limit', /less than or equal/),
  },
  {
    name: 'a page of x models is refused',
    method: listModels,
    path: '/models?limit=x',
    over: ['rest'],
    refused: invalid('limit', 'must be a whole number'),
  },
  {
    name: 'an unknown parameter of models is refused',
    method: listModels,
    path: '/models?colour=red',
    over: ['rest'],
    refused: invalid('colour', 'is not a parameter'),
  },
  {
    name: 'a parameter given twice is refused',
    method: listModels,
    path: '/models?limit=1&limit=2',
    over: ['rest'],
    refused: invalid('limit', 'once'),
  },
  {
    name: 'one model',
    method: getModel,
    body: { model: 'gpt-4o' },
    check: (t, answer) => {
      t.deepEqual(answer.json, {
        id: 'gpt-4o',
        object: 'model',
        created: 1,
        owned_by: 'fake',
        provider: 'openai',
        extra_member: { a: [1] },
      });
      t.regex(answer.sent[0]!.url, /\/models\/gpt-4o$/);
    },
  },
  {
    name: 'one model whose name has slashes',
    method: getModel,
    body: { model: 'meta-llama/Llama-3.3/70B' },
    check: (t, answer) => t.is(answer.json.id, 'meta-llama/Llama-3.3/70B'),
  },
  {
    name: 'one model whose name has slashes that are encoded',
    method: getModel,
    body: { model: 'a/b' },
    path: '/models/a%2Fb',
    over: ['rest'],
    check: (t, answer) => t.is(answer.json.id, 'a/b'),
  },
  {
    name: 'a model’s broken percent-encoding is refused',
    method: getModel,
    path: '/models/%zz',
    over: ['rest'],
    refused: invalid('model', 'percent-encoding'),
  },
  {
    name: 'a model that is not there keeps the provider’s status',
    method: getModel,
    body: { model: 'absent-1' },
    refused: {
      status: 404,
      code: Code.NotFound,
      reason: 'upstream_status',
      errorCode: 'model_not_found',
      param: 'model',
      message: 'does not exist',
      provider: 'openai',
      upstream: true,
    },
  },
  {
    name: 'a model’s name cannot climb out of its path',
    method: getModel,
    body: { model: '../../admin?x=#' },
    over: ['connect', 'grpc'],
    refused: invalid('model'),
  },
  {
    name: 'a model’s name is no query',
    method: getModel,
    body: { model: 'a?x=1#y' },
    check: (t, answer) => {
      t.is(answer.json.id, 'a?x=1#y');
      t.regex(answer.sent[0]!.url, /\/models\/a%3Fx%3D1%23y$/);
    },
  },
];

runCases(test, () => bench, CASES);
