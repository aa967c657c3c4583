// The admin resources with @grpc/grpc-js, from the protos as they stand: every list, and the life of some resources.
import { readdirSync } from 'node:fs';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';

type Message = Record<string, unknown>;
type Unary = (
  request: Message,
  metadata: grpc.Metadata,
  options: grpc.CallOptions,
  done: (error: grpc.ServiceError | null, answer?: Message) => void,
) => void;

let gateway: TestGateway;
const services = new Map<string, grpc.ServiceClientConstructor>();
const clients = new Map<string, grpc.Client>();

test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  const files = readdirSync('proto/gateway/admin/v2').map((file) => `gateway/admin/v2/${file}`);
  const definition = protoLoader.loadSync(files, {
    includeDirs: ['proto'],
    longs: Number,
    oneofs: true,
    defaults: false,
    arrays: true,
    keepCase: true,
  });
  const loaded = grpc.loadPackageDefinition(definition) as unknown as {
    gateway: { admin: { v2: Record<string, grpc.ServiceClientConstructor> } };
  };
  for (const [name, value] of Object.entries(loaded.gateway.admin.v2))
    if (typeof value === 'function') services.set(name, value);
});
test.after.always(async () => {
  for (const client of clients.values()) client.close();
  await gateway?.close();
});

function call(service: string, method: string, request: Message): Promise<Message> {
  const Client = services.get(service);
  if (Client === undefined) throw new Error(`there is no ${service}`);
  const client =
    clients.get(service) ?? new Client(`127.0.0.1:${gateway.port}`, grpc.credentials.createInsecure());
  clients.set(service, client);
  const metadata = new grpc.Metadata();
  metadata.set('x-gateway-api-key', ADMIN_KEY);
  const unary = (client as unknown as Record<string, Unary>)[method];
  return new Promise((resolve, reject) => {
    unary?.call(client, request, metadata, { deadline: Date.now() + 5000 }, (error, answer) =>
      error ? reject(error) : resolve(answer ?? {}),
    );
  });
}

/** What a list needs beside nothing. */
const NEEDS: Readonly<Record<string, Message>> = {
  ListWorkspaceMembers: { workspace_id: 'default' },
  ListProviders: { workspace_id: 'default' },
  ListCollections: { workspace_id: 'default' },
  ListMetadataGroups: { metadata_key: 'team' },
  ListAnalyticsGroups: { group_by: 'model' },
};

/** What is asked of analytics needs a span. */
const LAST_DAY = {
  time_of_generation_min: new Date(Date.now() - 86_400_000).toISOString(),
  time_of_generation_max: new Date().toISOString(),
};

test('every list of the control plane answers', async (t) => {
  let lists = 0;
  for (const [name, { service }] of services) {
    for (const method of Object.values(service)) {
      const local = method.path.split('/').at(-1) ?? '';
      // Lists of a thing's parts need the thing.
      if (!/^List[A-Z]/.test(local) || /Versions|Entities|Models|Integration[A-Z]|Server[A-Z]/.test(local))
        continue;
      const spanned = name.startsWith('Analytics') ? LAST_DAY : {};
      const answer = await call(name, local, { ...spanned, ...NEEDS[local] }).catch((error: unknown) => {
        t.fail(`${name}/${local}: ${String(error)}`);
        return {};
      });
      t.is(typeof answer, 'object', local);
      lists++;
    }
  }
  t.true(lists >= 15, `${lists} lists`);
});

test('a config and a policy live and go', async (t) => {
  const config = await call('ConfigsService', 'CreateConfig', {
    name: 'c',
    workspace_id: 'default',
    config: { text: '{"retry":{"attempts":2}}' },
  });
  t.truthy(config.id);
  const shown = await call('ConfigsService', 'GetConfig', { slug: config.slug });
  t.is(shown.id, config.id);
  await call('ConfigsService', 'DeleteConfig', { slug: config.slug });
  const gone = await t.throwsAsync(call('ConfigsService', 'GetConfig', { slug: config.slug }));
  t.is((gone as unknown as grpc.ServiceError).code, grpc.status.NOT_FOUND);

  const policy = await call('RateLimitPoliciesService', 'CreateRateLimitPolicy', {
    type: 'requests',
    unit: 'rpm',
    value: 5,
    group_by: [{ key: 'api_key' }],
    conditions: [{ key: 'metadata.a', value: { text: 'b' } }],
  });
  t.is(policy.object, 'policy_rate_limits');
  const read = await call('RateLimitPoliciesService', 'GetRateLimitPolicy', { policy_id: policy.id });
  t.is(read.value, 5);
  const bad = await t.throwsAsync(
    call('RateLimitPoliciesService', 'CreateRateLimitPolicy', { type: 'requests', unit: 'rps', value: 5 }),
  );
  t.is((bad as unknown as grpc.ServiceError).code, grpc.status.INVALID_ARGUMENT);
});
