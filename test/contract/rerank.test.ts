// Rerank, over every protocol.
import test from 'ava';
import { RerankService } from '../../gen/gateway/inference/v2/rerank_pb.ts';
import { type Bench, type Case, invalid, type Json, runCases, sentJson, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const { createRerank } = RerankService.method;
const ASKED = { model: 'rerank-ok', query: 'q', documents: ['a', { text: 'b', id: '2' }] };
const jina = { 'x-gateway-provider': 'jina' };

const refused = (name: string, change: Record<string, Json>, field: string): Case => ({
  name: `rerank with ${name} is refused`,
  method: createRerank,
  headers: jina,
  body: { ...ASKED, ...change },
  refused: invalid(field),
});

const CASES: Case[] = [
  {
    name: 'rerank goes out as it came, and comes back in the common shape',
    method: createRerank,
    headers: jina,
    body: { ...ASKED, top_n: 2, vendor: [1] },
    check: (t, answer) => {
      t.regex(answer.sent[0]!.url, /\/rerank$/);
      t.deepEqual(sentJson(t, answer), { ...ASKED, top_n: 2, vendor: [1] });
      t.deepEqual(answer.json, {
        id: 'rr-1',
        object: 'list',
        model: 'rerank-ok',
        results: [
          { index: 1, relevance_score: 0.2 },
          { index: 0, relevance_score: 0.1 },
        ],
        usage: { prompt_tokens: 9, total_tokens: 9 },
      });
    },
  },
  {
    name: 'rerank gives the documents back, although the provider does not',
    method: createRerank,
    headers: jina,
    body: { ...ASKED, return_documents: true },
    check: (t, { json }) =>
      t.deepEqual(json.results, [
        { index: 1, relevance_score: 0.2, document: { text: 'b', id: '2' } },
        { index: 0, relevance_score: 0.1, document: { text: 'a' } },
      ]),
  },
  {
    name: 'rerank under the names of another provider',
    method: createRerank,
    headers: { 'x-gateway-provider': 'voyage' },
    body: { ...ASKED, documents: ['a'], top_n: 1 },
    check: (t, answer) =>
      t.deepEqual(sentJson(t, answer), { model: 'rerank-ok', query: 'q', documents: ['a'], top_k: 1 }),
  },
  {
    name: 'rerank of documents without a text is refused where the provider takes texts only',
    method: createRerank,
    headers: { 'x-gateway-provider': 'cohere' },
    body: { ...ASKED, documents: ['a', { title: 'b' }] },
    refused: invalid('documents[1].text'),
  },
  {
    name: 'rerank of a model that the cloud does not rerank with is refused',
    method: createRerank,
    headers: {
      'x-gateway-provider': 'bedrock',
      'x-gateway-aws-region': 'us-east-1',
      'x-gateway-aws-access-key-id': 'AKIDEXAMPLE',
      'x-gateway-aws-secret-access-key': 'secret',
      authorization: undefined,
    },
    body: ASKED,
    refused: invalid('model'),
  },
  refused('an empty query', { query: '' }, 'query'),
  refused('no documents', { documents: [] }, 'documents'),
  refused('too many documents', { documents: new Array(10_001).fill('a') }, 'documents'),
  refused('no results', { top_n: 0 }, 'top_n'),
  { ...refused('a document that is a number', { documents: ['a', 1] }, 'documents[1]'), over: ['rest'] },
];

runCases(test, () => bench, CASES);
