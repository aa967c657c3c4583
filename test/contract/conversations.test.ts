// Conversations of the Responses API over every protocol: relayed to a provider that has them, refused by name, logged.
import test from 'ava';
import OpenAI from 'openai';
import { ConversationsService } from '../../gen/gateway/inference/v2/conversations_pb.ts';
import { ResponsesService } from '../../gen/gateway/inference/v2/responses_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Bench,
  exchange,
  type JsonObject,
  PROTOCOLS,
  runCases,
  sentJson,
  startBench,
} from './runner.ts';

const {
  createConversation,
  getConversation,
  updateConversation,
  deleteConversation,
  listConversationItems,
  createConversationItems,
  getConversationItem,
  deleteConversationItem,
} = ConversationsService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const ID = 'conv_1';
const item: JsonObject = { type: 'message', role: 'user', content: 'hi' };
const many = (count: number): JsonObject[] => Array.from({ length: count }, () => item);
const pairs = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v']));

const CREATE = createConversation;
const REFUSED = [
  ['17 pairs of metadata', CREATE, { metadata: pairs }, 'metadata'],
  ['a long name', CREATE, { metadata: { ['k'.repeat(65)]: 'v' } }, `metadata["${'k'.repeat(65)}"]`],
  ['a long value', CREATE, { metadata: { k: 'v'.repeat(513) } }, 'metadata["k"]'],
  ['21 first items', CREATE, { items: many(21) }, 'items'],
  ['an unknown role', CREATE, { items: [{ ...item, role: 'king' }] }, 'items[0].role'],
  [
    'a long value that changes',
    updateConversation,
    { conversation_id: ID, metadata: { k: 'v'.repeat(513) } },
    'metadata["k"]',
  ],
  ['21 more items', createConversationItems, { conversation_id: ID, items: many(21) }, 'items'],
  ['no items', createConversationItems, { conversation_id: ID, items: [] }, 'items'],
  ['a limit of 0', listConversationItems, { conversation_id: ID, limit: 0 }, 'limit'],
  ['a limit of 101', listConversationItems, { conversation_id: ID, limit: 101 }, 'limit'],
  ['an unknown order', listConversationItems, { conversation_id: ID, order: 'up' }, 'order'],
  ['a long cursor', listConversationItems, { conversation_id: ID, after: 'a'.repeat(513) }, 'after'],
  ['a long id', getConversation, { conversation_id: 'c'.repeat(513) }, 'conversation_id'],
  ['a long item', getConversationItem, { conversation_id: ID, item_id: 'i'.repeat(513) }, 'item_id'],
] as const;

const without = { 'x-gateway-provider': 'groq' };
const CALLS = [
  [createConversation, {}],
  [getConversation, { conversation_id: ID }],
  [updateConversation, { conversation_id: ID, metadata: { a: 'b' } }],
  [deleteConversation, { conversation_id: ID }],
  [listConversationItems, { conversation_id: ID }],
  [createConversationItems, { conversation_id: ID, items: many(1) }],
  [getConversationItem, { conversation_id: ID, item_id: 'msg_1' }],
  [deleteConversationItem, { conversation_id: ID, item_id: 'msg_1' }],
] as const;

runCases(test, () => bench, [
  ...REFUSED.map(([name, method, body, param]) => ({
    name: `refused: ${name}`,
    method,
    body: body as JsonObject,
    refused: { status: 400, code: 3, reason: 'validation_failed' as const, param },
  })),
  ...CALLS.map(([method, body]) => ({
    name: `${method.name}: a provider without conversations`,
    method,
    body: body as JsonObject,
    headers: without,
    refused: {
      status: 400,
      code: 12,
      reason: 'operation_unsupported' as const,
      provider: 'groq',
      message: /groq does not offer \w*[Cc]onversation/,
    },
  })),
  ...['groq', 'deepseek', 'anthropic', 'openai-compatible'].map((provider) => ({
    name: `responses of ${provider}: a conversation is refused by name`,
    method: ResponsesService.method.createResponse,
    body: { model: 'm', input: 'hi', conversation: ID },
    config: (host: string) => ({ provider, api_key: 'sk-provider-secret-0123456789', custom_host: host }),
    refused: {
      status: 400,
      code: 3 as const,
      reason: 'validation_failed' as const,
      param: 'conversation',
    },
  })),
  {
    name: 'responses of openai: a conversation goes along',
    method: ResponsesService.method.createResponse,
    body: { model: 'm', input: 'hi', conversation: ID },
    check: (t, answer) => t.is(sentJson(t, answer).conversation, ID),
  },
]);

interface Step {
  readonly verb: string;
  readonly path: string;
  readonly answer: JsonObject;
  readonly method: (typeof CALLS)[number][0];
  readonly body: JsonObject;
  readonly sent?: JsonObject;
}

const conversation: JsonObject = {
  id: ID,
  object: 'conversation',
  created_at: 1_700_000_000,
  metadata: { a: 'b' },
};
const message: JsonObject = { ...item, id: 'msg_1', status: 'completed', phase: 'final_answer' };
const page: JsonObject = {
  object: 'list',
  data: [message],
  first_id: 'msg_1',
  last_id: 'msg_1',
  has_more: false,
};
const given: JsonObject = { items: [item], metadata: { a: 'b' }, vendor: { x: [1] } };
const STEPS: readonly Step[] = [
  {
    verb: 'POST',
    path: '/conversations',
    answer: conversation,
    method: createConversation,
    body: given,
    sent: given,
  },
  {
    verb: 'GET',
    path: `/conversations/${ID}`,
    answer: conversation,
    method: getConversation,
    body: { conversation_id: ID },
  },
  {
    verb: 'POST',
    path: `/conversations/${ID}`,
    answer: conversation,
    method: updateConversation,
    body: { conversation_id: ID, metadata: { a: 'b' } },
    sent: { metadata: { a: 'b' } },
  },
  {
    verb: 'POST',
    path: `/conversations/${ID}/items`,
    answer: page,
    method: createConversationItems,
    body: { conversation_id: ID, items: many(20) },
    sent: { items: many(20) },
  },
  {
    verb: 'GET',
    path: `/conversations/${ID}/items?after=msg_0&limit=100&order=asc&include=a.b`,
    answer: page,
    method: listConversationItems,
    body: { conversation_id: ID, after: 'msg_0', limit: 100, order: 'asc', include: ['a.b'] },
  },
  {
    verb: 'GET',
    path: `/conversations/${ID}/items/msg_1?include=a.b`,
    answer: message,
    method: getConversationItem,
    body: { conversation_id: ID, item_id: 'msg_1', include: ['a.b'] },
  },
  {
    verb: 'DELETE',
    path: `/conversations/${ID}/items/msg_1`,
    answer: conversation,
    method: deleteConversationItem,
    body: { conversation_id: ID, item_id: 'msg_1' },
  },
  {
    verb: 'DELETE',
    path: `/conversations/${ID}`,
    answer: { id: ID, object: 'conversation.deleted', deleted: true },
    method: deleteConversation,
    body: { conversation_id: ID },
  },
];

for (const protocol of PROTOCOLS) {
  test(`a conversation lives at its provider [${protocol}]`, async (t) => {
    for (const { verb, path, answer, method, body, sent } of STEPS) {
      const prefix = bench.mark();
      bench.provider.next(`${prefix}${path.split('?')[0]!}`, (_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(JSON.stringify(answer));
      });
      const { json } = await exchange(bench, { method, body }, protocol, prefix);
      t.deepEqual(json, answer, method.name);
      const [call, ...more] = bench.sentTo(prefix);
      t.is(more.length, 0);
      t.like(call, { method: verb, url: `${prefix}${path}` });
      if (sent === undefined) t.is(call?.body.length, 0);
      else t.deepEqual(JSON.parse(String(call?.body)), sent);
    }
  });
}

test('OpenAI’s own client keeps a conversation', async (t) => {
  const prefix = bench.mark();
  const says = (path: string, value: JsonObject): void =>
    bench.provider.next(`${prefix}${path}`, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify(value));
    });
  const { authorization: _, ...headers } = bench.headers(prefix);
  const sdk = new OpenAI({
    apiKey: 'sk-provider',
    baseURL: `${bench.gateway.origin}/v1`,
    maxRetries: 0,
    defaultHeaders: { ...headers, 'x-gateway-api-key': WORKSPACE_KEY },
  });
  says('/conversations', conversation);
  const made = await sdk.conversations.create({ metadata: { a: 'b' } });
  t.is(made.id, ID);
  says(`/conversations/${ID}/items`, page);
  const added = await sdk.conversations.items.create(ID, {
    items: [{ role: 'user', content: 'hi' }],
  });
  t.is(added.data[0]?.id, 'msg_1');
  says(`/conversations/${ID}/items`, page);
  const listed: string[] = [];
  for await (const one of sdk.conversations.items.list(ID, {
    limit: 5,
    order: 'asc',
    include: ['reasoning.encrypted_content'],
  }))
    listed.push(String(one.id));
  t.deepEqual(listed, ['msg_1']);
  t.is(
    bench.sentTo(prefix).at(-1)?.url,
    `${prefix}/conversations/${ID}/items?limit=5&order=asc&include=reasoning.encrypted_content`,
  );
  says(`/conversations/${ID}/items/msg_1`, conversation);
  t.is((await sdk.conversations.items.delete('msg_1', { conversation_id: ID })).id, ID);
  says(`/conversations/${ID}`, { id: ID, object: 'conversation.deleted', deleted: true });
  t.true((await sdk.conversations.delete(ID)).deleted);
});
