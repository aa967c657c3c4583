// Where each provider's first operation goes, as its documents name it.
import test from 'ava';
import { providerById, providers } from '../../src/providers/catalog/registry.ts';
import type { ProviderOptions } from '../../src/providers/dialect.ts';
import { locate, locateRaw } from '../../src/providers/locate.ts';
import { targetOf } from './support/target.ts';

const CHAT = '/chat/completions';

/** Provider, the path that its dialect asks for, the whole address, and the options that it takes. */
const ADDRESSES: readonly (readonly [string, string, string, ProviderOptions?])[] = [
  ['302ai', CHAT, 'https://api.302.ai/v1/chat/completions'],
  ['ai21', CHAT, 'https://api.ai21.com/studio/v1/chat/completions'],
  ['aibadgr', CHAT, 'https://aibadgr.com/api/v1/chat/completions'],
  ['anyscale', CHAT, 'https://api.endpoints.anyscale.com/v1/chat/completions'],
  [
    'bedrock',
    '/model/m/converse',
    'https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse',
    { aws_region: 'eu-west-1' },
  ],
  [
    'bedrock',
    '/model/m/converse',
    'https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/m/converse',
    { aws_region: 'cn-north-1' },
  ],
  ['bytez', CHAT, 'https://api.bytez.com/models/v2/openai/v1/chat/completions'],
  ['cometapi', CHAT, 'https://api.cometapi.com/v1/chat/completions'],
  [
    'cortex',
    CHAT,
    'https://org-account1.snowflakecomputing.com/api/v2/cortex/v1/chat/completions',
    { snowflake_account: 'org-account1' },
  ],
  [
    'databricks',
    CHAT,
    'https://dbc-a1b2345c-d6e7.cloud.databricks.com/serving-endpoints/chat/completions',
    { databricks_workspace: 'dbc-a1b2345c-d6e7' },
  ],
  ['deepbricks', CHAT, 'https://api.deepbricks.ai/v1/chat/completions'],
  ['github', CHAT, 'https://models.github.ai/inference/chat/completions'],
  [
    'google',
    '/models/m:generateContent',
    'https://generativelanguage.googleapis.com/v1beta/models/m:generateContent',
  ],
  ['huggingface', CHAT, 'https://router.huggingface.co/v1/chat/completions'],
  [
    'huggingface',
    CHAT,
    'https://abc.endpoints.huggingface.cloud/v1/chat/completions',
    { huggingface_base_url: 'https://abc.endpoints.huggingface.cloud/v1' },
  ],
  ['iointelligence', CHAT, 'https://api.intelligence.io.solutions/api/v1/chat/completions'],
  ['jina', '/embeddings', 'https://api.jina.ai/v1/embeddings'],
  ['kluster-ai', CHAT, 'https://api.kluster.ai/v1/chat/completions'],
  ['krutrim', CHAT, 'https://cloud.olakrutrim.com/v1/chat/completions'],
  ['latitude', CHAT, 'https://api.lsh.ai/v1/chat/completions'],
  ['lemonfox-ai', CHAT, 'https://api.lemonfox.ai/v1/chat/completions'],
  ['lepton', CHAT, 'https://api.lepton.ai/api/v1/chat/completions'],
  ['lingyi', CHAT, 'https://api.lingyiwanwu.com/v1/chat/completions'],
  ['matterai', CHAT, 'https://api.matterai.so/v1/chat/completions'],
  ['modal', CHAT, 'https://api.modal.com/v1/chat/completions'],
  ['monsterapi', CHAT, 'https://llm.monsterapi.ai/v1/chat/completions'],
  ['ncompass', CHAT, 'https://api.ncompass.tech/v1/chat/completions'],
  ['nextbit', CHAT, 'https://api.nextbit256.com/v1/chat/completions'],
  ['nscale', CHAT, 'https://inference.api.nscale.com/v1/chat/completions'],
  ['ovhcloud', CHAT, 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1/chat/completions'],
  [
    'predibase',
    CHAT,
    'https://serving.app.predibase.com/t1/deployments/v2/llms/mistral-7b/v1/chat/completions',
    { predibase_tenant_id: 't1', predibase_deployment: 'mistral-7b' },
  ],
  ['reka-ai', CHAT, 'https://api.reka.ai/v1/chat/completions'],
  ['siliconflow', CHAT, 'https://api.siliconflow.cn/v1/chat/completions'],
  ['upstage', CHAT, 'https://api.upstage.ai/v1/chat/completions'],
  ...(
    [
      ['us-central1', 'us-central1-aiplatform.googleapis.com'],
      ['global', 'aiplatform.googleapis.com'],
      ['eu', 'aiplatform.eu.rep.googleapis.com'],
    ] as const
  ).map(
    ([region, host]) =>
      [
        'vertex-ai',
        '/publishers/google/models/m:generateContent',
        `https://${host}/v1/projects/p1/locations/${region}/publishers/google/models/m:generateContent`,
        { vertex_region: region, vertex_project_id: 'p1' },
      ] as const,
  ),
  ['voyage', '/embeddings', 'https://api.voyageai.com/v1/embeddings'],
  [
    'workers-ai',
    CHAT,
    'https://api.cloudflare.com/client/v4/accounts/acc1/ai/v1/chat/completions',
    { workers_ai_account_id: 'acc1' },
  ],
  ['zhipu', CHAT, 'https://open.bigmodel.cn/api/paas/v4/chat/completions'],
];

for (const [id, path, address, options = {}] of ADDRESSES)
  test(`${id} is called at ${address}`, (t) => {
    const target = targetOf(id, { options });
    const operation = target.provider.operations?.[0];
    const outbound = { method: 'POST', path, headers: [], body: '{}' } as const;
    const { origin, path: whole } = locate(target, operation, outbound);
    t.is(origin + whole, address);
  });

const RERANKS: readonly (readonly [id: string, path: string, address: string])[] = [
  ['cohere', '/v2/rerank', 'https://api.cohere.com/v2/rerank'],
  ['fireworks-ai', '/rerank', 'https://api.fireworks.ai/inference/v1/rerank'],
  ['jina', '/rerank', 'https://api.jina.ai/v1/rerank'],
  ['pinecone', '/rerank', 'https://api.pinecone.io/rerank'],
  ['siliconflow', '/rerank', 'https://api.siliconflow.cn/v1/rerank'],
  ['together-ai', '/rerank', 'https://api.together.xyz/v1/rerank'],
  ['voyage', '/rerank', 'https://api.voyageai.com/v1/rerank'],
];

for (const [id, path, address] of RERANKS)
  test(`${id} reranks at ${address}`, (t) => {
    const outbound = { method: 'POST', path, headers: [], body: '{}' } as const;
    const { origin, path: whole } = locate(targetOf(id), 'rerank', outbound);
    t.is(origin + whole, address);
  });

test('servers of the user’s own have /v1 behind the host, once', (t) => {
  for (const id of ['lmstudio', 'vllm', 'llamacpp', 'xinference']) {
    const outbound = { method: 'POST', path: CHAT, headers: [], body: '{}' } as const;
    for (const customHost of ['http://127.0.0.1:1234', 'http://127.0.0.1:1234/v1']) {
      const { origin, path } = locate(targetOf(id, { customHost }), 'chat', outbound);
      t.is(origin + path, 'http://127.0.0.1:1234/v1/chat/completions');
    }
  }
});

test('providers without an operation are reached by their own paths', (t) => {
  const raw = providers.filter(({ operations }) => operations?.length === 0).map(({ id }) => id);
  for (const id of ['replicate', 'meshy', 'tripo3d', 'qdrant', 'milvus']) t.true(raw.includes(id), id);
  const { origin, path } = locateRaw(targetOf('replicate'), '/predictions?x=1');
  t.is(origin + path, 'https://api.replicate.com/v1/predictions?x=1');
});

test('an account is no other host', (t) => {
  for (const value of ['evil.example/#', 'a@b', '..', 'a b', 'a:80', ''])
    t.throws(() => locate(targetOf('cortex', { options: { snowflake_account: value } }), 'chat', undefined), {
      message: /x-gateway-snowflake-account/,
    });
  t.truthy(providerById('cortex'));
});
