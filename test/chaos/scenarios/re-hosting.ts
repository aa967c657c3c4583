// A virtual key of the admin with a mapped secret, whose address a key of the workspace changes.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ADMIN_KEY, WORKSPACE_KEY } from '../../support/gateway.ts';
import { type ChaosLab, isTrue, type Scenario } from '../scenario.ts';

const SECRET = 'sk-of-the-organisation-0123456789';

const scenario: Scenario = {
  name: 're-hosting',
  attack:
    'a key of the workspace changes the address of the admin’s virtual key by PUT with only custom_host, and in other ways; beside masked credentials of a config and a guardrail it puts another provider, account or host',
  bound:
    'each is a 4xx that names the field; the mapped secret goes to no host but the admin’s, and kept credentials are to be given again',
  test: 'test/access/kept-credentials.test.ts',
  async run(lab) {
    const own = await listener(lab);
    const thief = await listener(lab);
    const gateway = await lab.startGateway({ GATEWAY_SECRET_ENV_ALLOW: 'ORG_SECRET', ORG_SECRET: SECRET });
    const send = async (method: string, path: string, body: object, key: string) => {
      const headers = { 'x-gateway-api-key': key, 'content-type': 'application/json' };
      const answer = await fetch(`${gateway.origin}/v1${path}`, {
        method,
        headers,
        body: JSON.stringify(body),
      });
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    };
    const made = async (path: string, body: object) => {
      const { status, json } = await send('POST', path, body, ADMIN_KEY);
      if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
      return json;
    };
    const mappings = [{ target_field: 'key', secret_reference_id: 'r' }];
    await made('/secret-references', {
      name: 'r',
      slug: 'r',
      manager_type: 'env',
      secret_path: 'ORG_SECRET',
      auth_config: {},
    });
    await made('/virtual-keys', {
      name: 'v',
      slug: 'v',
      provider: 'openai',
      workspace_id: 'default',
      custom_host: `${own.origin}/v1`,
      secret_mappings: mappings,
    });
    const service = await made('/api-keys/workspace/service', {
      name: 'member',
      workspace_id: 'default',
      scopes: ['virtual_keys.update', 'virtual_keys.read', 'virtual_keys.create', 'completions.write'],
    });
    const member = String(service.key);
    const host = `${thief.origin}/v1`;
    const statuses: number[] = [];
    for (const key of [member, WORKSPACE_KEY])
      for (const body of [
        { custom_host: host },
        { custom_host: null },
        { custom_host: host, secret_mappings: mappings },
        { custom_host: host, key: 'sk-mine-0123456789' },
      ])
        statuses.push((await send('PUT', '/virtual-keys/v', body, key)).status);
    statuses.push(...(await moved(send, made)));
    // Nor does the admin move it by a slip.
    statuses.push((await send('PUT', '/virtual-keys/v', { custom_host: host }, ADMIN_KEY)).status);
    const created = await send(
      'POST',
      '/virtual-keys',
      { name: 'w', provider: 'openai', custom_host: host, secret_mappings: mappings },
      member,
    );
    const call = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': WORKSPACE_KEY,
        'x-gateway-provider': '@v',
        'x-gateway-custom-host': host,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    });
    await call.arrayBuffer();
    const answered = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': WORKSPACE_KEY,
        'x-gateway-provider': '@v',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    });
    await answered.arrayBuffer();
    return [
      isTrue(
        'every change is refused',
        statuses.every((status) => status >= 400 && status < 500),
        statuses.join(),
      ),
      isTrue(
        'a virtual key of its own with the mapping is refused',
        created.status === 403 || created.status === 400,
        String(created.status),
      ),
      isTrue(
        'the secret went to nobody else',
        !thief.seen.some((text) => text.includes(SECRET)),
        `${thief.seen.length} requests there`,
      ),
      isTrue(
        'the admin’s host has it, and a call is answered',
        own.seen.some((text) => text.includes(SECRET)) && answered.ok,
        String(answered.status),
      ),
    ];
  },
};
export default scenario;

type Send = (method: string, path: string, body: object, key: string) => Promise<{ readonly status: number }>;
type Made = (path: string, body: object) => Promise<Record<string, unknown>>;

/** The statuses of masks that are sent back beside another provider, account or host. */
async function moved(send: Send, made: Made): Promise<readonly number[]> {
  const [key, mask] = ['sk-of-the-admin-0123456789abcdef', 'sk-******cdef'];
  const place = { name: 'c', workspace_id: 'default' };
  const config = { provider: 'databricks', databricks_workspace: 'ours', api_key: key };
  const kept = await made('/configs', { ...place, config });
  const check = (credentials: object) => ({ id: 'pangea.pii', parameters: { credentials } });
  const guardrail = await made('/guardrails', { ...place, checks: [check({ apiKey: key })], actions: {} });
  const service = await made('/api-keys/workspace/service', {
    name: 'writer',
    workspace_id: 'default',
    scopes: ['configs.update', 'guardrails.update'],
  });
  const writer = String(service.key);
  const statuses: number[] = [];
  for (const change of [{ databricks_workspace: 'theirs' }, { targets: [{ provider: 'groq' }] }]) {
    const body = { config: { ...config, api_key: mask, ...change } };
    statuses.push((await send('PUT', `/configs/${String(kept.id)}`, body, writer)).status);
  }
  const checks = [check({ apiKey: mask, domain: 'theirs.example' })];
  statuses.push((await send('PUT', `/guardrails/${String(guardrail.id)}`, { checks }, writer)).status);
  return statuses;
}

/** A provider that keeps the heads of all requests. */
async function listener(
  lab: ChaosLab,
): Promise<{ readonly origin: string; readonly seen: readonly string[] }> {
  const seen: string[] = [];
  const server = createServer((req, res) => {
    req.resume();
    seen.push(JSON.stringify(req.rawHeaders));
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [] }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  lab.onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
