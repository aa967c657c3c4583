// The catalogue of providers over every protocol.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { ProviderCatalogueService } from '../../gen/gateway/admin/v2/provider_catalogue_pb.ts';
import { providers } from '../../src/providers/catalog/registry.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { type Bench, type Case, type JsonObject, raw, runCases, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = ProviderCatalogueService.method.listProviderCatalogue;
const find = (json: JsonObject, id: string): JsonObject =>
  (json.data as JsonObject[]).find((provider) => provider.id === id) as JsonObject;

const cases: readonly Case[] = [
  {
    name: 'every provider is listed, in the order of ids, with options and operations',
    method,
    check(t, { json }) {
      t.is(json.object, 'list');
      t.is(json.total, providers.length);
      const ids = (json.data as JsonObject[]).map(({ id }) => String(id));
      t.deepEqual(ids, [...ids].sort());
      t.deepEqual(ids, providers.map(({ id }) => id).sort());
      const google = find(json, 'google');
      t.is(google.name, 'Google Gemini');
      t.deepEqual(google.operations, [
        'chat',
        'messages',
        'responses',
        'generateContent',
        'countContentTokens',
        'embedContent',
        'batchEmbedContents',
        'converse',
        'invokeModel',
        'embeddings',
        'images',
        'models',
        'model',
      ]);
      t.deepEqual(google.features, ['stream', 'pass_through']);
      const cortex = find(json, 'cortex');
      const [account] = cortex.options as JsonObject[];
      t.like(account, { name: 'snowflake_account', header: 'x-gateway-snowflake-account', required: true });
      t.like(find(json, 'triton'), { custom_host_required: true, keyless: true });
      t.regex(String(find(json, 'palm').note), /use the provider google/);
      t.deepEqual(find(json, 'replicate').features, ['pass_through']);
    },
  },
  {
    name: 'providers of one operation',
    method,
    body: { operation: 'moderations' },
    headers: { 'x-gateway-api-key': ADMIN_KEY },
    check(t, { json }) {
      const ids = (json.data as JsonObject[]).map(({ id }) => id);
      t.true(ids.includes('openai'));
      t.false(ids.includes('google'));
      t.is(json.total, ids.length);
    },
  },
  {
    name: 'an operation that does not exist',
    method,
    body: { operation: 'flight' },
    refused: {
      status: 400,
      code: Code.InvalidArgument,
      reason: 'validation_failed',
      param: 'operation',
      message: 'must be one of chat',
    },
  },
  {
    name: 'a stranger',
    method,
    headers: { 'x-gateway-api-key': undefined, authorization: undefined },
    refused: { status: 401, code: Code.Unauthenticated, reason: 'unauthenticated' },
  },
];
runCases(test, () => bench, cases);

test('a call to a provider that has ended is told what to name instead', async (t) => {
  const { status, json } = await raw(bench.gateway.origin, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { ...bench.headers('/palm'), 'x-gateway-provider': 'palm', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
  });
  t.is(status, 400);
  t.regex(
    JSON.stringify(json),
    /palm does not offer chat \(Google has ended the PaLM API: use the provider google\)/,
  );
});
