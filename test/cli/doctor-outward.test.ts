// `sluice doctor`: the way out and the hosts of providers, with none, with one that answers, and with ones that do not.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { egress } from '../../src/cli/doctor/egress.ts';
import { providers } from '../../src/cli/doctor/providers.ts';
import { readSettings } from '../../src/settings.ts';
import { ok } from '../support/front-door.ts';
import { startGateway } from '../support/gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-outward-'));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

const verdict = async (check: typeof egress, env: Readonly<Record<string, string>>) => {
  const settings = readSettings({ GATEWAY_DATA_DIR: folder, GATEWAY_EGRESS_ALLOW: '127.0.0.0/8', ...env });
  return check.run({ settings, running: false });
};

const HOST = '127.0.0.77';
/** A port that no program listens at. One that was closed may soon be another test's. */
const NONE = 1;

async function listening(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const { port } = server.address() as { port: number };
  return { port, close: () => new Promise((resolve) => void server.close(() => resolve())) };
}

test.serial('nothing is stored: no provider is looked at, and no proxy', async (t) => {
  t.is(await verdict(providers, {}), undefined);
  t.deepEqual(await verdict(egress, {}), { looked: 'no proxy', findings: [] });
});

test.serial(
  'a proxy that takes no connections, and an allow list that cannot be read, are told',
  async (t) => {
    const proxy = await listening();
    const env = { HTTPS_PROXY: `http://user:very-secret@${HOST}:${proxy.port}` };
    t.deepEqual((await verdict(egress, env))?.findings, []);
    await proxy.close();
    const gone = await verdict(egress, { HTTPS_PROXY: `http://user:very-secret@${HOST}:${NONE}` });
    t.regex(gone?.findings[0]?.why ?? '', /^HTTPS_PROXY: 127\.0\.0\.77:1: cannot be reached/);
    t.false(JSON.stringify(gone).includes('very-secret'));
    t.regex(
      (await verdict(egress, { GATEWAY_EGRESS_ALLOW: 'a b' }))?.findings[0]?.why ?? '',
      /GATEWAY_EGRESS_ALLOW/,
    );
  },
);

test.serial('hosts of stored providers and of the environment are asked', async (t) => {
  const server = await listening();
  const gateway = await startGateway({ GATEWAY_DATA_DIR: folder, GATEWAY_EGRESS_ALLOW: '127.0.0.0/8' });
  await ok(gateway, 'POST', '/integrations', {
    body: {
      name: 'Own',
      slug: 'own',
      ai_provider_id: 'openai',
      key: 'k',
      configurations: { custom_host: `http://${HOST}:${server.port}/v1` },
    },
  });
  await gateway.close();
  const env = { OPENAI_API_KEY: 'sk-secret', OPENAI_BASE_URL: `http://${HOST}:${server.port}/v1` };
  t.deepEqual((await verdict(providers, env))?.findings, []);
  await server.close();
  const away = await verdict(providers, {
    ...env,
    OPENAI_BASE_URL: `http://${HOST}:${NONE}/v1`,
    GATEWAY_EGRESS_ALLOW: `127.0.0.0/8,${HOST}:${NONE}`,
  });
  t.regex(away?.findings.map(({ why }) => why).join('\n') ?? '', /127\.0\.0\.77:1: cannot be reached/);
  const refused = await verdict(providers, { GATEWAY_EGRESS_ALLOW: '' });
  t.regex(refused?.findings[0]?.why ?? '', /GATEWAY_EGRESS_ALLOW/);
  t.false(JSON.stringify(away).includes('sk-secret'));
});
