// Fine-tuning jobs in the books: once, by the tokens that the model was trained on, for the key that made the job, when it is
// seen after its end. Jobs that run, and such as were made elsewhere, are in no books.
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import { FineTuningService } from '../../gen/gateway/inference/v2/fine_tuning_pb.ts';
import { type FilesProvider, startFilesProvider } from '../support/fake-files.ts';
import type { FakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, type LimitsClient, limitsClient, until } from '../support/limits-client.ts';

const TRAINED = 1_234_567;
/** Of one token, in 1e-12 USD, as the test's price says. */
const RATE = 3_000_000n;
const MODEL = 'gpt-base-2026';

let gateway: TestGateway;
let provider: FilesProvider;
let client: LimitsClient;
/** Whether the jobs of the provider have ended. */
let hasEnded = false;

const jobOf = (id: string): Json => ({
  id,
  object: 'fine_tuning.job',
  model: MODEL,
  created_at: 1,
  status: hasEnded ? 'succeeded' : 'running',
  fine_tuned_model: hasEnded ? `ft:${MODEL}:org::1` : null,
  trained_tokens: hasEnded ? TRAINED : null,
});

test.before(async () => {
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFilesProvider(),
  ]);
  client = limitsClient(gateway, provider as unknown as FakeProvider);
  provider.answer = (verb, path) => {
    if (!path.includes('/fine_tuning/jobs')) return undefined;
    if (verb === 'POST') return jobOf('ftjob-1');
    if (path.endsWith('/jobs'))
      return { object: 'list', data: [jobOf('ftjob-1'), jobOf('ftjob-elsewhere')], has_more: false };
    return jobOf(path.slice(path.lastIndexOf('/') + 1));
  };
  await client.admin('POST', '/model-configs/pricing', {
    provider: 'openai',
    model: MODEL,
    effective_from: '2020-01-01T00:00:00Z',
    pay_as_you_go: { additional_units: { trained_token: { price: 0.0003 } } },
  });
});
test.after.always(async () => {
  await provider?.close();
  await gateway?.close();
});

const headersOf = (key: string): Record<string, string> => ({
  'x-gateway-api-key': key,
  'x-gateway-provider': 'openai',
  'x-gateway-custom-host': provider.origin,
  authorization: 'Bearer sk-provider',
});

async function ask(method: string, path: string, key: string, body?: Json): Promise<Json> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method,
    headers: {
      ...headersOf(key),
      'x-gateway-metadata': '{"team":"a"}',
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const json = (await answer.json()) as Json;
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(json)}`);
  return json;
}

const entriesOfJobs = async (): Promise<Json[]> => {
  const { data } = (await client.admin('GET', '/logs?page_size=100')) as { data: Json[] };
  return data.filter(({ metadata }) => (metadata as Json | undefined)?._fine_tuning_job !== undefined);
};

test('a job is booked once it has ended, once, by its tokens, for the key that made it', async (t) => {
  const maker = await client.key({ usage_limits: { type: 'cost', credit_limit: 1000 } });
  const made = await ask('POST', '/fine_tuning/jobs', maker.key, { model: MODEL, training_file: 'file-1' });
  t.is(made.id, 'ftjob-1');
  await ask('GET', '/fine_tuning/jobs/ftjob-1', maker.key);
  t.deepEqual(await entriesOfJobs(), []);

  hasEnded = true;
  const rpc = createClient(FineTuningService, createGrpcTransport({ baseUrl: gateway.origin }));
  await Promise.all([
    ask('GET', '/fine_tuning/jobs/ftjob-1', WORKSPACE_KEY),
    ask('GET', '/fine_tuning/jobs', WORKSPACE_KEY),
    ask('GET', '/fine_tuning/jobs/ftjob-1', maker.key),
    ask('GET', '/fine_tuning/jobs/ftjob-elsewhere', maker.key),
    rpc.getFineTuningJob({ fineTuningJobId: 'ftjob-1' }, { headers: headersOf(maker.key) }),
  ]);
  const cost = BigInt(TRAINED) * RATE;
  const [entry] = await until(entriesOfJobs, ({ length }) => length > 0);
  t.like(entry, {
    api_key_id: maker.id,
    model: MODEL,
    status_code: 200,
    cost_exact: String(cost),
    metadata: { team: 'a', _fine_tuning_job: 'ftjob-1' },
    usage: { units: { trained_tokens: TRAINED } },
  });
  const dollars = Number(cost) / 1e12;
  const used = (record: Json) => (record.usage_limits as Json).current_usage;
  t.is(used(await client.keyUntil(maker.id, (record) => used(record) === dollars)), dollars);

  await ask('GET', '/fine_tuning/jobs/ftjob-1', maker.key);
  await ask('GET', '/fine_tuning/jobs', maker.key);
  t.is((await entriesOfJobs()).length, 1);
  t.is(used(await client.keyUntil(maker.id, (record) => used(record) === dollars)), dollars);
});
