// A secret manager that hangs, then answers with anything but secrets.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ADMIN_KEY, WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const CALLS = 100;

const scenario: Scenario = {
  name: 'secret-manager-hangs',
  attack:
    'a secret manager hangs, then answers odd things (200 without a secret, HTML, 400, 412), then is well again',
  bound: 'no call fails, the slowest takes 1 s, the newest secret is used within 31 s of recovery',
  test: 'test/secrets/ill-manager.test.ts',
  async run(lab) {
    let state: 'well' | 'hangs' | 'odd' = 'well';
    let secret = 'sk-chaos-first-0123456789';
    let odd = 0;
    const used = new Set<string>();
    const odds = [
      [200, '{}'],
      [200, '<html>'],
      [400, '{}'],
      [412, ''],
      [503, ''],
    ] as const;
    const server = createServer((req, res) => {
      req.resume();
      if (req.url?.startsWith('/v1/chat')) {
        used.add(String(req.headers.authorization));
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [] }));
      } else if (state === 'odd') {
        const [status, body] = odds[odd++ % odds.length]!;
        res.writeHead(status).end(body);
      } else if (state === 'well') res.end(JSON.stringify({ data: { key: secret } }));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    lab.onEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const gateway = await lab.startGateway({ GATEWAY_SECRET_TTL: '1' });
    const admin = async (path: string, body: object): Promise<void> => {
      const headers = { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' };
      const answer = await fetch(`${gateway.origin}/v1${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    };
    await admin('/secret-references', {
      name: 'r',
      slug: 'r',
      manager_type: 'hashicorp_vault',
      secret_path: 'kv/app',
      secret_key: 'key',
      auth_config: { vault_auth_type: 'token', vault_addr: url, vault_token: 'hvs.chaos' },
    });
    await admin('/virtual-keys', {
      name: 'v',
      slug: 'v',
      provider: 'openai',
      workspace_id: 'default',
      custom_host: `${url}/v1`,
      secret_mappings: [{ target_field: 'key', secret_reference_id: 'r' }],
    });
    let failed = 0;
    let slowest = 0;
    const call = async (): Promise<void> => {
      const since = performance.now();
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': WORKSPACE_KEY,
          'x-gateway-provider': '@v',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }),
      });
      await answer.text();
      if (answer.status !== 200) failed++;
      slowest = Math.max(slowest, performance.now() - since);
    };
    await call();
    slowest = 0;
    for (const next of ['hangs', 'odd'] as const) {
      state = next;
      for (let i = 0; i < CALLS; i++) {
        await call();
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    }
    secret = 'sk-chaos-second-0123456789';
    state = 'well';
    const recovered = performance.now();
    while (!used.has(`Bearer ${secret}`) && performance.now() - recovered < 60_000) {
      await call();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return [
      isTrue('no call fails', failed === 0, `${failed} of ${CALLS * 2} failed`),
      atMost('slowest call', slowest, 1000, 'ms'),
      atMost('until the newest secret is used', performance.now() - recovered, 31_000, 'ms'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
