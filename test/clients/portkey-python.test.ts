import { execFileSync } from 'node:child_process';
import test from 'ava';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { startStage } from './portkey/clients.ts';
test('x', async (t) => {
  const stage = await startStage();
  const { promisify } = await import('node:util');
  const { execFile } = await import('node:child_process');
  const { stdout, stderr } = await promisify(execFile)('.cache/python/bin/python', ['test/clients/portkey_client.py', JSON.stringify({ origin: stage.gateway.origin, provider: stage.provider.origin, key: stage.workspaceKey, admin_key: ADMIN_KEY, workspace_key: WORKSPACE_KEY, workspace_id: stage.workspaceId })], { maxBuffer: 1e8 }).catch((e) => e);
  (await import('node:fs')).writeFileSync('/tmp/pk/py.json', stdout);
  console.log(String(stderr).slice(-3000));
  await stage.close();
  t.pass();
});
