// Calls of the pipeline as the cache sees them, with real providers and dialects.
import { create } from '@bufbuild/protobuf';
import test from 'ava';
import { CreateChatCompletionRequestSchema } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { EmbeddingsSchema } from '../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { vectorOf } from '../../../src/inference/cache/embedding-vector.ts';
import { cacheKey } from '../../../src/inference/cache/key.ts';
import { subjectOf } from '../../../src/inference/cache/subject-of.ts';
import { written } from '../../../src/inference/pipeline/write-request.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';
import { createDialects } from '../../../src/providers/dialects/registry.ts';
import { codec } from '../../../src/rest/codec.ts';

const dialects = createDialects(codec);
const caller = { organisationId: 'o', workspaceId: 'w', metadata: {} };

async function keyOf(provider: string, body: object, options: Record<string, string> = {}): Promise<string> {
  const entry = providerById(provider)!;
  const target = { provider: entry, apiKey: 'k', options, customHost: undefined, strict: true };
  const dialect = dialects.get(entry.dialect)!;
  const request = codec.decodeRequest(CreateChatCompletionRequestSchema, body);
  const outbound = await written(dialect.chat!.request(request, { target, now: () => 0 }));
  return cacheKey(
    subjectOf(caller, { target, forwarded: [] }, dialect, 'chat', 'chat', outbound, 'm'),
    undefined,
    undefined,
  );
}

const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] };

test('a streamed call has the key of its whole twin, in every dialect', async (t) => {
  for (const provider of ['openai', 'anthropic', 'mistral-ai']) {
    const key = await keyOf(provider, body);
    t.is(await keyOf(provider, { ...body, stream: true }), key, provider);
    t.is(
      await keyOf(provider, { ...body, stream: true, stream_options: { include_usage: true } }),
      key,
      provider,
    );
    t.not(await keyOf(provider, { ...body, max_tokens: 11 }), key, provider);
  }
});

test('providers, hosts and versions are apart', async (t) => {
  const azure = (resource: string, version: string) =>
    keyOf('azure-openai', body, {
      azure_resource_name: resource,
      azure_deployment_id: 'd',
      azure_api_version: version,
    });
  const keys = [
    await keyOf('openai', body),
    await keyOf('groq', body),
    await keyOf('anthropic', body),
    await keyOf('anthropic', body, { anthropic_beta: 'x' }),
    await azure('a', 'v1'),
    await azure('b', 'v1'),
    await azure('a', 'preview'),
  ];
  t.is(new Set(keys).size, keys.length);
});

test('vectors as numbers and as base64', (t) => {
  const floats = create(EmbeddingsSchema, {
    data: [{ embedding: { kind: { case: 'floats', value: { values: [0.5, -1] } } } }],
  });
  t.deepEqual(vectorOf(floats), Float32Array.of(0.5, -1));
  const base64 = (bytes: Uint8Array) =>
    create(EmbeddingsSchema, {
      data: [{ embedding: { kind: { case: 'base64', value: Buffer.from(bytes).toString('base64') } } }],
    });
  t.deepEqual(vectorOf(base64(new Uint8Array(Float32Array.of(0.5, -1).buffer))), Float32Array.of(0.5, -1));
  t.is(vectorOf(base64(Buffer.from('abc'))), undefined);
  t.is(vectorOf(create(EmbeddingsSchema, {})), undefined);
});
