// A crossing that was charged and not noticed, as by a kill between the two: told once after the restart.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { apiKeys } from '../../../src/access/identity-collections.ts';
import { COLLECTIONS } from '../../../src/app/stores.ts';
import { openMemoryState } from '../../../src/store/memory/open-memory.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway } from '../../support/gateway.ts';
import { type Json, limitsClient, until } from '../../support/limits-client.ts';
import { startMailServer } from '../../support/mail-server.ts';

test('what was charged behind the gateway is told after its start, once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-alerts-'));
  const [provider, mail] = await Promise.all([startFakeProvider(), startMailServer()]);
  const env = { GATEWAY_DATA_DIR: folder, GATEWAY_SMTP_URL: mail.url };
  const first = await startGateway(env);
  const client = limitsClient(first, provider);
  const limit = { type: 'tokens', credit_limit: 1000, alert_threshold: 100 };
  const { id, key } = await client.key({ usage_limits: limit, alert_emails: ['ops@example.com'] });
  t.is((await client.chat({}, {}, key)).status, 200);
  const used = (record: Json) => (record.usage_limits as Json).current_usage;
  t.is(used(await client.keyUntil(id, (record) => used(record) === 18)), 18);
  const organisationId = first.app.tenancy.organisationId;
  await first.close();
  // The charge without the notice.
  const state = await openMemoryState({ dataDir: folder });
  const since = String((await readCountedSince(folder, id)) ?? 0);
  const budget = `u:key:${id}:tokens:0.${since}`;
  t.is((await state.readBudget(organisationId, { key: budget })).spent, 18n);
  await state.correctBudget(organisationId, { key: budget, from: 18n, to: 150n });
  await state.close();
  const mails = () => mail.messages.filter((text) => text.includes('To: ops@example.com')).length;
  for (let start = 0; start < 2; start++) {
    const gateway = await startGateway(env);
    try {
      const own = limitsClient(gateway, provider);
      const sent = (record: Json) => (record.usage_limits as Json).is_threshold_alerts_sent === true;
      t.true(sent(await until(() => own.admin('GET', `/api-keys/${id}`), sent, 6000)));
      if (start === 1) await new Promise((resolve) => setTimeout(resolve, 2500));
      t.is(mails(), 1);
    } finally {
      await gateway.close();
    }
  }
  await Promise.all([provider.close(), mail.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Since when the key's budget counts: its counter has it in its name. */
async function readCountedSince(dataDir: string, id: string): Promise<unknown> {
  const store = await openSqliteStore({ dataDir, collections: COLLECTIONS });
  try {
    const batch = await store.maintenance.scan(apiKeys, { limit: 100 });
    const found = batch.documents.find(({ document }) => document.id === id);
    return (found?.document.body as { usageLimits?: Json } | undefined)?.usageLimits?.counted_since;
  } finally {
    await store.close();
  }
}
